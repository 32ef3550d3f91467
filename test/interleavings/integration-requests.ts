import { createIntegration } from '../../lib/integrations/create-integration.ts';
import { createParameter } from '../../lib/integrations/create-parameter.ts';
import { deleteIntegration } from '../../lib/integrations/delete-integration.ts';
import { deleteParameter } from '../../lib/integrations/delete-parameter.ts';
import { type Integration, integrationView } from '../../lib/integrations/integration.ts';
import { type DecryptedParameter, MASK, parameterView } from '../../lib/integrations/parameter.ts';
import type { StoredParameter } from '../../lib/integrations/parameter-table.ts';
import { readParameter, readParameters } from '../../lib/integrations/read-parameters.ts';
import { reportRestart } from '../../lib/integrations/report-restart.ts';
import { updateIntegration } from '../../lib/integrations/update-integration.ts';
import { updateParameter } from '../../lib/integrations/update-parameter.ts';
import {
  createCredential,
  deleteCredential,
  listCredentials,
} from '../../lib/modules/credentials.ts';
import { exchangeCredential } from '../../lib/modules/exchange-credential.ts';
import { MODULES } from '../../lib/modules/list-modules.ts';
import { moduleStateView } from '../../lib/modules/module-state.ts';
import { pollModule } from '../../lib/modules/poll-module.ts';
import { reportModule } from '../../lib/modules/record-report.ts';
import { markerKeyOf } from '../../lib/operations/transfer/importer.ts';
import { listPage } from '../../lib/table/list.ts';
import { readBudget } from '../../lib/table/read-budget.ts';
import type { Item } from '../../lib/table/table.ts';
import type { Precondition } from '../../lib/table/write.ts';
import type { User } from '../../lib/users/user.ts';
import { queryOf } from '../support/doubles/rule-arguments.ts';
import { moduleRequest, publicRequest, SOURCE, throttleOf } from './doubles.ts';
import { CLIENT, gate, HOST, ina, KEY, MODULE, PARAMETERS, SECRET } from './integrations.ts';
import { ada, type CallerName } from './people.ts';
import { act, administration, importOf, inSession, ownAccount } from './user-requests.ts';
import type { Request } from './worlds.ts';

/* Every request that changes or reads an integration. */

const seenIntegration = (integration: Integration) => ({
  ...integrationView(integration),
  version: integration.version,
});
const seenParameter = (parameter: DecryptedParameter) => ({
  ...parameterView(parameter),
  version: parameter.version,
});
const { id, name, shortName, integrationType, active } = gate;
const SAME = { id, name, shortName, integrationType, active };

const updateGate = (by: User, does: string, change: object, precondition?: Precondition): Request =>
  act(by, does, 'update-integration', async (table, caller) =>
    seenIntegration(
      await updateIntegration(table, caller, { ...SAME, ...change } as never, precondition),
    ),
  );
const deleteGate = (by: User, does: string, precondition?: Precondition): Request =>
  act(by, does, 'delete-integration', (table, caller) =>
    deleteIntegration(table, caller, gate.id, precondition),
  );
const restart = (by: User, changes: number): Request =>
  act(by, `reports a restart with ${changes} changes`, 'report-restart', async (table, caller) =>
    seenIntegration(await reportRestart(table, caller, gate.id, changes)),
  );

export const createLock = (by: User, session: CallerName = 1): Request =>
  inSession(by, session, 'creates Lock', 'create-integration', async (table, caller) =>
    seenIntegration(await createIntegration(table, caller, { ...SAME, name: 'Lock' } as never)),
  );

/** What people do with an integration. */
const integrations = (by: User): Request[] => [
  createLock(by),
  updateGate(by, 'renames Gate', { name: 'Door' }),
  updateGate(by, 'describes Gate if it is unchanged', { description: 'New' }, [gate.version]),
  updateGate(by, 'switches Gate off', { active: false }),
  deleteGate(by, 'deletes Gate'),
  deleteGate(by, 'deletes Gate if it is unchanged', [gate.version]),
  restart(by, 3),
  restart(by, 4),
];

