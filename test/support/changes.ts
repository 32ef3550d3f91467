import { argon2Sync, randomBytes } from 'node:crypto';
import { GenerateMacCommand, KMSClient } from '@aws-sdk/client-kms';
import { OPERATOR } from '../../infra/local/state/operator.ts';
import { authorize } from '../../lib/authorization/authorize.ts';
import { createIntegration } from '../../lib/integrations/create-integration.ts';
import { CreateIntegration } from '../../lib/integrations/integration-contracts.ts';
import { integrationChanged } from '../../lib/integrations/integration-table.ts';
import { openPasswords } from '../../lib/passwords/passwords.ts';
import { commit } from '../../lib/table/change.ts';
import { entityKey, loginGuardKey, parameterId } from '../../lib/table/keys.ts';
import { changeTotal, claim } from '../../lib/table/write.ts';
import { newAccount } from '../../lib/users/create-user.ts';
import { newResetKey } from '../../lib/users/reset-key.ts';
import type { User } from '../../lib/users/user.ts';
import { creation, findUser } from '../../lib/users/user-table.ts';
import type { routes } from '../../routes.ts';
import type { Gatehouse, Received } from './gatehouse.ts';
import { makeTokens } from './mint.ts';

/* Every row that changes something, as a request whose effect can be counted. What it needs is written straight into the table, so that no function but the one in question has work. */

type On = (typeof routes)[number]['route'];

/** A request that changes one thing, and that thing. */
export interface Change {
  readonly on: On;
  /** The status when it is done, and when it is asked for once more. */
  readonly success: number;
  readonly repeated: number;
  /** Whether asking once more does it once more: two integrations may look alike, and the same once more is another version. */
  readonly again?: true;
  /** The answer does not say whether it was made: a login goes on without a new hash, and nobody learns which addresses are known. */
  readonly silent?: true;
  prepare(stage: Stage): Promise<Prepared>;
}

export interface Prepared {
  /** `<pk>/<sk>` of an item that each of its transactions names. */
  readonly item: string;
  /** The same of an item that it reads, where that is another one. */
  readonly read?: string;
  send(): Promise<Received>;
  /** How often the change was made. */
  times(): Promise<number>;
}

/** Makes what requests need. */
export interface Stage {
  readonly gatehouse: Gatehouse;
  /** An account with the password `pass`, and a token for it. */
  account(fields?: Partial<User>): Promise<{ user: User; token: string }>;
  /** An integration with so many parameters. */
  integration(parameters?: number): Promise<number>;
  /** A parameter whose value can be read. */
  openParameter(): Promise<number>;
  /** A hash of the password `pass` as it was made when hashing was cheaper. */
  outdatedHash(): Promise<string>;
}

