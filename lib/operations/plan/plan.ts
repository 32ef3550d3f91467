import { createHash } from 'node:crypto';
import { Failure, type FailureCode } from '../../contract/failure.ts';
import { requireReturnable } from '../../contract/json.ts';
import { openSeal } from '../../integrations/sealed-value.ts';
import { currentDeadline } from '../../runtime/execution-environment.ts';
import { isOutage } from '../../runtime/outage.ts';
import { settleAll } from '../../runtime/waiting.ts';
import { type ReadBudget, readBudget } from '../../table/read-budget.ts';
import type { Table } from '../../table/table.ts';
import type { Precondition, Write } from '../../table/write.ts';
import type { AuthorizedCaller } from '../../users/caller.ts';
import type { User } from '../../users/user.ts';
import { type Chunk, openChunk } from './chunks.ts';
import type { Application, Files } from './plan-contracts.ts';
import { planIntegrations } from './plan-integrations.ts';
import { openConditions } from './plan-set.ts';
import { planUsers } from './plan-users.ts';
import {
  PHASES,
  type PlannedChange,
  type Refusal,
  type Step,
  type StepServices,
} from './planned.ts';
import { readState, type State } from './read-state.ts';

/** A plan with the decisions that are committed when it is applied. */
interface Plan {
  readonly digest: string;
  readonly planned: readonly PlannedChange[];
  readonly unchanged: number;
  readonly state: State;
  readonly callerUser: User;
}

interface Settings {
  readonly mustConfirmOwnEmail: boolean;
}

/** States what would change. Fails with read-budget-spent, list-too-long and plan-too-large. */
export async function makePlan(
  table: Table,
  caller: AuthorizedCaller,
  files: Files,
  settings: Settings,
) {
  const budget = readBudget(table, caller);
  await budget.requireUnspent();
  return planView(await decidePlan(table, budget, caller, files, settings));
}

async function decidePlan(
  table: Table,
  budget: ReadBudget,
  caller: AuthorizedCaller,
  files: Files,
  { mustConfirmOwnEmail }: Settings,
): Promise<Plan> {
  let consumed = 0;
  const onConsumed = (units: number) => {
    consumed += units;
  };
  const [callerUser, state] = await settleAll([
    caller.findUser(),
    readState(table, files, onConsumed),
    // Also what a read has cost that fails: a caller could repeat it without end otherwise.
  ]).finally(() => budget.settle(consumed));
  const planner = { set: files.set, caller, callerUser, mustConfirmOwnEmail };
  const decided = [
    ...planUsers(files, state, planner),
    ...planIntegrations(files, state, planner),
  ].toSorted((one, other) => PHASES.indexOf(one.phase) - PHASES.indexOf(other.phase));
  const planned = await withLimits(decided, state);
  const entries = [
    ...files.users,
    ...files.integrations,
    ...files.integrations.flatMap(({ parameters }) => parameters),
  ];
  const isListed = ({ action }: PlannedChange) => !action.endsWith('.deleted');
  return {
    digest: digestOf(files, planned),
    planned,
    unchanged: entries.length - planned.filter(isListed).length,
    state,
    callerUser,
  };
}

/** Identifies the files, what they are compared with and what follows. */
function digestOf({ set, users, integrations, prune }: Files, planned: readonly PlannedChange[]) {
  const shown = planned.map(({ step: _, ...rest }) => rest);
  return createHash('sha256')
    .update(JSON.stringify([set, users, integrations, prune, shown]))
    .digest('base64url');
}

/** The failures that a step can have by the limits of an integration, as refusals. */
const LIMITS: Partial<Record<FailureCode, Refusal>> = {
  'too-many-parameters': {
    message: 'error.toomanyparameters',
    reason: 'An integration can have at most 90 parameters',
  },
  'parameters-too-large': {
    message: 'error.parameterstoolarge',
    reason: 'All parameters of an integration must not exceed 192 KiB',
  },
  'parameter-ids-used-up': {
    message: 'error.parameteridsusedup',
    reason: 'The integration has used up its ids of parameters',
  },
  invalid: { message: 'error.validation', reason: 'The value is the mask of a secret' },
};

