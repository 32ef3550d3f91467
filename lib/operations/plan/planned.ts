import type { AuditEvent, Change } from '../../audit/audit-entry.ts';
import type { Integration } from '../../integrations/integration.ts';
import type { Seal } from '../../integrations/sealed-value.ts';
import type { Write } from '../../table/write.ts';
import type { Caller } from '../../users/caller.ts';
import type { User } from '../../users/user.ts';

/** Why a rule forbids a change: the key that clients translate, and the same in English. */
export interface Refusal {
  readonly message: string;
  readonly reason: string;
}

/**
 * One change of a plan. `step` is the decision that is committed; the plan shows what its audit
 * entries will have.
 */
export interface PlannedChange {
  readonly action: AuditEvent['action'];
  readonly name: string;
  readonly integrationName?: string;
  readonly changes: readonly Change[];
  readonly refused?: Refusal | undefined;
  /** The secret whose value it needs. */
  readonly secret?: string | undefined;
  /** What it was decided on: the plan is another one if this has changed. */
  readonly version?: string | undefined;
  /** Changes are made in this order, in which each state between them is valid. */
  readonly phase: Phase;
  readonly step: (services: StepServices) => Promise<Step>;
}

/** New and changed users first; then integrations; at last what takes something away. */
export const PHASES = ['users', 'integrations', 'deletions', 'leaving'] as const;
type Phase = (typeof PHASES)[number];

/** The writes of a change. Those that depend on one integration are merged into one. */
export interface Step {
  readonly writes: readonly Write[];
  readonly events: readonly AuditEvent[];
  /** The size of the parameters that it writes or deletes. */
  readonly bytes?: number | undefined;
  readonly integration?: {
    /** Undefined before its creation. */
    readonly before: Integration | undefined;
    readonly after: Integration;
  };
}

/** What steps need of an application. */
export interface StepServices {
  /** In milliseconds since 1970. */
  readonly now: number;
  nextUserId(): number;
  nextIntegrationId(): number;
  seal(integrationId: number): Promise<Seal>;
  valueOf(secret: string): string;
  /** The integration as the steps before have left it, by its name. */
  readonly integrations: Map<string, Integration>;
}

/** On whose behalf changes are planned, and what the environment requires. */
export interface Planner {
  readonly set: string;
  readonly caller: Caller;
  readonly callerUser: User;
  readonly mustConfirmOwnEmail: boolean;
}