export async function openStage(gatehouse: Gatehouse): Promise<Stage> {
  const { cloud, table } = gatehouse;
  const { endpoint, region, pepperKey } = cloud;
  const kms = new KMSClient({ endpoint, region, credentials: OPERATOR });
  const tokens = makeTokens(await gatehouse.logIn('admin'));
  const { pk, sk, jwk } = tokens.publicKey;
  await commit(table, [claim({ pk, sk }, { jwk }, 'retry')]);
  const passwordHash = await openPasswords(pepperKey, kms).hash('pass');

  const stage: Stage = {
    gatehouse,
    async account(fields = {}) {
      const id = await table.nextId('USER');
      const login = `player-${id}`;
      const person = { id, login, email: `${login}@example.com`, activated: true, langKey: 'en', passwordHash };
      const user = newAccount({ ...person, authorities: ['ROLE_ADMIN', 'ROLE_USER'], ...fields }, 'stage');
      await untilCommitted(() => commit(table, creation(user)));
      return { user, token: tokens.of(user) };
    },
    async integration(parameters = 0) {
      const { accountStamp } = (await findUser(table, 1)) as User;
      const admin = { id: 1, roles: ['ROLE_ADMIN'], accountStamp, jti: 'stage', passwordChanges: 0 } as const;
      const wanted = { id: undefined, name: 'Tap', shortName: 'tap', description: undefined };
      const made = await createIntegration(table, authorize(table, admin, CreateIntegration.access), {
        ...wanted,
        integrationType: 'API',
        active: true,
      });
      if (parameters === 0) return made.id;
      const counters = { parameterCount: parameters, parametersEver: parameters };
      const ids = Array.from({ length: parameters }, (_, index) => parameterId(made.id, index + 1));
      await untilCommitted(() =>
        commit(table, [
          integrationChanged(made, { ...made, ...counters, module: { needsRestart: true, changes: 1 } }),
          ...ids.map((id) => {
            const stored = { id, confName: 'Key', confValue: new Uint8Array([1]), version: 1 };
            return claim(entityKey('CONF', id), stored, 'retry');
          }),
          changeTotal('CONF', parameters),
        ]),
      );
      return made.id;
    },
    async openParameter() {
      const { token } = await stage.account();
      const body = { integration: { id: await stage.integration() }, confName: 'Key', confValue: 'value' };
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
  return stage;
}

/** The stage is set for many at once: its transactions meet. */
async function untilCommitted(send: () => Promise<string>): Promise<void> {
  while ((await send()) !== 'committed') await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
}

const named = (kind: 'USER' | 'INTEGRATION', id: number): string => Object.values(entityKey(kind, id)).join('/');

/** The stored item of an entity, or undefined. */
const stored = (stage: Stage, kind: 'USER' | 'INTEGRATION' | 'CONF', id: number) =>
  stage.gatehouse.table.get(entityKey(kind, id));

/** The number of the changes that an item counts. */
async function changesOf(stage: Stage, kind: 'USER' | 'INTEGRATION' | 'CONF', id: number, counter = 'version') {
  const count = Number.parseInt(String((await stored(stage, kind, id))?.[counter]), 10);
  return count - (counter === 'passwordChanges' ? 0 : 1);
}

/** With a password, or without one: then an invitation is mailed. */
const createUser = (password: string | undefined): Change => ({
  on: 'POST /api/users',
  success: 201,
  // The login is taken: by what was made.
  repeated: 400,
  async prepare(stage) {
    const { user, token } = await stage.account();
    const login = `made-by-${user.id}`;
    const body = { login, email: `${login}@example.com`, authorities: ['ROLE_ADMIN'], password };
    return {
      item: named('USER', user.id),
      send: () => stage.gatehouse.call('POST', '/api/users', { token, body, mayCrash: true }),
      times: async () => Number((await stage.gatehouse.table.get(loginGuardKey(login))) !== undefined),
    };
  },
});
export const CREATION_WITH_PASSWORD = createUser('pass');

export const CHANGES: readonly Change[] = [
  {
    on: 'POST /api/authenticate',
    success: 200,
    repeated: 200,
    silent: true,
    async prepare(stage) {
      const { user } = await stage.account({ passwordHash: await stage.outdatedHash() });
      const body = { username: user.login, password: 'pass' };
      return {
        item: named('USER', user.id),
        send: () => stage.gatehouse.call('POST', '/api/authenticate', { body, mayCrash: true }),
        times: async () => Number(String((await stored(stage, 'USER', user.id))?.passwordHash).includes(',t=2,')),
      };
    },
  },
  {
    on: 'POST /api/account',
    success: 200,
    // What changes nothing is no change.
    repeated: 200,
    async prepare(stage) {
      const { user, token } = await stage.account();
      const body = { ...user, firstName: 'Changed', email: `changed-${user.login}@example.com` };
      return {
        item: named('USER', user.id),
        send: () => stage.gatehouse.call('POST', '/api/account', { token, body, mayCrash: true }),
        times: () => changesOf(stage, 'USER', user.id),
      };
    },
  },
  {
    on: 'POST /api/account/change-password',
    success: 200,
    // The password that was is wrong by now.
    repeated: 400,
    async prepare(stage) {
      const { user, token } = await stage.account();
      const body = { currentPassword: 'pass', newPassword: 'word' };
      return {
        item: named('USER', user.id),
        send: () => stage.gatehouse.call('POST', '/api/account/change-password', { token, body, mayCrash: true }),
        times: () => changesOf(stage, 'USER', user.id, 'passwordChanges'),
      };
    },
  },
  {
    on: 'POST /api/account/reset-password/init',
    success: 200,
    repeated: 200,
    again: true,
    silent: true,
    async prepare(stage) {
      const { user } = await stage.account();
      const { email } = user;
      return {
        // A key is an item of its own.
        item: 'RESET#*',
        read: named('USER', user.id),
        send: () =>
          stage.gatehouse.call('POST', '/api/account/reset-password/init', { body: { email }, mayCrash: true }),
        times: async () => stage.gatehouse.mailsTo(email).length,
      };
    },
  },
  {
    on: 'POST /api/account/reset-password/finish',
    success: 200,
    // The key is used up.
    repeated: 400,
    async prepare(stage) {
      const { user } = await stage.account();
      const { key, write } = newResetKey(user);
      await commit(stage.gatehouse.table, [write]);
      const body = { key, newPassword: 'word' };
      return {
        item: named('USER', user.id),
        send: () => stage.gatehouse.call('POST', '/api/account/reset-password/finish', { body, mayCrash: true }),
        times: () => changesOf(stage, 'USER', user.id, 'passwordChanges'),
      };
    },
  },
  createUser(undefined),
  {
    on: 'PUT /api/users',
    success: 200,
    repeated: 200,
    again: true,
    async prepare(stage) {
      const { token, user } = await stage.account();
      const { user: target } = await stage.account({ authorities: ['ROLE_USER'] });
      const login = `renamed-${target.id}`;
      const body = { id: target.id, login, email: `${login}@example.com`, authorities: ['ROLE_ADMIN'] };
      return {
        item: named('USER', user.id),
        send: () => stage.gatehouse.call('PUT', '/api/users', { token, body, mayCrash: true }),
        times: () => changesOf(stage, 'USER', target.id),
      };
    },
  },
  {
    on: 'DELETE /api/users/{login}',
    success: 200,
    repeated: 404,
    async prepare(stage) {
      const { token, user } = await stage.account();
      const { user: target } = await stage.account();
      return {
        item: named('USER', user.id),
        send: () => stage.gatehouse.call('DELETE', `/api/users/${target.login}`, { token, mayCrash: true }),
        times: async () => Number((await stored(stage, 'USER', target.id)) === undefined),
      };
    },
  },
  {
    on: 'POST /api/utm-integrations',
    success: 201,
    repeated: 201,
    again: true,
    async prepare(stage) {
      const { token, user } = await stage.account();
      const name = `Made by ${user.id}`;
      const body = { name, shortName: 'made', integrationType: 'API' };
      return {
        item: named('USER', user.id),
        send: () => stage.gatehouse.call('POST', '/api/utm-integrations', { token, body, mayCrash: true }),
        times: async () =>
          (await stage.gatehouse.table.query('INTEGRATION')).filter((integration) => integration.name === name).length,
      };
    },
  },
  {
    on: 'PUT /api/utm-integrations',
    success: 200,
    repeated: 200,
    again: true,
    async prepare(stage) {
      const { token, user } = await stage.account();
      const id = await stage.integration();
      const body = { id, name: 'Changed', shortName: 'changed', integrationType: 'CLOUD', active: false };
      return {
        item: named('USER', user.id),
        send: () => stage.gatehouse.call('PUT', '/api/utm-integrations', { token, body, mayCrash: true }),
        times: () => changesOf(stage, 'INTEGRATION', id),
      };
    },
  },
  {
    on: 'DELETE /api/utm-integrations/{id}',
    success: 200,
    repeated: 404,
    async prepare(stage) {
      const { token, user } = await stage.account();
      const id = await stage.integration(2);
      return {
        item: named('USER', user.id),
        send: () => stage.gatehouse.call('DELETE', `/api/utm-integrations/${id}`, { token, mayCrash: true }),
        times: async () => {
          const left = await Promise.all([1, 2].map((n) => stored(stage, 'CONF', parameterId(id, n))));
          const items = [await stored(stage, 'INTEGRATION', id), ...left].filter((item) => item !== undefined);
          return items.length === 0 ? 1 : items.length === 3 ? 0 : Number.NaN;
        },
      };
    },
  },
  {
    on: 'POST /api/utm-integrations/{id}/module/restarted',
    success: 200,
    repeated: 200,
    async prepare(stage) {
      const { token, user } = await stage.account();
      const id = await stage.integration(1);
      const path = `/api/utm-integrations/${id}/module/restarted`;
      return {
        item: named('USER', user.id),
        send: () => stage.gatehouse.call('POST', path, { token, body: { changes: 1 }, mayCrash: true }),
        times: () => changesOf(stage, 'INTEGRATION', id),
      };
    },
  },
  {
    on: 'POST /api/utm-integration-confs',
    success: 201,
    repeated: 201,
    again: true,
    async prepare(stage) {
      const { token, user } = await stage.account();
      const id = await stage.integration();
      const body = { integration: { id }, confName: 'Key', confValue: 'value' };
      return {
        item: named('USER', user.id),
        send: () => stage.gatehouse.call('POST', '/api/utm-integration-confs', { token, body, mayCrash: true }),
        times: async () => (await stored(stage, 'INTEGRATION', id))?.parameterCount as number,
      };
    },
  },
  {
    on: 'PUT /api/utm-integration-confs',
    success: 200,
    repeated: 200,
    again: true,
    async prepare(stage) {
      const { token, user } = await stage.account();
      const id = await stage.integration(1);
      const body = { id: parameterId(id, 1), integration: { id }, confName: 'Key', confValue: 'other' };
      return {
        item: named('USER', user.id),
        send: () => stage.gatehouse.call('PUT', '/api/utm-integration-confs', { token, body, mayCrash: true }),
        times: () => changesOf(stage, 'CONF', parameterId(id, 1)),
      };
    },
  },
  {
    on: 'DELETE /api/utm-integration-confs/{id}',
    success: 200,
    repeated: 404,
    async prepare(stage) {
      const { token, user } = await stage.account();
      const id = parameterId(await stage.integration(1), 1);
      return {
        item: named('USER', user.id),
        send: () => stage.gatehouse.call('DELETE', `/api/utm-integration-confs/${id}`, { token, mayCrash: true }),
        times: async () => Number((await stored(stage, 'CONF', id)) === undefined),
      };
    },
  },
];
