import { argon2Sync, randomBytes } from 'node:crypto';
import { GenerateMacCommand, KMSClient } from '@aws-sdk/client-kms';
import { OPERATOR } from '../../../infra/local/state/operator.ts';
import { authorize } from '../../../lib/authorization/authorize.ts';
import { createIntegration } from '../../../lib/integrations/create-integration.ts';
import { CreateIntegration } from '../../../lib/integrations/integration-contracts.ts';
import { integrationChanged } from '../../../lib/integrations/integration-table.ts';
import { openHasher } from '../../../lib/passwords/hasher.ts';
import { commit } from '../../../lib/table/change.ts';
import { entityKey, loginGuardKey, parameterId } from '../../../lib/table/keys.ts';
import { changeTotal, claim } from '../../../lib/table/write.ts';
import { newAccount } from '../../../lib/users/create-user.ts';
import { newResetKey } from '../../../lib/users/reset-key.ts';
import type { User } from '../../../lib/users/user.ts';
import { creation, findUser } from '../../../lib/users/user-table.ts';
import type { routes } from '../../../routes.ts';
import type { Gatehouse, Received } from './gatehouse.ts';
import type { Sent } from './launch.ts';
import { methodAndPath, type Params } from './method-and-path.ts';
import { makeTokens } from './mint.ts';

/*
 * Every route that changes something, as a request whose effect can be counted. Prerequisites are
 * written straight into the table, so that only the function under test runs.
 */

type RouteKey = (typeof routes)[number]['route'];

/** A request that makes one change, and how to count that change. */
export interface Change {
  readonly route: RouteKey;
  /** The status of the first request. */
  readonly success: number;
  /** The status when the same request is repeated. */
  readonly repeated: number;
  /**
   * Whether a repeated request changes something again: integrations may be equal, and an update
   * adds a version.
   */
  readonly changesAgain?: true;
  /**
   * Whether the response hides the outcome: a login succeeds without a rehash, and a reset reveals
   * no addresses.
   */
  readonly hidesOutcome?: true;
  prepare(setup: Setup): Promise<Prepared>;
}

/** A request whose prerequisites exist. */
export interface PreparedRequest extends Pick<Sent, 'token' | 'body'> {
  readonly method: string;
  readonly path: string;
}

/** A change whose prerequisites exist. */
export interface Prepared {
  /** `<pk>/<sk>` of an item in each of its transactions. */
  readonly item: string;
  /** `<pk>/<sk>` of an item that it reads, if that is another one. */
  readonly read?: string;
  readonly request: PreparedRequest;
  /** Sends the request. */
  send(): Promise<Received>;
  /** Counts how often the change was made. */
  countChanges(): Promise<number>;
}

/** A row of the table of changes: the request consists of its route and of what is prepared. */
interface Row extends Omit<Change, 'prepare'> {
  prepare(
    setup: Setup,
  ): Promise<
    Omit<Prepared, 'request' | 'send'> & Pick<Sent, 'token' | 'body'> & { readonly params?: Params }
  >;
}

/** Creates the prerequisites of requests. */
export interface Setup {
  readonly gatehouse: Gatehouse;
  /** Creates an account with the password `pass`, a token for it, and `<pk>/<sk>` of its item. */
  account(fields?: Partial<User>): Promise<{ user: User; token: string; item: string }>;
  /** Creates an integration with this many parameters. */
  integration(parameters?: number): Promise<number>;
  /** Creates a parameter whose value KMS can decrypt. */
  openParameter(): Promise<number>;
  /** A hash of the password `pass` at a lower cost than the current one. */
  outdatedHash(): Promise<string>;
}

