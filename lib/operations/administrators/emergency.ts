import { type AuditEvent, auditEntry, changesBetween, operator } from '../../audit/audit-entry.ts';
import { settleAll } from '../../runtime/waiting.ts';
import { loadDecideCommit } from '../../table/change.ts';
import type { Table } from '../../table/table.ts';
import { put, remove } from '../../table/write.ts';
import {
  type Arming,
  allNotified,
  armingIs,
  armingKey,
  findArming,
  findNotified,
} from '../../users/emergency-account.ts';
import { findAdministrator, type Refused } from './recover-administrator.ts';

/** What an operator states about an emergency. */
interface Emergency {
  readonly minutes: number;
  readonly reason: string;
  readonly by: string;
}

/** The outcome. Nothing has changed, unless the account is armed. */
type ArmOutcome =
  | Refused
  | { readonly outcome: 'armed'; readonly until: Date; readonly notified: number };

const eventOf = (
  action: 'emergency.armed' | 'emergency.disarmed',
  { userId, login }: Arming,
  changes: AuditEvent['changes'],
): AuditEvent => ({ action, target: `user/${userId}`, targetName: login, changes });

/**
 * Lets an administrator with a second factor log in with a password for some minutes, in spite of
 * ssoOnly, if the setting names the account. Notifies the administrators. Replaces an earlier
 * arming. Fails with unavailable.
 */
export function armEmergencyAccount(
  table: Table,
  login: string,
  { minutes, reason, by }: Emergency,
): Promise<ArmOutcome> {
  const load = () => settleAll([findAdministrator(table, login, true), findNotified(table)]);
  return loadDecideCommit<Awaited<ReturnType<typeof load>>, ArmOutcome>(
    table,
    load,
    ([found, administrators], now) => {
      if (found.outcome !== 'found') return { writes: [], result: found };
      const expires = Math.floor(now / 1000) + minutes * 60;
      const arming: Arming = { userId: found.user.id, login, expires, reason, by };
      const until = new Date(expires * 1000);
      const stated = { expires: until.toISOString(), reason, by };
      const changes = changesBetween(undefined, stated, ['expires', 'reason', 'by']);
      return {
        writes: [
          put(armingKey, { ...arming }),
          auditEntry(operator('emergency'), eventOf('emergency.armed', arming, changes), now),
          ...allNotified('emergencyArmed', administrators, now),
        ],
        result: { outcome: 'armed', until, notified: administrators.length },
      };
    },
  );
}

/** Returns the login that was armed; undefined if none was. Fails with unavailable. */
export function disarmEmergencyAccount(table: Table, by: string): Promise<string | undefined> {
  return loadDecideCommit(
    table,
    () => findArming(table),
    (arming, now) => {
      if (!arming) return { writes: [], result: undefined };
      const changes = changesBetween(undefined, { by }, ['by']);
      return {
        writes: [
          remove(armingKey, armingIs(arming)),
          auditEntry(operator('emergency'), eventOf('emergency.disarmed', arming, changes), now),
        ],
        result: arming.login,
      };
    },
  );
}
