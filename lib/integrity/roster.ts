import { entityKey, rosterKey } from '../table/keys.ts';
import type { TableScanner } from '../table/table-scanner.ts';
import { check, versionIs, type Write } from '../table/write.ts';
import { administers, joinRoster, leaveRoster } from '../users/administrators.ts';
import type { Finding } from './finding.ts';
import { stillAs } from './guards.ts';
import { findDefect } from './item-kinds.ts';
import { rosterIn, type Survey, userIn } from './survey.ts';

/** The roster is the set of those who administer, and somebody does. */
export async function verifyRoster(table: TableScanner, seen: Survey): Promise<Finding[]> {
  const administrators = [...seen.users.values()].filter(administers).map(({ id }) => id);
  const unlisted = administrators.filter((id) => !seen.roster.has(id));
  const excess = [...seen.roster].filter((id) => !administers(seen.users.get(id)));

  // Who joins comes first, so that whoever leaves is not the last one.
  const findings: Finding[] = [];
  const nobody = administrators.length === 0 && (await nobodyAdministers(table));
  for (const id of [...unlisted, ...excess]) findings.push(...(await verifyMembership(table, id, nobody)));
  if (nobody) {
    findings.push({
      kind: 'nobody-administers',
      keys: [rosterKey],
      says: 'No activated user holds ROLE_ADMIN, so that nobody can make one.',
      remedy: { advice: 'who should administer, nothing here says; make an administrator with `npm run first-admin`' },
    });
  }
  return findings;
}

/** Whether none of those on the roster administers. Whoever has started to since the scan is on it. */
async function nobodyAdministers(table: TableScanner): Promise<boolean> {
  const [roster] = await table.snapshot([rosterKey]);
  if (roster && findDefect(roster)) return false;
  for (const id of rosterIn(roster)) {
    const [user] = await table.snapshot([entityKey('USER', id)]);
    if (user && !findDefect(user) && administers(userIn(user))) return false;
  }
  return true;
}

async function verifyMembership(table: TableScanner, id: number, nobody: boolean): Promise<Finding[]> {
  const key = entityKey('USER', id);
  const [roster, item] = await table.snapshot([rosterKey, key]);
  // A finding of its own: until it is right, nobody knows who should be on the roster.
  if ((roster && findDefect(roster)) || (item && findDefect(item))) return [];
  const user = item && userIn(item);
  const listed = rosterIn(roster).has(id);
  if (user && administers(user) && !listed) {
    return [
      {
        kind: 'not-on-roster',
        keys: [key, rosterKey],
        says: `User ${id} administers, and is not on the roster of administrators.`,
        remedy: { does: `puts user ${id} on the roster`, writes: [joinRoster(id), check(key, versionIs(user))] },
      },
    ];
  }
  if (listed && !administers(user)) {
    return [
      {
        kind: 'wrongly-on-roster',
        keys: [key, rosterKey],
        says: `The roster of administrators names user ${id}, who ${user ? 'does not administer' : 'does not exist'}.`,
        remedy: { does: `takes user ${id} off the roster`, writes: [leave(id, nobody), stillAs(id, item)] },
      },
    ];
  }
  return [];
}

/**
 * The roster is never emptied, unless nobody on it administers: `npm run first-admin` refuses a roster that names
 * anyone, and nobody else could help.
 */
function leave(id: number, nobody: boolean): Write {
  const { values: { ':one': _one, ...values } = {}, ...write } = leaveRoster(id);
  if (!nobody) return { ...leaveRoster(id), onConditionFailed: 'retry' };
  return { ...write, values, condition: 'contains(#ids, :id)', onConditionFailed: 'retry' };
}