const addParameter = (by: User, confName: string, secret: boolean): Request =>
  act(by, `adds ${confName}`, 'create-parameter', async (table, caller) =>
    seenParameter(
      await createParameter(table, caller, {
        integration: { id: gate.id },
        confName,
        confValue: `${confName} value`,
        secret,
      } as never),
    ),
  );
const updateOf = (
  by: User,
  does: string,
  { id, confName }: StoredParameter,
  change: { readonly confValue: string; readonly secret?: boolean },
  precondition?: Precondition,
): Request =>
  act(by, does, 'update-parameter', async (table, caller) => {
    const fields = { id, integration: { id: gate.id }, confName, ...change };
    return seenParameter(await updateParameter(table, caller, fields as never, precondition));
  });
const deleteOf = (
  by: User,
  does: string,
  { id }: StoredParameter,
  precondition?: Precondition,
): Request =>
  act(by, does, 'delete-parameter', (table, caller) =>
    deleteParameter(table, caller, id, precondition),
  );

/** What people do with the parameters of an integration. */
const parameters = (by: User): Request[] => [
  addParameter(by, 'port', false),
  addParameter(by, 'token', true),
  updateOf(by, 'changes host', HOST, { confValue: 'a2' }),
  updateOf(by, 'changes host if it is unchanged', HOST, { confValue: 'a3' }, [HOST.version]),
  updateOf(by, 'makes host a secret', HOST, { confValue: 'a4', secret: true }),
  updateOf(by, 'changes key', KEY, { confValue: 'b2' }),
  updateOf(
    by,
    'renames key and keeps its value',
    { ...KEY, confName: 'lock' },
    { confValue: MASK },
  ),
  updateOf(by, 'makes key public', KEY, { confValue: 'b3', secret: false }),
  updateOf(by, 'sends the mask for host', HOST, { confValue: MASK }),
  deleteOf(by, 'deletes host', HOST),
  deleteOf(by, 'deletes key if it is unchanged', KEY, [KEY.version]),
];

/** What administrators do with the credentials of a module, and the module with its own. */
const credentials: readonly Request[] = [
  act(ada, 'creates a credential', 'create-credential', (table, caller) =>
    createCredential(table, caller, gate.id, {} as never, []),
  ),
  act(ada, 'deletes the credential', 'delete-credential', (table, caller) =>
    deleteCredential(table, caller, gate.id, CLIENT),
  ),
  act(ada, 'lists the credentials', 'list-credentials', (table, caller) =>
    listCredentials(table, caller, gate.id),
  ),
  publicRequest('the module exchanges its credential', 'issue-token', (table) =>
    exchangeCredential(
      {
        table,
        throttle: throttleOf(table),
        issue: async ({ clientId, expires, integration: { id } }) => ({
          token: JSON.stringify({ clientId, expires, id }),
          expiresInSeconds: 3600,
        }),
      },
      SOURCE,
      undefined,
      { grant_type: 'client_credentials', client_id: CLIENT, client_secret: SECRET } as never,
    ),
  ),
];

/** A poll of a module that holds this configuration. */
const poll = (holds: number | undefined): Request =>
  moduleRequest(
    `the module polls with ${holds ?? 'nothing'}`,
    'read-module',
    MODULE,
    async (table, module) => {
      const precondition =
        holds === undefined
          ? undefined
          : { includes: (number: string) => number !== String(holds) };
      const { wanted, body } = await pollModule(table, module, gate.id, {
        precondition,
        running: undefined,
      });
      // When the module was seen last is recorded beside the read.
      const { module: _state, ...configuration } = { ...body } as { readonly module?: unknown };
      return { wanted, ...configuration };
    },
  );
/**
 * A poll that states what the module runs is a read and a report beside each other, which need not
 * be as of the same moment. The read alone is explored as a poll, the report alone as this.
 */
const statement = (running: string): Request =>
  moduleRequest(`the module states ${running}`, 'read-module', MODULE, async (table, module) => {
    const precondition = { includes: () => false };
    await pollModule(table, module, gate.id, { precondition, running });
  });
