import { type Actor, type AuditEvent, auditEntry } from '../audit/audit-entry.ts';
import { notified } from '../mail/outbox.ts';
import { commit, ignoreUnavailable } from '../table/change.ts';
import type { Table } from '../table/table.ts';
import { type Condition, put, type Write, withCondition } from '../table/write.ts';
import type { User } from '../users/user.ts';
import { auditEventFor } from '../users/user-table.ts';
import { codeRejectedKey, rejectedKey } from './attempt-items.ts';
import {
  auditedWith,
  type FailureKeys,
  failureAudited,
  type RecordedAttempt,
} from './login-throttle-rules.ts';

/* What the audit trail and the owner are told of failed attempts. */

type FailedAction = 'login.failed' | 'login.throttled';

/** The login as it was typed, and the id of the user who has it, if one has. */
interface Attempted {
  readonly keys: FailureKeys;
  readonly login: string;
  readonly userId: number | undefined;
  readonly actor: Actor;
}

/** Returns a function that makes the audit entry about an attempt at a login. */
export function entriesAbout({ keys, login, userId, actor }: Attempted) {
  return (action: FailedAction, now: number, count?: number): Write => {
    // Equal work for a login that no account has, which can be a password in the wrong field.
    if (userId === undefined)
      return put(rejectedKey(keys.elsewhere), { expires: Math.floor(now / 1000) });
    const event: AuditEvent = {
      action,
      target: `user/${userId}`,
      targetName: login,
      changes: [],
      ...(count !== undefined && { count }),
    };
    return auditEntry(actor, event, now);
  };
}

const DAY_SECONDS = 24 * 60 * 60;

/**
 * Tells the user and the audit trail, once a day, that somebody knows the password and had a wrong
 * code. Skipped during an outage, when nothing else was stored of the attempt either.
 */
export async function reportCode(
  table: Table,
  keys: FailureKeys,
  user: User,
  actor: Actor,
): Promise<void> {
  const now = Date.now();
  const expires = Math.floor(now / 1000) + DAY_SECONDS;
  const isFirst: Condition = {
    condition: 'attribute_not_exists(pk) OR #expires <= :now',
    names: { '#expires': 'expires' },
    values: { ':now': Math.floor(now / 1000) },
    onConditionFailed: 'retry',
  };
  const event = auditEventFor('login.codeRejected', user, []);
  await ignoreUnavailable(
    commit(table, [
      withCondition(put(codeRejectedKey(keys.elsewhere), { expires }), isFirst),
      auditEntry(actor, event, now),
      notified('codeRejected', user, now),
    ]),
  );
}

/** Audits the failure of an attempt, if it is the first one of an hour in its network. */
export async function auditFailure(
  table: Table,
  keys: FailureKeys,
  failed: RecordedAttempt,
  entryAbout: ReturnType<typeof entriesAbout>,
): Promise<void> {
  const now = Date.now();
  const audited = auditedWith(failed, keys, now);
  if (!audited) return;
  const entry = entryAbout('login.failed', now, failed.failures.n);
  await ignoreUnavailable(commit(table, [failureAudited(failed, audited), entry]));
}