/** Prepares the creation of prerequisites in the table of this instance. */
export async function openSetup(gatehouse: Gatehouse): Promise<Setup> {
  const { cloud, table } = gatehouse;
  const { endpoint, region, pepperKeys } = cloud;
  const [pepperKey = ''] = pepperKeys;
  const kms = new KMSClient({ endpoint, region, credentials: OPERATOR });
  const tokens = makeTokens(await gatehouse.adminToken());
  const { pk, sk, jwk } = tokens.publicKey;
  await commit(table, [claim({ pk, sk }, { jwk }, 'retry')]);
  const passwordHash = await openHasher(pepperKeys, kms).hash('pass');

  const setup: Setup = {
    gatehouse,
    async account(fields = {}) {
      const id = await table.nextId('USER');
      const login = `account-${id}`;
      const person = {
        id,
        login,
        email: `${login}@example.com`,
        activated: true,
        langKey: 'en',
        passwordHash,
      };
      const user = newAccount(
        { ...person, authorities: ['ROLE_ADMIN', 'ROLE_USER'], ...fields },
        'test',
        Date.now(),
      );
      await untilCommitted(() => commit(table, creation(user)));
      return { user, token: tokens.of(user), item: Object.values(entityKey('USER', id)).join('/') };
    },
    async integration(parameters = 0) {
      const { accountStamp } = (await findUser(table, 1)) as User;
      const admin = {
        id: 1,
        roles: ['ROLE_ADMIN'],
        accountStamp,
        jti: 'test',
        passwordChanges: 0,
      } as const;
      const fields = { id: undefined, name: 'Tap', shortName: 'tap', description: undefined };
      const integration = await createIntegration(
        table,
        authorize(table, admin, CreateIntegration.access),
        {
          ...fields,
          integrationType: 'API',
          active: true,
        },
      );
      if (parameters === 0) return integration.id;
      const counters = { parameterCount: parameters, parametersEver: parameters };
      const ids = Array.from({ length: parameters }, (_, index) =>
        parameterId(integration.id, index + 1),
      );
      await untilCommitted(() =>
        commit(table, [
          integrationChanged(integration, {
            ...integration,
            ...counters,
            module: { needsRestart: true, changes: 1 },
          }),
          ...ids.map((id) => {
            const stored = { id, confName: 'Key', confValue: new Uint8Array([1]), version: 1 };
            return claim(entityKey('CONF', id), stored, 'retry');
          }),
          changeTotal('CONF', parameters),
        ]),
      );
      return integration.id;
    },
    async openParameter() {
      const { token } = await setup.account();
      const body = {
        integration: { id: await setup.integration() },
        confName: 'Key',
        confValue: 'value',
      };
      return (await gatehouse.call('POST', '/api/utm-integration-confs', { token, body })).body.id;
    },
    async outdatedHash() {
      const salt = randomBytes(16);
      const cost = { memory: 8192, passes: 1, parallelism: 1 };
      const hash = argon2Sync('argon2id', { message: 'pass', nonce: salt, tagLength: 32, ...cost });
      const command = { KeyId: pepperKey, Message: hash, MacAlgorithm: 'HMAC_SHA_256' } as const;
      const { Mac } = await kms.send(new GenerateMacCommand(command));
      const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64').replace(/=+$/, '');
      const keyId = pepperKey.split('/').at(-1);
      return `$argon2id$v=19$m=8192,t=1,p=1,keyid=${keyId}$${text(salt)}$${text(Mac as Uint8Array)}`;
    },
  };
  return setup;
}

/** Repeats a write until it commits: concurrent preparations update the same counters. */
async function untilCommitted(send: () => Promise<string>): Promise<void> {
  while ((await send()) !== 'committed')
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
}

const stored = (setup: Setup, kind: 'USER' | 'INTEGRATION' | 'CONF', id: number) =>
  setup.gatehouse.table.get(entityKey(kind, id));

/** The number of changes since the creation, by a counter of the item. */
async function changesOf(
  setup: Setup,
  kind: 'USER' | 'INTEGRATION' | 'CONF',
  id: number,
  counter = 'version',
) {
  const count = Number.parseInt(String((await stored(setup, kind, id))?.[counter]), 10);
  return count - (counter === 'passwordChanges' ? 0 : 1);
}

