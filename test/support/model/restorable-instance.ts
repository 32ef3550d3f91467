import { credentialKey } from '../../../lib/integrations/integration-items.ts';
import type { Item } from '../../../lib/table/table.ts';
import type { User } from '../../../lib/users/user.ts';
import { findUser } from '../../../lib/users/user-table.ts';
import { type Gatehouse, startGatehouse } from '../instance/gatehouse.ts';
import { itemsOf, restoreItems } from '../instance/items.ts';
import { makeModuleTokens, makeTokens } from '../instance/mint.ts';
import { openSetup } from '../instance/setup.ts';
import type { State } from './model.ts';

/** An instance whose table can be restored between random sequences. */
export interface RestorableInstance {
  readonly gatehouse: Gatehouse;
  /**
   * A token for the current user with this id, as a login after this many password changes and
   * endings of all sessions would issue it.
   */
  token(id: number, passwordChanges?: number, sessionEndings?: number): Promise<string>;
  /** A token of the module with this credential of the integration with this id. */
  moduleToken(integrationId: number, clientId: string): Promise<string>;
  /** The client id of the credential of the integration. */
  readonly clientId: string;
  /** The recovery codes of ann, whose second factor is on. */
  readonly recoveryCodes: readonly string[];
  /** Restores the table to its state when it was opened, with other incarnations. */
  restore(): Promise<void>;
}

/**
 * Starts an instance with the accounts admin, user and ann (an administrator with a second factor),
 * and an integration with a parameter and a credential.
 */
export async function startRestorableInstance(): Promise<RestorableInstance> {
  const gatehouse = await startGatehouse();
  const tokens = makeTokens(await gatehouse.adminToken());
  await restoreItems(
    gatehouse.cloud,
    new Map([...(await itemsOf(gatehouse.cloud)), ['', tokens.publicKey]]),
  );
  await gatehouse.makeUser('ann', { firstName: 'Ann', authorities: ['ROLE_ADMIN'] });
  // The incarnations of the first accounts: tokens may be made for them after their deletion.
  const incarnationOf = async (id: number) =>
    ((await findUser(gatehouse.table, id)) as User).incarnation;
  const incarnations = new Map<number, string>();
  for (const id of [1, 2, 3]) incarnations.set(id, await incarnationOf(id));
  const tokenOf = async (id: number, passwordChanges = 0, sessionEndings = 0) =>
    tokens.of({
      id,
      incarnation: incarnations.get(id) ?? (await incarnationOf(id)),
      passwordChanges,
      ...(sessionEndings > 0 && { sessionEndings }),
    });
  const token = await tokenOf(1);
  const first = { name: 'First', shortName: 'short', integrationType: 'API' };
  await gatehouse.call('POST', '/api/utm-integrations', { token, body: first });
  const parameter = { integration: { id: 1 }, confName: 'First', confValue: 'value' };
  await gatehouse.call('POST', '/api/utm-integration-confs', { token, body: parameter });

  const setup = await openSetup(gatehouse);
  const { recoveryCodes } = await setup.secondFactor({ id: 3 });
  const { clientId } = await setup.module(1);

  const start = await itemsOf(gatehouse.cloud);
  let restores = 0;
  /** The client id of the credential since the last restore. */
  const currentClientId = () =>
    restores === 0 ? clientId : clientId.slice(0, -12) + String(restores).padStart(12, '0');
  /**
   * The table as it was, under other incarnations and another client id, as after an adoption:
   * functions remember for seconds which tokens have ended, and an ended one would be valid again.
   */
  const restored = (item: Item): Item => {
    if (item.pk === 'USER') return { ...item, incarnation: `${item.incarnation}${restores}` };
    if (item.pk.startsWith('CREDENTIAL#')) return { ...item, ...credentialKey(currentClientId()) };
    if (item.pk !== 'INTEGRATION') return item;
    const credentials = item.credentials as { clientId: string }[];
    return {
      ...item,
      credentials: credentials.map((credential) => ({
        ...credential,
        clientId: currentClientId(),
      })),
    };
  };

  return {
    gatehouse,
    token: tokenOf,
    moduleToken: makeModuleTokens(gatehouse.cloud),
    get clientId() {
      return currentClientId();
    },
    recoveryCodes,
    async restore() {
      restores++;
      const items = [...start.values()].map(restored);
      await restoreItems(
        gatehouse.cloud,
        new Map(items.map((item) => [`${item.pk} ${item.sk}`, item])),
      );
      for (const id of incarnations.keys()) incarnations.set(id, await incarnationOf(id));
    },
  };
}

const person = (login: string, fields: object) => ({
  login,
  email: `${login}@example.com`,
  activated: true,
  lastModifiedBy: 'admin',
  createdBy: 'admin',
  password: login.padEnd(4, '.'),
  passwordChanges: 0,
  sessionEndings: 0,
  addressChanges: 0,
  factor: undefined,
  version: 1,
  lastName: null,
  firstName: null,
  authorities: ['ROLE_ADMIN'],
  ...fields,
});

/** The initial state of the instance in the model, administrators first. */
export const START: State = {
  users: {
    admin: person('admin', {
      firstName: 'Administrator',
      lastName: 'Administrator',
      authorities: ['ROLE_ADMIN', 'ROLE_USER'],
      createdBy: 'system',
      lastModifiedBy: 'system',
    }),
    ann: person('ann', { firstName: 'Ann', factor: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] }),
    user: person('user', { firstName: 'User', lastName: 'User', authorities: ['ROLE_USER'] }),
  },
  sessions: {
    admin: { user: 'admin', ended: false },
    ann: { user: 'ann', ended: false },
    user: { user: 'user', ended: false },
  },
  integrations: {
    first: {
      name: 'First',
      description: null,
      active: true,
      module: null,
      // Its creation, and the creation of its parameter.
      wanted: 2,
      version: 1,
    },
  },
  parameters: {
    parameter: { integration: 'first', confName: 'First', confValue: 'value', version: 1 },
  },
  credentials: { credential: { integration: 'first' } },
  keys: {},
};

/** The ids of the service for the handles in START. */
export const IDS: readonly (readonly [handle: string, id: number])[] = [
  ['admin', 1],
  ['user', 2],
  ['ann', 3],
  ['first', 1],
  ['parameter', 1_000_001],
];

/** An id that no entity has. */
export const UNKNOWN_ID = 999_999_999;
