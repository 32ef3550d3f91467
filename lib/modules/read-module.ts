import { Failure } from '../contract/failure.ts';
import { type Integration, integrationView } from '../integrations/integration.ts';
import { findIntegration, integrationOf } from '../integrations/integration-table.ts';
import { MASK } from '../integrations/parameter.ts';
import { type Parameter, parameterItemsOf, parameterOf } from '../integrations/parameter-table.ts';
import { CONCURRENT_DECRYPTIONS_MAX, openUnseal } from '../integrations/sealed-value.ts';
import { mapConcurrently, sleepJittered } from '../runtime/waiting.ts';
import { entityKey } from '../table/keys.ts';
import { readBudget } from '../table/read-budget.ts';
import type { SnapshotTable } from '../table/snapshot.ts';
import type { Precondition } from '../table/write.ts';
import type { AuthorizedCaller } from '../users/caller.ts';
import type { AuthorizedModule } from './module-caller.ts';
import { moduleStateView } from './module-state.ts';

/** How many times parameters are read until the list is complete, and the bound of the waits. */
const TRIES_MAX = 5;
const WAIT_MS_MAX = 100;

/** What a module is wanted to run. Without a body, the client has it already. */
export interface WantedConfiguration {
  readonly wanted: number;
  readonly body?: object;
}

/**
 * Reads an integration and its parameters as of one moment, for its module or for a person. If the
 * precondition shows that the client has this number already, no parameter is read, and KMS is not
 * called. An inactive integration has no parameters to run. Fails with not-found,
 * read-budget-spent, unavailable.
 */
export async function readModule(
  table: SnapshotTable,
  caller: AuthorizedCaller | AuthorizedModule,
  id: number,
  precondition: Precondition,
): Promise<WantedConfiguration> {
  const isModule = 'clientId' in caller;
  // A module is charged as an account of its own, whose id no user has.
  const charged = isModule ? { id: -id, requireAuthorized: async () => undefined } : caller;
  const budget = readBudget(table, charged);
  // Nothing of a person is read before the access is confirmed.
  if (!isModule) await budget.requireUnspent();
  const integration = isModule ? caller.integration : await findIntegration(table, id);
  if (!integration) throw new Failure('not-found');
  const { moduleRevision: wanted } = integration;
  if (precondition && !precondition.includes(String(wanted))) return { wanted };
  if (isModule) await budget.requireUnspent();
  let consumed = 0;
  const onConsumed = (units: number) => {
    consumed += units;
  };
  // A decryption is charged as one unit.
  const unseal = openUnseal({ onDecryption: () => onConsumed(1) });
  try {
    const read = await readAsOfOneMoment(table, integration, onConsumed);
    // In this response, `module` is the state of the module in place of its restart flag.
    const { module: _restart, ...view } = integrationView(read.integration);
    const parameters = await mapConcurrently(
      read.parameters,
      CONCURRENT_DECRYPTIONS_MAX,
      async ({ id: own, confName, confValue, confDescription = null, secret }) => ({
        id: own,
        confName,
        confValue: secret && !isModule ? MASK : await unseal(confValue, own),
        confDescription,
        ...(secret && { secret }),
      }),
    );
    const module = moduleStateView(read.integration);
    return { wanted: module.wanted, body: { integration: view, parameters, module } };
  } finally {
    await budget.settle(consumed);
  }
}

/**
 * The query only finds out which parameters there are: it may see some of the writes of a
 * transaction. The snapshot is as of one moment, and complete if it has as many parameters as the
 * integration counts.
 */
async function readAsOfOneMoment(
  table: SnapshotTable,
  { id, active: wasActive }: Integration,
  onConsumed: (units: number) => void,
): Promise<{ integration: Integration; parameters: readonly Parameter[] }> {
  let active = wasActive;
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    if (tries > 0) await sleepJittered(WAIT_MS_MAX);
    const found = active ? await parameterItemsOf(table, id, onConsumed) : [];
    const keys = [entityKey('INTEGRATION', id), ...found.map(({ pk, sk }) => ({ pk, sk }))];
    const [item, ...items] = await table.snapshot(keys, onConsumed);
    if (!item) throw new Failure('not-found');
    const integration = integrationOf(item);
    active = integration.active;
    if (!active) return { integration, parameters: [] };
    const parameters = items.filter((each) => each !== undefined).map(parameterOf);
    if (parameters.length === integration.parameterCount) return { integration, parameters };
  }
  throw new Failure('unavailable');
}
