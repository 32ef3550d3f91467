import { randomUUID } from 'node:crypto';
import { integrationIdOf } from '../table/keys.ts';
import type { Item } from '../table/table.ts';
import { claim, type Write } from '../table/write.ts';
import { auditKey, permanentAuditKey } from './audit-item.ts';
import type { Change } from './changes.ts';
import { ANONYMOUS_NAME, OPERATOR_NAME } from './service-names.ts';

/** The actions that the audit trail records. */
export const AUDITED_ACTIONS = [
  'user.created',
  'user.updated',
  'user.deleted',
  'account.updated',
  'password.changed',
  'password.reset',
  'reset.requested',
  'email.requested',
  'session.started',
  'session.ended',
  'sessions.ended',
  'secondFactor.requested',
  'secondFactor.enabled',
  'secondFactor.disabled',
  'secondFactor.removed',
  'recoveryCodes.replaced',
  'login.failed',
  'login.throttled',
  'login.codeRejected',
  'integration.created',
  'integration.updated',
  'integration.deleted',
  'integration.restarted',
  'credential.created',
  'credential.deleted',
  'module.reported',
  'parameter.created',
  'parameter.updated',
  'parameter.deleted',
] as const;
export type AuditedAction = (typeof AUDITED_ACTIONS)[number];

/** An audited event. */
export interface AuditEvent {
  readonly action: AuditedAction;
  readonly target: `${'user' | 'integration' | 'parameter'}/${number}`;
  /** The login or the name of the target at that time. */
  readonly targetName: string;
  /** The name of the integration of a parameter at that time; absent for other targets. */
  readonly integrationName?: string;
  /** Never the value of a parameter, nor another secret. */
  readonly changes: readonly Change[];
  /** Of a failed log-in: how many attempts in a row had failed by then. */
  readonly count?: number;
}

/**
 * Who makes a change, and from where. Nothing of it is optional, so that whoever records an event
 * states it: for the rules of `caller.change`, the endpoint does.
 */
export interface Actor {
  readonly id: number;
  readonly login: string;
  /** The address from which the request came; undefined for an operator's command. */
  readonly source: string | undefined;
  /**
   * The series of the user's session, the client id of a module, or the name of the operator's
   * command; undefined for requests without a token.
   */
  readonly session: string | undefined;
}

/** A stored entry of the audit trail without its keys. */
interface AuditEntry extends Omit<AuditEvent, 'changes'> {
  readonly id: string;
  /** ISO 8601, UTC. */
  readonly time: string;
  /** The login of the actor at that time; `actorId` is never reused. */
  readonly actor: string;
  readonly actorId: number;
  /** The names of the changed fields. */
  readonly fields: readonly string[];
  /** Absent if there are none. */
  readonly changes?: readonly Change[];
  readonly source?: string | undefined;
  readonly session?: string | undefined;
  /**
   * The TTL in seconds since 1970. DynamoDB deletes the entry some time later; an entry without it
   * is permanent.
   */
  readonly expires?: number;
}

/** The actor of the changes of an operator's command. */
export const operator = (command: 'first-admin' | 'import' | 'person'): Actor => ({
  id: 0,
  login: OPERATOR_NAME,
  source: undefined,
  session: command,
});

/** The actor of a request without a token. */
export const anonymous = (source: string | undefined): Actor => ({
  id: 0,
  login: ANONYMOUS_NAME,
  source,
  session: undefined,
});

/** A day in UTC always has 24 hours. */
export const MILLISECONDS_PER_DAY = 86_400_000;

/**
 * The write that adds an entry in the transaction of its change. `now` is in milliseconds since
 * 1970. Entries are kept for AUDIT_DAYS, which the stack sets for functions; operators' scripts run
 * without it, so their entries are permanent.
 */
export function auditEntry(actor: Actor, event: AuditEvent, now: number): Write {
  const { action, target, targetName, integrationName, changes, count } = event;
  const { source, session } = actor;
  const auditDays = Number(process.env.AUDIT_DAYS);
  const entry: AuditEntry = {
    id: randomUUID(),
    time: new Date(now).toISOString(),
    actor: actor.login,
    actorId: actor.id,
    action,
    target,
    targetName,
    ...(integrationName !== undefined && { integrationName }),
    fields: changes.map(({ field }) => field),
    ...(changes.length > 0 && { changes }),
    session,
    source,
    ...(count !== undefined && { count }),
    ...(auditDays > 0 && { expires: Math.floor((now + auditDays * MILLISECONDS_PER_DAY) / 1000) }),
  };
  const key =
    auditDays > 0 ? auditKey(entry.time, entry.id) : permanentAuditKey(entry.time, entry.id);
  return claim(key, { ...entry }, 'retry');
}

/** An entry as it is listed: with the integration that it is about, if any. */
export interface ListedEntry extends AuditEntry {
  readonly integrationId?: number;
  /** The values that the event has given to fields and taken from them, for filters. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** Converts a table item to an entry. The id of a parameter contains its integration's id. */
export function entryOf({ pk: _pk, sk: _sk, ...stored }: Item): ListedEntry {
  const { changes = [] } = stored as unknown as AuditEntry;
  const entry: ListedEntry = {
    ...(stored as unknown as AuditEntry),
    added: changes.flatMap(({ added, to = [] }) => [added ?? to].flat().map(String)),
    removed: changes.flatMap(({ removed, from = [] }) => [removed ?? from].flat().map(String)),
  };
  const [kind, id] = entry.target.split('/');
  if (kind === 'integration')
    return { ...entry, integrationId: Number(id), integrationName: entry.targetName };
  return kind === 'parameter' ? { ...entry, integrationId: integrationIdOf(Number(id)) } : entry;
}

/** The response form of an entry: everything but its expiry. */
export function auditView({
  id,
  time,
  actor,
  actorId,
  action,
  target,
  targetName,
  fields,
  ...rest
}: ListedEntry) {
  const { integrationId = null, integrationName = null } = rest;
  const { session = null, source = null, count = null } = rest;
  const { changes = [] } = rest;
  return {
    id,
    time,
    actor,
    actorId,
    action,
    target,
    targetName,
    integrationId,
    integrationName,
    fields,
    // The table keeps no order of attributes.
    changes: changes.map(({ field, from, to, added, removed }) => ({
      field,
      from,
      to,
      added,
      removed,
    })),
    session,
    source,
    count,
  };
}

const POSITION = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z)#[\da-f-]{1,36}$/;

/**
 * Parses the position of an entry in the trail, which is its sort key; undefined if there is no
 * such time.
 */
export function positionOf(text: string): string | undefined {
  const instant = new Date(POSITION.exec(text)?.[1] ?? Number.NaN);
  return !Number.isNaN(instant.getTime()) && text.startsWith(instant.toISOString())
    ? text
    : undefined;
}
