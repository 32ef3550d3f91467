import { emailKey } from '../../mail/address.ts';
import { entityKey, type Key } from '../../table/keys.ts';
import type { Item } from '../../table/table.ts';
import type { TableScanner } from '../../table/table-scanner.ts';
import {
  attributesAre,
  check,
  claim,
  isAbsent,
  remove,
  set,
  versionIs,
  type Write,
} from '../../table/write.ts';
import { emailGuardKey, identityGuardKey, loginGuardKey } from '../../users/user-items.ts';
import { PARTITION } from '../item-kinds.ts';
import { findDefect } from './find-defect.ts';
import { type Finding, keyLabel } from './finding.ts';
import { type Survey, type VerifiedUser, verifiedUserOf } from './survey.ts';

/** The unique fields of a user, and the keys of their uniqueness guards. */
const UNIQUE = {
  login: {
    article: 'a',
    noun: 'login',
    guardKeys: ({ login }: VerifiedUser) => [loginGuardKey(login)],
  },
  email: {
    article: 'an',
    noun: 'e-mail address',
    guardKeys: (user: VerifiedUser) => [emailGuardKey(emailKey(user.email))],
  },
  identity: {
    article: 'an',
    noun: 'identity',
    guardKeys: ({ identities = [] }: VerifiedUser) =>
      identities.map(({ issuer, subject }) => identityGuardKey(issuer, subject)),
  },
} as const;
type Unique = keyof typeof UNIQUE;

/**
 * Verifies that logins, e-mail addresses and identities of users correspond one to one to
 * uniqueness guards.
 */
export async function verifyGuards(table: TableScanner, seen: Survey): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [pk, { unique, holders }] of mismatchedGuards(seen)) {
    findings.push(
      ...findingsOf(unique, await readGuardSnapshot(table, { pk, sk: 'GUARD' }, holders)),
    );
  }
  return findings;
}

/**
 * Guards that the scan saw as missing, wrong or left over, by partition key, and the users that
 * should hold them.
 */
function mismatchedGuards({
  users,
  guards,
}: Survey): Map<string, { unique: Unique; holders: Set<number> }> {
  const candidates = new Map<string, { unique: Unique; holders: Set<number> }>();
  const matched = new Set<string>();
  const candidate = (unique: Unique, pk: string): Set<number> => {
    const known = candidates.get(pk) ?? { unique, holders: new Set<number>() };
    candidates.set(pk, known);
    return known.holders;
  };
  for (const user of users.values()) {
    for (const unique of Object.keys(UNIQUE) as Unique[]) {
      for (const { pk } of UNIQUE[unique].guardKeys(user)) {
        if (guards.get(pk) === user.id) matched.add(pk);
        else candidate(unique, pk).add(user.id);
      }
    }
  }
  for (const pk of guards.keys()) {
    if (!matched.has(pk)) candidate(guardedBy(pk), pk);
  }
  return candidates;
}

const guardedBy = (pk: string): Unique =>
  (Object.keys(UNIQUE) as Unique[]).find((unique) => pk.startsWith(PARTITION[unique])) as Unique;

/** A guard, the user that it names and the users that should hold it, read in one transaction. */
interface GuardSnapshot {
  readonly key: Key;
  readonly guard: Item | undefined;
  readonly users: ReadonlyMap<number, Item | undefined>;
}

/** The maximum number of users that are read for one guard; two are enough for a finding. */
const HOLDERS_MAX = 50;

async function readGuardSnapshot(
  table: TableScanner,
  key: Key,
  holders: ReadonlySet<number>,
): Promise<GuardSnapshot> {
  const ids = new Set([...holders].slice(0, HOLDERS_MAX));
  for (;;) {
    const [guard, ...items] = await table.snapshot([
      key,
      ...[...ids].map((id) => entityKey('USER', id)),
    ]);
    // The id in the guard is known only after the read, and may have changed at the next one.
    if (!guard || findDefect(guard) || ids.has(guard.id as number)) {
      return { key, guard, users: new Map([...ids].map((id, index) => [id, items[index]])) };
    }
    ids.add(guard.id as number);
  }
}

function findingsOf(unique: Unique, { key, guard, users }: GuardSnapshot): Finding[] {
  const { article, noun, guardKeys } = UNIQUE[unique];
  const intact = [...users.values()].filter(
    (item) => item !== undefined && !findDefect(item),
  ) as Item[];
  const [holder, ...others] = intact
    .map(verifiedUserOf)
    .filter((user) => guardKeys(user).some(({ pk }) => pk === key.pk));
  const found = (kind: Finding['kind'], message: string, remedy: Finding['remedy']): Finding[] => [
    { kind, keys: [key, ...(holder ? [entityKey('USER', holder.id)] : [])], message, remedy },
  ];

  // A defective item is reported by itself; the guard can be verified only after it is corrected.
  const named = guard && users.get(guard.id as number);
  if ((guard && findDefect(guard)) || (named && findDefect(named))) return [];

  if (holder && others.length > 0) {
    const ids = [holder, ...others].map(({ id }) => id).join(' and ');
    return found(
      `${unique}-shared`,
      `${keyLabel(key)} is the ${noun} of the users ${ids}, but must belong to one of them only.`,
      {
        advice:
          `decide which user keeps it, give each of the others another ${noun} in the ` +
          'table, then verify again',
      },
    );
  }
  if (holder && !guard) {
    return found(
      `${unique}-guard-missing`,
      `User ${holder.id} has ${article} ${noun} whose guard ${keyLabel(key)} does not exist.`,
      {
        description: `claims ${keyLabel(key)} for user ${holder.id}`,
        writes: [claim(key, { id: holder.id }, 'retry'), userIs(holder)],
      },
    );
  }
  if (!guard || guard.id === holder?.id) return [];

  const id = guard.id as number;
  const stillNamed = attributesAre({ id });
  if (holder) {
    return found(
      `${unique}-guard-wrong`,
      `${keyLabel(key)} names user ${id}, but should name user ${holder.id}, whose ${noun} ` +
        'it guards.',
      {
        description: `sets the user of ${keyLabel(key)} to ${holder.id}`,
        writes: [
          set(key, { id: holder.id }, stillNamed),
          userIs(holder),
          unchangedSinceRead(id, named),
        ],
      },
    );
  }
  return found(
    `${unique}-guard-orphan`,
    `${keyLabel(key)} names user ${id}, who ${named ? `has another ${noun}` : 'does not exist'}.`,
    {
      description: `removes ${keyLabel(key)}`,
      writes: [remove(key, stillNamed), unchangedSinceRead(id, named)],
    },
  );
}

/** Checks that the user is as in the snapshot. */
const userIs = (user: VerifiedUser): Write => check(entityKey('USER', user.id), versionIs(user));

/** Checks that the user is as it was read, or still does not exist. */
export function unchangedSinceRead(id: number, item: Item | undefined): Write {
  return item ? userIs(verifiedUserOf(item)) : check(entityKey('USER', id), isAbsent());
}
