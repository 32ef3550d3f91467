import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { count, type ItemDeclaration, text } from '../table/item-kind.ts';
import type { Key } from '../table/keys.ts';
import { put, type Write } from '../table/write.ts';

const PARTITION = 'AUDIT#';
export const auditPartition = (month: string): string => `${PARTITION}${month}`;
export const auditKey = (time: string, entryId: string): Key => ({
  pk: auditPartition(time.slice(0, 7)),
  sk: `${time}#${entryId}`,
});
/**
 * Permanent entries have their own partition: finding them among the monthly ones would mean
 * reading every month.
 */
export const PERMANENT_AUDIT_PARTITION = 'AUDIT#PERMANENT';
export const permanentAuditKey = (time: string, entryId: string): Key => ({
  pk: PERMANENT_AUDIT_PARTITION,
  sk: `${time}#${entryId}`,
});
export const auditItem: ItemDeclaration = {
  pk: ['AUDIT#<month>', PERMANENT_AUDIT_PARTITION],
  sk: '<time>#<entry id>',
  name: 'audit entry',
  attributes: () =>
    v.object({
      time: text,
      actor: text,
      actorId: count,
      action: text,
      target: text,
      targetName: text,
      integrationName: v.optional(text),
      changes: v.optional(v.array(v.object({ field: text }))),
      session: v.optional(text),
      source: v.optional(text),
      count: v.optional(count),
      expires: v.optional(count),
    }),
  personal: [
    'time',
    'actor',
    'actorId',
    'action',
    'target',
    'targetName',
    'integrationName',
    'fields',
    'changes',
    'session',
    'source',
  ],
  matches: ({ pk, sk }) =>
    pk === PERMANENT_AUDIT_PARTITION || sk.startsWith(pk.slice(PARTITION.length)),
  onForget: 'rename',
  onRestore: 'keep',
};

/** The actions that the audit trail records. */
export const AUDITED_ACTIONS = [
  'user.created',
  'user.updated',
  'user.invited',
  'user.deleted',
  'account.updated',
  'password.changed',
  'password.reset',
  'reset.requested',
  'email.requested',
  'session.started',
  'session.ended',
  'sessions.ended',
  'token.created',
  'token.deleted',
  'token.used',
  'secondFactor.requested',
  'secondFactor.enabled',
  'secondFactor.disabled',
  'secondFactor.removed',
  'recoveryCodes.replaced',
  'identity.linked',
  'identity.unlinked',
  'roles.kept',
  'login.failed',
  'login.throttled',
  'login.codeRejected',
  'emergency.armed',
  'emergency.disarmed',
  'emergency.used',
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

/**
 * What became of a field. `from` and `to` are missing where there is no value; both are, if the
 * values are secret. The values of a set are those that were `added` to it and `removed` from it.
 */
export interface Change {
  readonly field: string;
  readonly from?: Value;
  readonly to?: Value;
  readonly added?: readonly string[];
  readonly removed?: readonly string[];
}
type Value = string | number | boolean;

/**
 * In code points: all logins, addresses and names are shorter. Descriptions would make most entries
 * that contain one larger than the 1 KB that two write units pay for.
 */
const TEXT_LENGTH_MAX = 256;

/**
 * The changes between two states of an entity, which is undefined before its creation and after its
 * deletion. Lists are sets: their order does not matter.
 */
export const changesBetween = <E extends object>(
  before: E | undefined,
  after: E | undefined,
  fields: readonly (keyof E & string)[],
): Change[] => fields.flatMap((field) => changeOf(field, before?.[field], after?.[field]));

function changeOf(field: string, from: unknown, to: unknown): Change[] {
  if (Array.isArray(from ?? to)) {
    const [former = [], latter = []] = [from, to] as (string[] | undefined)[];
    const added = latter.filter((each) => !former.includes(each));
    const removed = former.filter((each) => !latter.includes(each));
    const isChanged = added.length + removed.length > 0;
    return isChanged ? [{ field, ...(added[0] && { added }), ...(removed[0] && { removed }) }] : [];
  }
  if (from === to) return [];
  return [
    {
      field,
      ...(from !== undefined && { from: shortened(from as Value) }),
      ...(to !== undefined && { to: shortened(to as Value) }),
    },
  ];
}

function shortened(value: Value): Value {
  if (typeof value !== 'string') return value;
  const characters = [...value];
  return characters.length > TEXT_LENGTH_MAX
    ? `${characters.slice(0, TEXT_LENGTH_MAX).join('')}…`
    : value;
}

/** An audited event. */
export interface AuditEvent {
  readonly action: AuditedAction;
  readonly target: `${'user' | 'integration' | 'parameter'}/${number}`;
  /** The login or the name of the target at that time. */
  readonly targetName: string;
  /** The name of the integration of a parameter at that time; absent for other targets. */
  readonly integrationName?: string | undefined;
  /** Never the value of a parameter, nor another secret. */
  readonly changes: readonly Change[];
  /** Of a failed log-in: how many attempts in a row had failed by then. */
  readonly count?: number | undefined;
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

/*
 * The names that the service itself writes as an actor or author. No account can receive one: in
 * the audit trail and in `createdBy`, nobody could tell them apart.
 */

export const OPERATOR_NAME = 'system';
export const ANONYMOUS_NAME = 'anonymous';
/** What log-ins with an identity provider change has it as its author. */
export const PROVIDER_NAME = 'identity-provider';

/** The name of a module: the client id of its credential. */
export const moduleName = (integrationId: number, random: string): string =>
  `module-${integrationId}-${random}`;

/** The name that replaces the logins of a user who is forgotten. */
export const forgottenName = (userId: number): string => `deleted-${userId}`;

/** What all these names match, in any case: readers and filters with `contains` ignore it. */
export const SERVICE_NAMES: readonly RegExp[] = [
  new RegExp(`^${OPERATOR_NAME}$`, 'i'),
  new RegExp(`^${ANONYMOUS_NAME}$`, 'i'),
  new RegExp(`^${PROVIDER_NAME}$`, 'i'),
  /^module-\d+-/i,
  /^deleted-\d+$/i,
];

/** A stored entry of the audit trail without its keys. */
export interface AuditEntry extends Omit<AuditEvent, 'changes'> {
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
export const operator = (command: 'emergency' | 'first-admin' | 'import' | 'person'): Actor => ({
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

/** The actor of what a log-in with an identity provider changes besides starting a session. */
export const provider = (source: string): Actor => ({
  id: 0,
  login: PROVIDER_NAME,
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
    integrationName,
    fields: changes.map(({ field }) => field),
    ...(changes.length > 0 && { changes }),
    session,
    source,
    count,
    ...(auditDays > 0 && { expires: Math.floor((now + auditDays * MILLISECONDS_PER_DAY) / 1000) }),
  };
  const key =
    auditDays > 0 ? auditKey(entry.time, entry.id) : permanentAuditKey(entry.time, entry.id);
  return put(key, { ...entry });
}