/** Stands for the value of a secret. */
const UNKNOWN_VALUE = 'the value is not known yet';

/** Tries each step, so that the plan refuses what the application would. */
async function withLimits(
  planned: readonly PlannedChange[],
  state: State,
  valueOfSecret: StepServices['valueOf'] = () => UNKNOWN_VALUE,
): Promise<PlannedChange[]> {
  const services: StepServices = {
    ...counting(1, 1),
    now: Date.now(),
    seal: async () => (value) => Buffer.from(value),
    valueOf: valueOfSecret,
    integrations: byName(state.integrations),
  };
  const tried: PlannedChange[] = [];
  for (const change of planned) {
    const refused = change.refused ?? (await failureOf(change, services));
    tried.push(refused ? { ...change, refused } : change);
  }
  return tried;
}

async function failureOf(
  { step }: PlannedChange,
  services: StepServices,
): Promise<Refusal | undefined> {
  try {
    follow(await step(services), services);
    return undefined;
  } catch (error) {
    const refusal = error instanceof Failure ? LIMITS[error.code] : undefined;
    if (!refusal) throw error;
    return refusal;
  }
}

const byName = (integrations: State['integrations']) =>
  new Map(integrations.map(({ integration }) => [integration.name, integration]));

/** Lets the next steps start with the integration as a step has left it. */
function follow({ integration }: Step, { integrations }: StepServices): void {
  if (integration) integrations.set(integration.after.name, integration.after);
}

/** Hands out ids, beginning with these. */
const counting = (userId: number, integrationId: number) => {
  let [users, integrations] = [userId, integrationId];
  return { nextUserId: () => users++, nextIntegrationId: () => integrations++ };
};

/** A plan as clients see it. Fails with plan-too-large. */
function planView({ digest, planned, unchanged }: Plan) {
  const view = {
    digest,
    changes: planned.map(({ action, name, integrationName, changes, refused }) => ({
      action,
      name,
      integrationName,
      changes,
      refused,
    })),
    unchanged,
    refused: planned.filter(({ refused }) => refused).length,
    secrets: secretsOf(planned),
  };
  requireReturnable(JSON.stringify(view), 'plan-too-large');
  return view;
}

const secretsOf = (planned: readonly PlannedChange[]): string[] =>
  [...new Set(planned.flatMap(({ secret }) => secret ?? []))].sort();

/** What the last chunk and the plan of the rest need of the time of a request. */
const RESERVE_MS = 5000;

/**
 * Makes exactly the changes of the plan with this digest, as many as one request can: each
 * transaction as a whole, in an order in which each state between them is valid. Fails with
 * version-changed and the plan as it is now, with plan-refused, with invalid if the value of a
 * secret is missing, and as `makePlan` does; after the first transaction, with the number of
 * changes that were made.
 */
export async function applyPlan(
  table: Table,
  caller: AuthorizedCaller,
  { values, ...files }: Application,
  digest: Precondition,
  settings: Settings,
) {
  const budget = readBudget(table, caller);
  await budget.requireUnspent();
  const conditional = await openConditions(table, files.set);
  const decide = () => decidePlan(table, budget, caller, files, settings);
  const plan = await decide();
  if (plan.planned.length === 0) return { applied: 0, rest: null, retryAfter: null };
  if (!digest || digest.isNegative || !digest.includes(plan.digest))
    throw new Failure('version-changed', { plan: planView(plan) });
  if (plan.planned.some(({ refused }) => refused)) throw new Failure('plan-refused');
  await requireValues(plan, values);
  let applied = 0;
  const commitAll = async (): Promise<number | undefined> => {
    try {
      for await (const chunk of chunksOf(table, plan, values)) {
        await commitChunk(caller, plan.callerUser, conditional(chunk));
        applied += chunk.steps;
        if (Date.now() > currentDeadline() - RESERVE_MS) break;
      }
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      if (error.code === 'version-changed')
        throw new Failure('version-changed', { plan: planView(await decide()) });
      // Of a long application, the budget of changes may be spent before the end.
      if (error.code !== 'change-budget-spent' || applied === 0) throw error;
      return error.retryAfter;
    }
    return undefined;
  };
  try {
    const retryAfter = (await commitAll()) ?? null;
    const isComplete = applied === plan.planned.length;
    return { applied, rest: isComplete ? null : planView(await decide()), retryAfter };
  } catch (error) {
    throw failureAfter(applied, error);
  }
}

