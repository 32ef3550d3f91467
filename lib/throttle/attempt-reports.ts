import { type Actor, type AuditEvent, auditEntry } from '../audit/audit-entry.ts';
import { notified } from '../mail/outbox.ts';
import { commit, ignoreUnavailable } from '../table/change.ts';
import type { Table } from '../table/table.ts';
import { put, type Write, withCondition } from '../table/write.ts';
import type { User } from '../users/user.ts';
import { auditEventFor } from '../users/user-table.ts';
import { codeRejectedKey, type LoginKeys, rejectedKey } from './attempt-items.ts';
import { type LoginCount, markRejected, type RecordedAttempt } from './login-throttle-rules.ts';

/** The login as it was typed, and the id of the user who has it, if one has. */
interface Attempted {
  readonly login: string;
  readonly userId: number | undefined;
  readonly actor: Actor;
}

const DAY_SECONDS = 24 * 60 * 60;

export type AttemptReports = ReturnType<typeof openReports>;

/**
 * What the audit trail and the owner are told of an attempt. Skipped during an outage, when nothing
 * else was stored of the attempt either.
 */
export function openReports(
  table: Table,
  { elsewhere }: LoginKeys,
  { login, userId, actor }: Attempted,
) {
  const report = (writes: readonly Write[]) => ignoreUnavailable(commit(table, writes));

  function entryAbout(event: Pick<AuditEvent, 'action' | 'count'>): Write {
    const now = Date.now();
    // Equal work for a login that no account has, which can be a password in the wrong field.
    if (userId === undefined)
      return put(rejectedKey(elsewhere), { expires: Math.floor(now / 1000) });
    const about = { target: `user/${userId}`, targetName: login, changes: [] } as const;
    return auditEntry(actor, { ...about, ...event }, now);
  }

  /** Audits, and tells the user, that somebody knows the password and had a wrong code; once a day. */
  function reportCode(user: User): Promise<void> {
    const now = Date.now();
    const seconds = Math.floor(now / 1000);
    const event = auditEventFor('login.codeRejected', user, []);
    return report([
      withCondition(put(codeRejectedKey(elsewhere), { expires: seconds + DAY_SECONDS }), {
        condition: 'attribute_not_exists(pk) OR #expires <= :now',
        names: { '#expires': 'expires' },
        values: { ':now': seconds },
        onConditionFailed: 'retry',
      }),
      auditEntry(actor, event, now),
      notified('codeRejected', user, now),
    ]);
  }

  return {
    /** The attempt is rejected because of these failures; reported until they are cleared. */
    throttled: (count: LoginCount) =>
      report([markRejected(count), entryAbout({ action: 'login.throttled' })]),
    /** The attempt has failed; reported if it is the first one of an hour in its network. */
    async failed({ isFirst, counted }: RecordedAttempt, codeRejectedOf?: User) {
      if (isFirst) await report([entryAbout({ action: 'login.failed', count: counted.n })]);
      if (codeRejectedOf) await reportCode(codeRejectedOf);
    },
  };
}
