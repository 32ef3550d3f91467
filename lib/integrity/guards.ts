import { emailGuardKey, entityKey, type Key, loginGuardKey } from '../table/keys.ts';
import type { Item } from '../table/table.ts';
import type { TableScanner } from '../table/table-scanner.ts';
import { type Condition, check, claim, remove, set, versionIs, type Write } from '../table/write.ts';
import { heldEmailKey } from '../users/email-key.ts';
import { type Finding, nameOf } from './finding.ts';
import { findDefect } from './item-kinds.ts';
import { type Survey, userIn, type VerifiedUser } from './survey.ts';

/** What is unique among users, and the key of its guard. */
const UNIQUE = {
  login: { noun: 'login', guardKey: ({ login }: VerifiedUser) => loginGuardKey(login) },
  email: { noun: 'e-mail address', guardKey: (user: VerifiedUser) => emailGuardKey(heldEmailKey(user)) },
} as const;
type Unique = keyof typeof UNIQUE;

/** Users and the guards of their logins and e-mail addresses, one to one. */
export async function verifyGuards(table: TableScanner, seen: Survey): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [pk, { unique, holders }] of unfit(seen)) {
    findings.push(...judge(unique, await readTogether(table, { pk, sk: 'GUARD' }, holders)));
  }
  return findings;
}

/** The guards that did not fit their users in the scan, by partition key, and the users whose they seemed to be. */
function unfit({ users, guards }: Survey): Map<string, { unique: Unique; holders: Set<number> }> {
  const candidates = new Map<string, { unique: Unique; holders: Set<number> }>();
  const fit = new Set<string>();
  const candidate = (unique: Unique, pk: string): Set<number> => {
    const known = candidates.get(pk) ?? { unique, holders: new Set<number>() };
    candidates.set(pk, known);
    return known.holders;
  };
  for (const user of users.values()) {
    for (const unique of ['login', 'email'] as const) {
      const { pk } = UNIQUE[unique].guardKey(user);
      if (guards.get(pk) === user.id) fit.add(pk);
      else candidate(unique, pk).add(user.id);
    }
  }
  for (const pk of guards.keys()) {
    if (!fit.has(pk)) candidate(pk.startsWith('LOGIN#') ? 'login' : 'email', pk);
  }
  return candidates;
}

/** A guard, the user that it names and those whose it seemed to be, at one moment. */
interface Together {
  readonly key: Key;
  readonly guard: Item | undefined;
  readonly users: ReadonlyMap<number, Item | undefined>;
}

/** As many users with one login are told apart; more are as wrong. */
const MOST_HOLDERS = 50;

async function readTogether(table: TableScanner, key: Key, holders: ReadonlySet<number>): Promise<Together> {
  const ids = new Set([...holders].slice(0, MOST_HOLDERS));
  for (;;) {
    const [guard, ...items] = await table.snapshot([key, ...[...ids].map((id) => entityKey('USER', id))]);
    // Whom the guard names is known only once it has been read, and may be another the next time.
    if (!guard || findDefect(guard) || ids.has(guard.id as number)) {
      return { key, guard, users: new Map([...ids].map((id, index) => [id, items[index]])) };
    }
    ids.add(guard.id as number);
  }
}

function judge(unique: Unique, { key, guard, users }: Together): Finding[] {
  const { noun, guardKey } = UNIQUE[unique];
  const sound = [...users.values()].filter((item) => item !== undefined && !findDefect(item)) as Item[];
  const [holder, ...others] = sound.map(userIn).filter((user) => guardKey(user).pk === key.pk);
  const found = (kind: Finding['kind'], says: string, remedy: Finding['remedy']): Finding[] => [
    { kind, keys: [key, ...(holder ? [entityKey('USER', holder.id)] : [])], says, remedy },
  ];

  // A finding of their own: until they are right, nobody knows whose the guard is.
  const named = guard && users.get(guard.id as number);
  if ((guard && findDefect(guard)) || (named && findDefect(named))) return [];

  if (holder && others.length > 0) {
    const ids = [holder, ...others].map(({ id }) => id).join(' and ');
    return found(`${unique}-shared`, `${nameOf(key)} is the ${noun} of the users ${ids}, and must be of one only.`, {
      advice: `whose it is, is for somebody to decide; give the others another ${noun}, in the table, then verify again`,
    });
  }
  if (holder && !guard) {
    return found(
      `${unique}-guard-missing`,
      `User ${holder.id} has a ${noun} whose guard ${nameOf(key)} does not exist.`,
      {
        does: `claims ${nameOf(key)} for user ${holder.id}`,
        writes: [claim(key, { id: holder.id }, 'retry'), as(holder)],
      },
    );
  }
  if (!guard || guard.id === holder?.id) return [];

  const id = guard.id as number;
  const stillNamed: Condition = {
    condition: '#id = :seen',
    names: { '#id': 'id' },
    values: { ':seen': id },
    onConditionFailed: 'retry',
  };
  if (holder) {
    return found(
      `${unique}-guard-wrong`,
      `${nameOf(key)} names user ${id}, and should name user ${holder.id}, whose ${noun} it guards.`,
      {
        does: `makes ${nameOf(key)} name user ${holder.id}`,
        writes: [set(key, { id: holder.id }, stillNamed), as(holder), stillAs(id, named)],
      },
    );
  }
  return found(
    `${unique}-guard-orphan`,
    `${nameOf(key)} names user ${id}, who ${named ? `has another ${noun}` : 'does not exist'}.`,
    {
      does: `removes ${nameOf(key)}`,
      writes: [remove(key, stillNamed), stillAs(id, named)],
    },
  );
}

/** The user is as in the snapshot. */
const as = (user: VerifiedUser): Write => check(entityKey('USER', user.id), versionIs(user));

/** The user is still as it was read, or still absent. */
export function stillAs(id: number, item: Item | undefined): Write {
  return item
    ? as(userIn(item))
    : check(entityKey('USER', id), { condition: 'attribute_not_exists(pk)', onConditionFailed: 'retry' });
}
