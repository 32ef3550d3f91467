import * as v from 'valibot';
import { OCCASIONS, type Occasion } from '../mail/occasion.ts';
import { idText, type Key, type Kind, notBeforeKey, PERMANENT_AUDIT_PARTITION } from '../table/keys.ts';
import type { Item } from '../table/table.ts';
import { thumbprint } from '../tokens/thumbprint.ts';
import { type Finding, nameOf } from './finding.ts';

const whole = v.pipe(v.number(), v.safeInteger());
const id = v.pipe(whole, v.minValue(1));
const count = v.pipe(whole, v.minValue(0));
const text = v.string();
// A plain number in items that were written before versions had random bits.
const version = v.union([text, count]);
const audit = { createdBy: text, createdDate: text, lastModifiedBy: text, lastModifiedDate: text };

interface ItemKind {
  owns(key: Key): boolean;
  /** What every item of the kind has. Attributes that are not named here are never read. */
  readonly attributes: v.ObjectSchema<v.ObjectEntries, undefined>;
}

const collection = (kind: Kind) => (key: Key) => {
  const id = Number(key.sk);
  return key.pk === kind && Number.isSafeInteger(id) && id > 0 && key.sk === idText(id);
};
const beside = (prefix: string, sk: string) => (key: Key) =>
  key.pk.startsWith(prefix) && key.pk.length > prefix.length && key.sk === sk;
const numberOf = (pk: string, kinds: readonly Kind[]) => (key: Key) => key.pk === pk && kinds.includes(key.sk as Kind);

const isNotBefore = ({ pk, sk }: Key) => pk === notBeforeKey.pk && sk === notBeforeKey.sk;

/** Every kind of item that lib/table/keys.ts draws. */
const ITEM_KINDS: readonly ItemKind[] = [
  {
    owns: collection('USER'),
    attributes: v.object({
      ...{ id, login: text, email: text, activated: v.boolean(), langKey: text, authorities: v.array(text) },
      ...{ ...audit, version, passwordChanges: count, emailKeyRule: v.optional(v.literal('UTS46')) },
    }),
  },
  { owns: beside('LOGIN#', 'GUARD'), attributes: v.object({ id }) },
  { owns: beside('EMAIL#', 'GUARD'), attributes: v.object({ id }) },
  { owns: (key) => key.pk === 'ADMINS' && key.sk === 'ROSTER', attributes: v.object({ ids: v.optional(v.set(id)) }) },
  {
    owns: collection('INTEGRATION'),
    attributes: v.object({
      ...{ id, name: text, shortName: text, integrationType: text, active: v.boolean() },
      ...{ parameterCount: whole, parametersEver: whole, parameterBytes: v.optional(count), version, revision: count },
    }),
  },
  { owns: collection('CONF'), attributes: v.object({ id, confName: text, version, bytes: v.optional(count) }) },
  { owns: numberOf('SEQUENCE', ['USER', 'INTEGRATION']), attributes: v.object({ n: whole }) },
  {
    owns: numberOf('TOTAL', ['USER', 'INTEGRATION', 'CONF']),
    attributes: v.object({ n: whole, changes: v.optional(count) }),
  },
  { owns: isNotBefore, attributes: v.object({ seconds: count }) },
  {
    owns: (key) => key.pk === 'JWKS',
    attributes: v.object({ jwk: v.object({ kid: text, kty: text, crv: text, x: text, y: text }) }),
  },
  {
    owns: (key) =>
      (/^AUDIT#\d{4}-\d{2}$/.test(key.pk) && key.sk.startsWith(key.pk.slice('AUDIT#'.length))) ||
      (key.pk === PERMANENT_AUDIT_PARTITION && /^\d{4}-\d{2}-\d{2}T.+#./.test(key.sk)),
    attributes: v.object({ time: text, actor: text, actorId: count, action: text, target: text, targetName: text }),
  },
  {
    owns: (key) => beside('ATTEMPTS#', 'ELSEWHERE')(key) || /^ATTEMPTS#.+ NETWORK#./.test(`${key.pk} ${key.sk}`),
    attributes: v.object({ n: count, last: count, expires: count }),
  },
  // What is given back after the end of its window is missing from the next.
  { owns: beside('ATTEMPTS#', 'SOURCE'), attributes: v.object({ n: whole, since: count, expires: count }) },
  {
    owns: ({ pk, sk }) => /^MAILS#\d{16}$/.test(pk) && OCCASIONS.includes(sk as Occasion),
    attributes: v.object({ n: count, since: count, expires: count }),
  },
  { owns: beside('READS#', 'BUDGET'), attributes: v.object({ paidBackAt: count, expires: count }) },
  { owns: beside('PRECEDENCE#', 'PRECEDENCE'), attributes: v.object({ until: count, expires: count }) },
  { owns: beside('RESET#', 'RESET'), attributes: v.object({ userId: id, expires: count }) },
];

/** All attributes that the verification reads: no password, no value, nothing that is not needed. */
export const VERIFIED_ATTRIBUTES: readonly string[] = [
  ...new Set(ITEM_KINDS.flatMap(({ attributes }) => Object.keys(attributes.entries))),
];

/** The collection that an item is one of, by its key. */
export function collectionOf({ pk }: Key): Kind | undefined {
  return pk === 'USER' || pk === 'INTEGRATION' || pk === 'CONF' ? pk : undefined;
}

const BACKUP = 'compare the item with a backup of the table and put it right by hand';

/** What is wrong with an item by itself; undefined when nothing is. Whoever reads it as its kind must ask this first. */
export function findDefect(item: Item): Finding | undefined {
  const flaw = (kind: Finding['kind'], says: string, advice: string): Finding => ({
    kind,
    keys: [{ pk: item.pk, sk: item.sk }],
    says: `${nameOf(item)} ${says}.`,
    remedy: { advice },
  });
  const kind = ITEM_KINDS.find(({ owns }) => owns(item));
  if (!kind) {
    return flaw(
      'unknown-item',
      'is of no kind that this version knows',
      'nothing says what it is; if a newer version has written it, verify with that one, else delete it by hand',
    );
  }
  const { success, issues } = v.safeParse(kind.attributes, item);
  if (!success) {
    // An element of a set has no path of its own.
    const wrong = [...new Set(issues.map((issue) => v.getDotPath(issue) ?? issue.path?.[0].key))];
    return flaw('damaged-item', `lacks or has wrong: ${wrong.join(', ')}`, `nothing else holds that; ${BACKUP}`);
  }
  const collected = collectionOf(item);
  if (collected && item.id !== Number(item.sk)) {
    return flaw('wrong-id', `says that its id is ${item.id}`, `either can be the right one; ${BACKUP}`);
  }
  if (item.pk === 'JWKS' && !isNotBefore(item)) {
    const jwk = item.jwk as { kid: string; x: string; y: string };
    const kid = thumbprint(jwk);
    if (item.sk !== kid || jwk.kid !== kid) {
      return flaw(
        'wrong-signing-key',
        `holds a key whose id is ${kid}`,
        'nothing says where the key is from; delete the item: at its next cold start the login publishes the keys that the stack names',
      );
    }
  }
  return undefined;
}
