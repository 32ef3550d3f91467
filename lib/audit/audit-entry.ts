import { randomUUID } from 'node:crypto';
import { auditKey, permanentAuditKey } from '../table/keys.ts';
import { claim, type Write } from '../table/write.ts';

/** Everything that leaves an entry. */
export const AUDITED_ACTIONS = [
  'user.created',
  'user.updated',
  'user.deleted',
  'account.updated',
  'password.changed',
  'password.reset',
  'integration.created',
  'integration.updated',
  'integration.deleted',
  'integration.restarted',
  'parameter.created',
  'parameter.updated',
  'parameter.deleted',
] as const;
type AuditedAction = (typeof AUDITED_ACTIONS)[number];

/** What a change does to which entity. Fields by their names, never by what is in them. */
export interface AuditEvent {
  readonly action: AuditedAction;
  readonly target: `${'user' | 'integration' | 'parameter'}/${number}`;
  /** What people call it: a login, or a name. */
  readonly targetName: string;
  readonly fields: readonly string[];
}

/** An entry of the audit trail as it is stored, without its keys. */
export interface AuditEntry extends AuditEvent {
  readonly id: string;
  /** ISO 8601, UTC. */
  readonly time: string;
  /** The login at that time, and the id, which is nobody else's ever. */
  readonly actor: string;
  readonly actorId: number;
  /** Seconds since 1970; the table forgets it some time later. Without it, never. */
  readonly expires?: number;
}

/** Who makes a change. */
export interface Actor {
  readonly id: number;
  readonly login: string;
}

/** Whoever changes something with no account: the operator. */
export const OPERATOR: Actor = { id: 0, login: 'system' };

/** Of a day in UTC. */
export const MILLISECONDS_PER_DAY = 86_400_000;

/**
 * The entry that belongs into the transaction of a change. It is kept for as many days as the stack says; what an
 * operator's script does, where nothing says so, for ever.
 */
export function auditEntry(actor: Actor, { action, target, targetName, fields }: AuditEvent): Write {
  const now = Date.now();
  const { AUDIT_DAYS: days } = process.env;
  const entry: AuditEntry = {
    id: randomUUID(),
    time: new Date(now).toISOString(),
    actor: actor.login,
    actorId: actor.id,
    action,
    target,
    targetName,
    fields,
    ...(days && { expires: Math.floor((now + Number(days) * MILLISECONDS_PER_DAY) / 1000) }),
  };
  const key = days ? auditKey(entry.time, entry.id) : permanentAuditKey(entry.time, entry.id);
  return claim(key, { ...entry }, 'retry');
}

/** The names of the fields in which two forms of an entity differ. */
export function changedFields<E extends object>(before: E, after: E, names: readonly (keyof E & string)[]): string[] {
  return names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
}
