import * as v from 'valibot';
import { OCCASIONS, type Occasion } from '../../mail/occasion.ts';
import { ALL_RECOVERY_CODES } from '../../second-factor/second-factor.ts';
import {
  formatKey,
  idText,
  type Key,
  type Kind,
  notBeforeKey,
  PARTITION,
  PERMANENT_AUDIT_PARTITION,
  rosterKey,
} from '../../table/keys.ts';
import type { Item } from '../../table/table.ts';
import { thumbprint } from '../../tokens/thumbprint.ts';
import { type Finding, nameOf } from './finding.ts';

const whole = v.pipe(v.number(), v.safeInteger());
const id = v.pipe(whole, v.minValue(1));
const count = v.pipe(whole, v.minValue(0));
const text = v.string();
const module = v.object({
  needsRestart: v.boolean(),
  needsRestartSince: v.optional(count),
  changes: count,
});
const secondFactor = v.object({
  nonce: text,
  key: text,
  lastStep: count,
  recoveryNonce: text,
  recoveryCodes: v.pipe(count, v.maxValue(ALL_RECOVERY_CODES)),
});
const audit = { createdBy: text, createdDate: text, lastModifiedBy: text, lastModifiedDate: text };

interface ItemKind {
  owns(key: Key): boolean;
  /** The schema of an item. Attributes that no schema names are never read. */
  readonly attributes: v.ObjectSchema<v.ObjectEntries, undefined>;
}

const collection = (kind: Kind) => (key: Key) => collectionOf(key) === kind;
const prefixed =
  (prefix: string, ...sks: readonly string[]) =>
  ({ pk, sk }: Key) =>
    pk.startsWith(prefix) && pk.length > prefix.length && sks.includes(sk);
const counterOf = (pk: string, kinds: readonly Kind[]) => (key: Key) =>
  key.pk === pk && kinds.includes(key.sk as Kind);

const KINDS: readonly Kind[] = ['USER', 'INTEGRATION', 'CONF'];
const isNotBefore = ({ pk, sk }: Key) => pk === notBeforeKey.pk && sk === notBeforeKey.sk;