const changeOf = ({ prepare, ...row }: Row): Change => ({
  ...row,
  async prepare(setup) {
    const { token, body, params, ...prepared } = await prepare(setup);
    const [method, path] = methodAndPath(row.route, params);
    return {
      ...prepared,
      request: { method, path, token, body },
      send: () => setup.gatehouse.call(method, path, { token, body, mayCrash: true }),
    };
  },
});

/** Without a password, an invitation is mailed. */
const createUser = (password: string | undefined): Row => ({
  route: 'POST /api/users',
  success: 201,
  // The first request has taken the login.
  repeated: 400,
  async prepare(setup) {
    const { user, token, item } = await setup.account();
    const login = `made-by-${user.id}`;
    const body = { login, email: `${login}@example.com`, authorities: ['ROLE_ADMIN'], password };
    const countChanges = async () =>
      Number((await setup.gatehouse.table.get(loginGuardKey(login))) !== undefined);
    return { item, token, body, countChanges };
  },
});
/** The creation that hashes a password and sends no mail. */
export const CREATION_WITH_PASSWORD = changeOf(createUser('pass'));

const ROWS: readonly Row[] = [
  {
    route: 'POST /api/authenticate',
    success: 200,
    repeated: 200,
    hidesOutcome: true,
    async prepare(setup) {
      const { user, item } = await setup.account({ passwordHash: await setup.outdatedHash() });
      const body = { username: user.login, password: 'pass' };
      const countChanges = async () =>
        Number(String((await stored(setup, 'USER', user.id))?.passwordHash).includes(',t=2,'));
      return { item, body, countChanges };
    },
  },
  {
    route: 'POST /api/account',
    success: 200,
    // An update without a difference writes nothing.
    repeated: 200,
    async prepare(setup) {
      const { user, token, item } = await setup.account();
      const body = { ...user, firstName: 'Changed', email: `changed-${user.login}@example.com` };
      return { item, token, body, countChanges: () => changesOf(setup, 'USER', user.id) };
    },
  },
  {
    route: 'POST /api/account/change-password',
    success: 200,
    // The former password is no longer valid.
    repeated: 400,
    async prepare(setup) {
      const { user, token, item } = await setup.account();
      const body = { currentPassword: 'pass', newPassword: 'word' };
      return {
        item,
        token,
        body,
        countChanges: () => changesOf(setup, 'USER', user.id, 'passwordChanges'),
      };
    },
  },
  {
    route: 'POST /api/account/reset-password/init',
    success: 200,
    repeated: 200,
    changesAgain: true,
    hidesOutcome: true,
    async prepare(setup) {
      const { user, item: read } = await setup.account();
      const { email } = user;
      // Each mail is an item of its own.
      const item = 'RESET-MAIL#*';
      return {
        item,
        read,
        body: { email },
        countChanges: async () => (await setup.gatehouse.mailsTo(email)).length,
      };
    },
  },
  {
    route: 'POST /api/account/reset-password/finish',
    success: 200,
    // A key is valid once.
    repeated: 400,
    async prepare(setup) {
      const { user, item } = await setup.account();
      const { key, write } = newResetKey(user, Date.now());
      await commit(setup.gatehouse.table, [write]);
      const body = { key, newPassword: 'word' };
      return {
        item,
        body,
        countChanges: () => changesOf(setup, 'USER', user.id, 'passwordChanges'),
      };
    },
  },
  createUser(undefined),
  {
    route: 'PUT /api/users',
    success: 200,
    repeated: 200,
    changesAgain: true,
    async prepare(setup) {
      const { token, item } = await setup.account();
      const { user: target } = await setup.account({ authorities: ['ROLE_USER'] });
      const login = `renamed-${target.id}`;
      const body = {
        id: target.id,
        login,
        email: `${login}@example.com`,
        authorities: ['ROLE_ADMIN'],
      };
      return { item, token, body, countChanges: () => changesOf(setup, 'USER', target.id) };
    },
  },
  {
    route: 'DELETE /api/users/{login}',
    success: 200,
    repeated: 404,
    async prepare(setup) {
      const { token, item } = await setup.account();
      const { user: target } = await setup.account();
      const countChanges = async () =>
        Number((await stored(setup, 'USER', target.id)) === undefined);
      return { item, token, params: { login: target.login }, countChanges };
    },
  },
  {
    route: 'POST /api/utm-integrations',
    success: 201,
    repeated: 201,
    changesAgain: true,
    async prepare(setup) {
      const { token, user, item } = await setup.account();
      const name = `Made by ${user.id}`;
      const body = { name, shortName: 'made', integrationType: 'API' };
      const countChanges = async () =>
        (await setup.gatehouse.table.query('INTEGRATION')).filter(
          (integration) => integration.name === name,
        ).length;
      return { item, token, body, countChanges };
    },
  },
  {
    route: 'PUT /api/utm-integrations',
    success: 200,
    repeated: 200,
    changesAgain: true,
    async prepare(setup) {
      const { token, item } = await setup.account();
      const id = await setup.integration();
      const body = {
        id,
        name: 'Changed',
        shortName: 'changed',
        integrationType: 'CLOUD',
        active: false,
      };
      return { item, token, body, countChanges: () => changesOf(setup, 'INTEGRATION', id) };
    },
  },
  {
    route: 'DELETE /api/utm-integrations/{id}',
    success: 200,
    repeated: 404,
    async prepare(setup) {
      const { token, item } = await setup.account();
      const id = await setup.integration(2);
      const countChanges = async () => {
        const left = await Promise.all(
          [1, 2].map((n) => stored(setup, 'CONF', parameterId(id, n))),
        );
        const items = [await stored(setup, 'INTEGRATION', id), ...left].filter(
          (each) => each !== undefined,
        );
        return items.length === 0 ? 1 : items.length === 3 ? 0 : Number.NaN;
      };
      return { item, token, params: { id }, countChanges };
    },
  },
  {
    route: 'POST /api/utm-integrations/{id}/module/restarted',
    success: 200,
    repeated: 200,
    async prepare(setup) {
      const { token, item } = await setup.account();
      const id = await setup.integration(1);
      const countChanges = () => changesOf(setup, 'INTEGRATION', id);
      return { item, token, params: { id }, body: { changes: 1 }, countChanges };
    },
  },
  {
    route: 'POST /api/utm-integration-confs',
    success: 201,
    repeated: 201,
    changesAgain: true,
    async prepare(setup) {
      const { token, item } = await setup.account();
      const id = await setup.integration();
      const body = { integration: { id }, confName: 'Key', confValue: 'value' };
      const countChanges = async () =>
        (await stored(setup, 'INTEGRATION', id))?.parameterCount as number;
      return { item, token, body, countChanges };
    },
  },
  {
    route: 'PUT /api/utm-integration-confs',
    success: 200,
    repeated: 200,
    changesAgain: true,
    async prepare(setup) {
      const { token, item } = await setup.account();
      const id = await setup.integration(1);
      const body = {
        id: parameterId(id, 1),
        integration: { id },
        confName: 'Key',
        confValue: 'other',
      };
      return {
        item,
        token,
        body,
        countChanges: () => changesOf(setup, 'CONF', parameterId(id, 1)),
      };
    },
  },
  {
    route: 'DELETE /api/utm-integration-confs/{id}',
    success: 200,
    repeated: 404,
    async prepare(setup) {
      const { token, item } = await setup.account();
      const id = parameterId(await setup.integration(1), 1);
      const countChanges = async () => Number((await stored(setup, 'CONF', id)) === undefined);
      return { item, token, params: { id }, countChanges };
    },
  },
];

/** One change for every route that writes to the table. */
export const CHANGES: readonly Change[] = ROWS.map(changeOf);
