import { entityKey } from '../../table/keys.ts';
import type { TableScanner } from '../../table/table-scanner.ts';
import { check, versionIs, type Write } from '../../table/write.ts';
import { rosterIdsOf, rosterKey } from '../../users/user-items.ts';
import { administers, joinRoster, leaveRoster } from '../../users/user-table.ts';
import { findDefect } from './find-defect.ts';
import type { Finding } from './finding.ts';
import { unchangedSinceRead } from './guards.ts';
import { type Survey, verifiedUserOf } from './survey.ts';

/** Verifies that the roster names exactly the administrators, and that there is at least one. */
export async function verifyRoster(table: TableScanner, seen: Survey): Promise<Finding[]> {
  const administrators = [...seen.users.values()].filter(administers).map(({ id }) => id);
  const unlisted = administrators.filter((id) => !seen.roster.has(id));
  const excess = [...seen.roster].filter((id) => !administers(seen.users.get(id)));

  // Additions come first, because the last administrator cannot leave the roster.
  const findings: Finding[] = [];
  const noneLeft = administrators.length === 0 && (await hasNoAdministrator(table));
  for (const id of [...unlisted, ...excess])
    findings.push(...(await verifyMembership(table, id, noneLeft)));
  if (noneLeft) {
    findings.push({
      kind: 'nobody-administers',
      keys: [rosterKey],
      message: 'No activated user has ROLE_ADMIN, so no user can grant it.',
      remedy: {
        advice:
          'no item tells which user should be an administrator; create one with `npm run ' +
          'admin -- first-admin`',
      },
    });
  }
  return findings;
}

/**
 * Whether no user on the roster is an administrator. It also names users that became administrators
 * after the scan.
 */
async function hasNoAdministrator(table: TableScanner): Promise<boolean> {
  const [roster] = await table.snapshot([rosterKey]);
  if (roster && findDefect(roster)) return false;
  for (const id of rosterIdsOf(roster)) {
    const [user] = await table.snapshot([entityKey('USER', id)]);
    if (user && !findDefect(user) && administers(verifiedUserOf(user))) return false;
  }
  return true;
}

async function verifyMembership(
  table: TableScanner,
  id: number,
  noneLeft: boolean,
): Promise<Finding[]> {
  const key = entityKey('USER', id);
  const [roster, item] = await table.snapshot([rosterKey, key]);
  // A defective item is reported by itself; membership can be verified only after it is corrected.
  if ((roster && findDefect(roster)) || (item && findDefect(item))) return [];
  const user = item && verifiedUserOf(item);
  const listed = rosterIdsOf(roster).has(id);
  if (user && administers(user) && !listed) {
    return [
      {
        kind: 'not-on-roster',
        keys: [key, rosterKey],
        message: `User ${id} is an administrator, but is not on the roster of administrators.`,
        remedy: {
          description: `adds user ${id} to the roster`,
          writes: [joinRoster(id), check(key, versionIs(user))],
        },
      },
    ];
  }
  if (listed && !administers(user)) {
    return [
      {
        kind: 'wrongly-on-roster',
        keys: [key, rosterKey],
        message:
          `The roster of administrators names user ${id}, who ` +
          `${user ? 'is not an administrator' : 'does not exist'}.`,
        remedy: {
          description: `removes user ${id} from the roster`,
          writes: [leave(id, noneLeft), unchangedSinceRead(id, item)],
        },
      },
    ];
  }
  return [];
}

/**
 * The last user is removed from the roster only if no administrator is left:
 * `npm run admin -- first-admin`, the only remedy then, rejects a roster that is not empty.
 */
function leave(id: number, noneLeft: boolean): Write {
  const write: Write = { ...leaveRoster(id), onConditionFailed: 'retry' };
  if (!noneLeft) return write;
  // DynamoDB rejects values that no expression uses.
  return {
    ...write,
    condition: 'contains(#ids, :id)',
    values: { ':set': new Set([id]), ':id': id },
  };
}