/** The failure with the number of changes that were made before it. */
function failureAfter(applied: number, error: unknown): unknown {
  if (applied === 0) return error;
  const failure = isOutage(error) ? new Failure('unavailable', { cause: error }) : error;
  if (failure instanceof Failure) failure.applied = applied;
  return failure;
}

/**
 * Fails with invalid for each secret whose value is missing or cannot be stored, before anything is
 * committed.
 */
async function requireValues(
  { planned, state }: Plan,
  values: Application['values'],
): Promise<void> {
  const secrets = secretsOf(planned);
  const missing = secrets
    .filter((name) => !values[name])
    .map((secret) => ({ secret, reason: 'the value of the secret is missing' }));
  const tried = await withLimits(planned, state, (name) => values[name] ?? UNKNOWN_VALUE);
  const wrong = tried.flatMap(({ secret, refused }) =>
    refused ? { secret, reason: refused.reason } : [],
  );
  const fieldErrors = [...missing, ...wrong].map(({ secret, reason }) => ({
    field: secret === undefined ? 'values' : `values.${secret}`,
    message: 'Pattern' as const,
    reason,
  }));
  if (fieldErrors.length > 0) throw new Failure('invalid', { fieldErrors });
}

/** The transactions of a plan; each follows from what the last one has committed. */
async function* chunksOf(
  table: Table,
  { planned, state }: Plan,
  values: Application['values'],
): AsyncGenerator<Chunk> {
  const howMany = (action: PlannedChange['action']) =>
    planned.filter((change) => change.action === action).length;
  const firstOf = async (kind: 'USER' | 'INTEGRATION', needed: number) =>
    needed === 0 ? 0 : (await table.nextId(kind, needed)) - needed + 1;
  const [userId, integrationId] = await settleAll([
    firstOf('USER', howMany('user.created')),
    firstOf('INTEGRATION', howMany('integration.created')),
  ]);
  const services: StepServices = {
    ...counting(userId, integrationId),
    now: Date.now(),
    seal: openSeal,
    valueOf: (name) => values[name] as string,
    integrations: byName(state.integrations),
  };
  let chunk = openChunk();
  for (const { step } of planned) {
    let decided = await step(services);
    if (!chunk.add(decided)) {
      yield chunk.close();
      for (const integration of chunk.committed())
        services.integrations.set(integration.name, integration);
      chunk = openChunk();
      // What follows from an integration is decided again, now that its revision is another one.
      if (decided.integration?.before) decided = await step(services);
      chunk.add(decided);
    }
    follow(decided, services);
  }
  yield chunk.close();
}

/** Fails with version-changed if something is not as it was when it was planned. */
function commitChunk(
  caller: AuthorizedCaller,
  { login }: User,
  { writes, events }: Chunk,
): Promise<void> {
  const planned = writes.map(
    (write): Write =>
      write.condition ? { ...write, onConditionFailed: 'version-changed' } : write,
  );
  return caller.change({
    decide: ({ callerUser }) => {
      // The writes have the login, which may belong to another user by now.
      if (callerUser.login !== login) throw new Failure('version-changed');
      return { writes: planned, result: undefined, event: events };
    },
  });
}