/** Every item that lib/table/keys.ts documents. */
const ITEM_KINDS: readonly ItemKind[] = [
  {
    owns: collection('USER'),
    attributes: v.object({
      id,
      login: text,
      email: text,
      activated: v.boolean(),
      langKey: text,
      authorities: v.array(text),
      ...audit,
      version: text,
      passwordChanges: count,
      sessionEndings: v.optional(count),
      sessionsEnded: v.optional(v.set(text)),
      lastLogin: v.optional(text),
      emailUnproven: v.optional(v.literal(true)),
      secondFactor: v.optional(secondFactor),
      pendingFactor: v.optional(v.object({ nonce: text, session: text, expires: count })),
      factorChanges: v.optional(count),
      admittedAt: v.optional(count),
    }),
  },
  { owns: prefixed(PARTITION.login, 'GUARD'), attributes: v.object({ id }) },
  { owns: prefixed(PARTITION.email, 'GUARD'), attributes: v.object({ id }) },
  {
    owns: (key) => key.pk === rosterKey.pk && key.sk === rosterKey.sk,
    attributes: v.object({ ids: v.optional(v.set(id)) }),
  },
  {
    owns: collection('INTEGRATION'),
    attributes: v.object({
      id,
      name: text,
      shortName: text,
      integrationType: text,
      active: v.boolean(),
      module: v.optional(module),
      parameterCount: whole,
      parametersEver: whole,
      parameterBytes: v.optional(count),
      version: text,
      revision: count,
      revisionsApart: v.optional(count),
      credentials: v.optional(v.array(v.object({ clientId: text, hash: text, expires: text }))),
      report: v.optional(
        v.object({
          running: whole,
          failed: v.optional(whole),
          audited: v.optional(v.object({ since: count, entries: count })),
        }),
      ),
      seen: v.optional(text),
    }),
  },
  {
    owns: collection('CONF'),
    attributes: v.object({
      id,
      confName: text,
      version: text,
      bytes: v.optional(count),
      secret: v.optional(v.literal(true)),
    }),
  },
  {
    owns: counterOf(PARTITION.sequence, ['USER', 'INTEGRATION']),
    attributes: v.object({ n: whole }),
  },
  {
    owns: counterOf(PARTITION.total, KINDS),
    attributes: v.object({ n: whole, changes: v.optional(count) }),
  },
  {
    owns: ({ pk, sk }) => pk === formatKey.pk && sk === formatKey.sk,
    attributes: v.object({ format: v.pipe(whole, v.minValue(1)) }),
  },
  { owns: isNotBefore, attributes: v.object({ seconds: count }) },
  {
    owns: (key) => key.pk === PARTITION.publicKey,
    attributes: v.object({ jwk: v.object({ kid: text, kty: text, crv: text, x: text, y: text }) }),
  },
  {
    owns: (key) =>
      (/^AUDIT#\d{4}-\d{2}$/.test(key.pk) && key.sk.startsWith(key.pk.slice('AUDIT#'.length))) ||
      (key.pk === PERMANENT_AUDIT_PARTITION && /^\d{4}-\d{2}-\d{2}T.+#./.test(key.sk)),
    attributes: v.object({
      time: text,
      actor: text,
      actorId: count,
      action: text,
      target: text,
      targetName: text,
      integrationName: v.optional(text),
      changes: v.optional(v.array(v.object({ field: text }))),
      session: v.optional(text),
      source: v.optional(text),
      count: v.optional(count),
    }),
  },
  {
    owns: (key) =>
      prefixed(PARTITION.attempts, 'ELSEWHERE', 'RECOVERY')(key) ||
      /^ATTEMPTS#.+ NETWORK#./.test(`${key.pk} ${key.sk}`),
    attributes: v.object({
      n: count,
      last: count,
      expires: count,
      rejected: v.optional(v.literal(true)),
      byMail: v.optional(v.literal(true)),
      audited: v.optional(v.array(text)),
    }),
  },
  {
    owns: prefixed(PARTITION.attempts, 'SOURCE'),
    attributes: v.object({ n: count, requests: count, since: count, expires: count }),
  },
  {
    owns: prefixed(PARTITION.attempts, 'RESETS', 'MODULES'),
    attributes: v.object({ requests: count, since: count, expires: count }),
  },
  {
    owns: ({ pk, sk }) => /^(RESET-)?MAIL#[\w-]+$/.test(pk) && /^\d{4}-\d{2}-\d{2}T.+#./.test(sk),
    attributes: v.object({
      occasion: v.picklist(OCCASIONS),
      expires: count,
      counted: v.optional(v.literal(true)),
      source: v.optional(text),
    }),
  },
  {
    owns: ({ pk, sk }) =>
      /^MAILS#\d{16}$/.test(pk) &&
      OCCASIONS.includes(sk.replace(/^reset#([0-9a-f]{64}|from .+)$/, 'reset') as Occasion),
    attributes: v.object({ n: count, since: count, lastAt: v.optional(count), expires: count }),
  },
  {
    owns: prefixed(PARTITION.readBudget, 'BUDGET'),
    attributes: v.object({ paidBackAt: v.optional(count), expires: count }),
  },
  {
    owns: ({ pk, sk }) => /^FORMER#\d{16}$/.test(pk) && sk === 'USER',
    attributes: v.object({
      activated: v.boolean(),
      passwordChanges: count,
      sessionEndings: v.optional(count),
      sessionsEnded: v.optional(v.set(text)),
      authorities: v.array(text),
      secondFactor: v.boolean(),
      expires: count,
    }),
  },
  {
    owns: prefixed(PARTITION.attempts, 'REJECTED', 'CODE-REJECTED'),
    attributes: v.object({ expires: count }),
  },
  {
    owns: ({ pk, sk }) => /^SESSION#\d{16}$/.test(pk) && sk !== '',
    attributes: v.object({
      jti: text,
      startedAt: text,
      ipAddress: text,
      userAgent: text,
      remembered: v.boolean(),
      secondFactor: v.boolean(),
      passwordChanges: count,
      sessionEndings: count,
      expires: count,
    }),
  },
  {
    owns: prefixed(PARTITION.precedence, 'PRECEDENCE'),
    attributes: v.object({ until: count, expires: count }),
  },
  {
    owns: prefixed(PARTITION.credentialUse, 'USE'),
    attributes: v.object({ lastUsed: text, expires: count }),
  },
  // What a marker names may have been deleted since.
  { owns: prefixed(PARTITION.importMarker, 'USER', 'INTEGRATION'), attributes: v.object({ id }) },
  {
    owns: ({ pk, sk }) => /^PENDING-EMAIL#\d{16}$/.test(pk) && sk === 'EMAIL',
    attributes: v.object({
      email: text,
      keyHash: text,
      mailbox: text,
      expires: count,
    }),
  },
  {
    owns: prefixed(PARTITION.resetKey, 'RESET'),
    attributes: v.object({
      userId: id,
      mailbox: text,
      issuedAt: count,
      expires: count,
    }),
  },
];

/**
 * All attributes that the verification reads; no password hash and no parameter value is among
 * them.
 */
export const VERIFIED_ATTRIBUTES: readonly string[] = [
  ...new Set(ITEM_KINDS.flatMap(({ attributes }) => Object.keys(attributes.entries))),
];

/**
 * The item collection of an entity by its key; undefined for other items, and if the sort key is
 * not an id.
 */
export function collectionOf({ pk, sk }: Key): Kind | undefined {
  const id = Number(sk);
  if (!Number.isSafeInteger(id) || id < 1 || sk !== idText(id)) return undefined;
  return KINDS.find((kind) => kind === pk);
}

const BACKUP = 'compare the item with a backup of the table and correct it by hand';

/**
 * The defect of a single item, or undefined. Code that reads an item as its kind must call this
 * first.
 */
export function findDefect(item: Item): Finding | undefined {
  const defect = (kind: Finding['kind'], predicate: string, advice: string): Finding => ({
    kind,
    keys: [{ pk: item.pk, sk: item.sk }],
    message: `${nameOf(item)} ${predicate}.`,
    remedy: { advice },
  });
  const kind = ITEM_KINDS.find(({ owns }) => owns(item));
  if (!kind) {
    return defect(
      'unknown-item',
      'is of a kind that this version does not know',
      'its purpose is unknown; if a newer version has written it, verify with that ' +
        'version, otherwise delete it by hand',
    );
  }
  const { success, issues } = v.safeParse(kind.attributes, item);
  if (!success) {
    // Valibot reports no path for the elements of a Set.
    // Stryker disable next-line OptionalChaining: an issue of an object always has a path
    const wrong = [...new Set(issues.map((issue) => v.getDotPath(issue) ?? issue.path?.[0].key))];
    return defect(
      'damaged-item',
      `has missing or invalid attributes: ${wrong.join(', ')}`,
      `no other item holds them; ${BACKUP}`,
    );
  }
  const collectionKind = collectionOf(item);
  if (collectionKind && item.id !== Number(item.sk)) {
    return defect('wrong-id', `has the id ${item.id}`, `either id can be the right one; ${BACKUP}`);
  }
  if (item.pk === PARTITION.publicKey && !isNotBefore(item)) {
    const jwk = item.jwk as { kid: string; x: string; y: string };
    const kid = thumbprint(jwk);
    if (item.sk !== kid || jwk.kid !== kid) {
      return defect(
        'wrong-signing-key',
        `holds a key whose id is ${kid}`,
        'the origin of the key is unknown; delete the item: logins publish the keys of ' +
          'the stack again within a minute',
      );
    }
  }
  return undefined;
}