const report = (running: number, failed?: number): Request =>
  moduleRequest(
    `the module reports ${running}${failed ? `, failed ${failed}` : ''}`,
    'report-module',
    MODULE,
    async (table, module) =>
      moduleStateView(
        await reportModule(table, module, {
          running,
          ...(failed && { failed, reason: 'Bad host' }),
        } as never),
      ),
  );

/** What the module does. */
const modules: readonly Request[] = [
  poll(undefined),
  poll(6),
  poll(7),
  statement('6'),
  statement('7'),
  statement('6;failed=7'),
  report(7),
  report(8),
  report(6, 7),
];

const listParameters = (by: User): Request =>
  act(by, 'lists parameters', 'list-parameters', async (table, caller) => {
    const ofGate = { field: 'integrationId', operator: 'equals', operands: [gate.id] } as const;
    const page = await readParameters(table, caller, queryOf({ filters: [ofGate] }));
    return page.entities.map(seenParameter);
  });
/** A list, and a parameter that is created and changed meanwhile. */
export const listDuringCreation: readonly Request[] = [
  listParameters(ina),
  addParameter(ina, 'port', false),
  updateOf(ina, 'changes port', { ...HOST, id: HOST.id + 2, confName: 'port' }, { confValue: 'c' }),
];

/** What people read of them. */
const reads = (by: User): Request[] => [
  ...PARAMETERS.map(({ id, confName }) =>
    act(by, `reads ${confName}`, 'get-parameter', async (table, caller) =>
      seenParameter(await readParameter(table, caller, id)),
    ),
  ),
  listParameters(by),
  act(by, 'lists modules', 'list-modules', async (table, caller) => {
    const budget = readBudget(table, caller);
    // The total is read before the page, and says nothing of it.
    return (await listPage({ ...MODULES, table, budget }, queryOf())).entities.map(withoutLastSeen);
  }),
  act(by, 'reads the module', 'read-module', async (table, caller) => {
    const poll = { precondition: undefined, running: undefined };
    const { wanted, body } = await pollModule(table, caller, gate.id, poll);
    const { module, ...configuration } = body as { readonly module: object };
    return { wanted, ...configuration, module: withoutLastSeen(module) };
  }),
];

/** A poll records when the module was seen before or after it reads: others may see the one alone. */
function withoutLastSeen(module: object): object {
  const { lastSeen: _approximate, ...rest } = module as { readonly lastSeen?: string };
  return rest;
}

const importing = (does: string, again: boolean): Request => ({
  name: `an operator ${does}`,
  handler: 'import',
  writes: ['INTEGRATION', 'CONF', 'TOTAL', 'IMPORTED#'],
  run: (table) =>
    importOf(
      table,
      {
        type: 'integration',
        name: 'Imported',
        shortName: 'imported',
        integrationType: 'API',
        active: true,
        parameters: [{ confName: 'host', confValue: 'a' }],
      },
      again,
    ),
});
/** An operator imports an integration with a parameter. */
export const importGate = importing('imports Gate', false);
/** The same, if it was deleted since an earlier import. */
export const importGateAgain = importing('imports Gate again', true);
/** What an earlier import leaves of a deleted integration. */
export const formerImport: Item = {
  ...markerKeyOf('INTEGRATION', 'Imported', 'imported', 0),
  id: 99,
};

/** What happens to a caller meanwhile. */
const callerChanges = (user: User): Request[] => [
  administration.deactivate(ada, user),
  administration.restrict(ada, user),
  administration.rename(ada, user, 'eve'),
  administration.remove(ada, user),
  administration.endSessions(ada, user),
  ownAccount.logOut(user),
];

/** All requests by kind. */
export const integrationRequests = {
  integrations: integrations(ina),
  parameters: parameters(ina),
  credentials,
  modules,
  reads: reads(ina),
  callerChanges: callerChanges(ina),
} as const satisfies Record<string, readonly Request[]>;
