import assert from 'node:assert/strict';
import { argon2Sync, randomBytes } from 'node:crypto';
import { GenerateMacCommand, KMSClient } from '@aws-sdk/client-kms';
import { OPERATOR } from '../../../infra/local/state/operator.ts';
import { ROLES, SCOPES, type Scope } from '../../../lib/contract/contract.ts';
import type { Integration } from '../../../lib/integrations/integration.ts';
import { credentialKey } from '../../../lib/integrations/integration-items.ts';
import { newClientId, newClientSecret } from '../../../lib/modules/credential.ts';
import { openHasher } from '../../../lib/passwords/hasher.ts';
import {
  type FactorSecrets,
  openFactorSecrets,
} from '../../../lib/second-factor/factor-secrets.ts';
import { newPendingFactor, newRecoveryCodes } from '../../../lib/second-factor/second-factor.ts';
import { commit } from '../../../lib/table/change.ts';
import { entityKey, parameterId } from '../../../lib/table/keys.ts';
import { changeTotal, claim, EXISTS, remove, set, type Write } from '../../../lib/table/write.ts';
import { newApiToken, newTokenSeries } from '../../../lib/tokens/api-token.ts';
import { hashOfSecret } from '../../../lib/tokens/secret.ts';
import { newAccount } from '../../../lib/users/create-user.ts';
import { passwordChange, sessionsAndTokensEnded } from '../../../lib/users/credential-table.ts';
import { apiTokenKey, sessionEnded, sessionStarted } from '../../../lib/users/session-item.ts';
import type { User } from '../../../lib/users/user.ts';
import { creation, deletion, modification } from '../../../lib/users/user-table.ts';
import { storedSession } from '../doubles/stored-items.ts';
import type { Gatehouse } from './launch.ts';
import { decode, makeModuleTokens, makeTokens } from './mint.ts';

/** Creates prerequisites in the table, so that only the function under test runs. */
export interface Setup {
  readonly gatehouse: Gatehouse;
  /** Creates an account with the password `pass`, a token for it, and `<pk>/<sk>` of its item. */
  account(fields?: Partial<User>): Promise<{ user: User; token: string; item: string }>;
  session(user: User): Promise<string>;
  /** Creates an API token of the user with these scopes, or with all. */
  apiToken(
    user: Pick<User, 'id'>,
    scopes?: readonly Scope[],
  ): Promise<{ series: string; token: string }>;
  /** Turns a factor on, or requests one in a session. Returns what its owner knows. */
  secondFactor(
    user: Pick<User, 'id'>,
    pendingIn?: string,
  ): Promise<{ secrets: FactorSecrets; recoveryCodes: readonly string[] }>;
  integration(parameters: number): Promise<number>;
  /** Creates a credential of the module of an integration, and mints a token with it. */
  module(integrationId: number): Promise<{ clientId: string; clientSecret: string; token: string }>;
  /** The id of a parameter whose value KMS can decrypt, the same one each time. */
  openParameter(): Promise<number>;
  /** A hash of the password `pass` at a lower cost than the current one. */
  outdatedHash(): Promise<string>;
}

export async function openSetup(gatehouse: Gatehouse): Promise<Setup> {
  const { cloud, table } = gatehouse;
  const { endpoint, region, pepperKeys } = cloud;
  const [pepperKey = ''] = pepperKeys;
  const kms = new KMSClient({ endpoint, region, credentials: OPERATOR });
  const factorSecrets = openFactorSecrets(factorKeyOf(cloud), kms);
  const tokens = makeTokens(await gatehouse.adminToken());
  const moduleToken = makeModuleTokens(cloud);
  const { pk, sk, jwk } = tokens.publicKey;
  await commit(table, [claim({ pk, sk }, { jwk }, 'retry')]);
  const passwordHash = await openHasher(pepperKeys, kms).hash('pass');
  let openParameter: Promise<number> | undefined;

  const setup: Setup = {
    gatehouse,
    async account(fields = {}) {
      const id = await table.nextId('USER');
      const login = `account-${id}`;
      const person = { id, login, email: `${login}@example.com`, activated: true, langKey: 'en' };
      const authorities = ['ROLE_ADMIN', 'ROLE_USER'] as const;
      const user = newAccount(
        { ...person, passwordHash, authorities, ...fields },
        'test',
        Date.now(),
      );
      const { token, started } = tokens.of(user);
      await untilCommitted(() => commit(table, [...creation(user), started]));
      return { user, token, item: Object.values(entityKey('USER', id)).join('/') };
    },
    async session(user) {
      const expires = Math.floor(Date.now() / 1000) + 3600;
      const session = storedSession(user, { jti: randomBytes(12).toString('base64url'), expires });
      await untilCommitted(() => commit(table, [sessionStarted(user, session)]));
      return session.jti;
    },
    async apiToken({ id }, scopes = SCOPES) {
      const series = newTokenSeries(Date.now());
      const token = newApiToken(id, series);
      const expires = Math.floor(Date.now() / 1000) + 3600;
      const stored = {
        series,
        userId: id,
        hash: hashOfSecret(token),
        name: 'Backup',
        scopes,
        expires,
      };
      const createdDate = new Date().toISOString();
      const key = entityKey('USER', id);
      const { tokens: others = [] } = (await table.get(key)) as Partial<User>;
      await untilCommitted(() =>
        commit(table, [
          set(key, { tokens: [...others, { series, expires }] }, EXISTS),
          claim(apiTokenKey(series), { ...stored, createdDate }, 'retry'),
        ]),
      );
      return { series, token };
    },
    async secondFactor({ id }, pendingIn) {
      const pendingFactor = newPendingFactor(pendingIn ?? 'no session', Date.now());
      const secrets = await factorSecrets(id, pendingFactor);
      const { nonce } = pendingFactor;
      const secondFactor = { nonce, key: secrets.key, lastStep: 0, ...newRecoveryCodes() };
      const attributes = pendingIn === undefined ? { secondFactor } : { pendingFactor };
      await untilCommitted(() => commit(table, [set(entityKey('USER', id), attributes, EXISTS)]));
      return { secrets, recoveryCodes: secrets.recoveryCodes(secondFactor.recoveryNonce) };
    },
    async integration(parameters) {
      const id = await table.nextId('INTEGRATION');
      const integration = {
        id,
        name: 'Tap',
        shortName: 'tap',
        integrationType: 'API',
        active: true,
        version: '1-a',
        revision: 1,
        moduleRevision: 1,
        parameterCount: parameters,
        parametersEver: parameters,
        module: { needsRestart: true, changes: 1 },
      };
      const ids = Array.from({ length: parameters }, (_, index) => parameterId(id, index + 1));
      await untilCommitted(() =>
        commit(table, [
          claim(entityKey('INTEGRATION', id), integration, 'retry'),
          changeTotal('INTEGRATION', 1),
          ...ids.map((id) => {
            const value = { confName: 'Key', confValue: new Uint8Array([1]) };
            const stored = { id, ...value, version: '1-a' };
            return claim(entityKey('CONF', id), stored, 'retry');
          }),
          ...(parameters > 0 ? [changeTotal('CONF', parameters)] : []),
        ]),
      );
      return id;
    },
    async module(integrationId) {
      const [clientId, clientSecret] = [newClientId(integrationId), newClientSecret()];
      const credential = {
        clientId,
        createdDate: new Date().toISOString(),
        createdBy: 'admin',
        expires: new Date(Date.now() + 86_400_000).toISOString(),
      };
      const item = {
        hash: hashOfSecret(clientSecret),
        expires: Math.ceil(Date.parse(credential.expires) / 1000),
      };
      const key = entityKey('INTEGRATION', integrationId);
      const { credentials: replaced = [] } = (await table.get(key)) as Partial<Integration>;
      await untilCommitted(() =>
        commit(table, [
          set(key, { credentials: [credential] }, EXISTS),
          ...replaced.map((each) => remove(credentialKey(each.clientId))),
          claim(credentialKey(clientId), item, 'retry'),
        ]),
      );
      return { clientId, clientSecret, token: await moduleToken(integrationId, clientId) };
    },
    openParameter() {
      openParameter ??= (async () => {
        const { token } = await setup.account({ authorities: ['ROLE_USER'] });
        const integration = { id: await setup.integration(0) };
        const body = { integration, confName: 'Key', confValue: 'value' };
        const path = '/api/utm-integration-confs';
        const { status, text, body: created } = await gatehouse.call('POST', path, { token, body });
        if (status !== 201) throw new Error(`The parameter was not created: ${text}`);
        return created.id;
      })();
      return openParameter;
    },
    async outdatedHash() {
      const salt = randomBytes(16);
      const cost = { memory: 8192, passes: 1, parallelism: 1 };
      const hash = argon2Sync('argon2id', { message: 'pass', nonce: salt, tagLength: 32, ...cost });
      const command = { KeyId: pepperKey, Message: hash, MacAlgorithm: 'HMAC_SHA_256' } as const;
      const { Mac } = await kms.send(new GenerateMacCommand(command));
      const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64').replace(/=+$/, '');
      const keyId = pepperKey.split('/').at(-1);
      const parameters = `$argon2id$v=19$m=8192,t=1,p=1,keyid=${keyId}`;
      return `${parameters}$${text(salt)}$${text(Mac as Uint8Array)}`;
    },
  };
  return setup;
}

/** The key of the second factors of a stack. */
export const factorKeyOf = ({ functions }: Gatehouse['cloud']): string =>
  functions.find(({ environment }) => environment.FACTOR_KEY)?.environment.FACTOR_KEY ?? 'no key';

/** Repeats a write until it commits: concurrent preparations update the same counters. */
async function untilCommitted(send: () => Promise<string>): Promise<void> {
  while ((await send()) !== 'committed')
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
}

/** Changes to a user after the token was issued, as the writes of the rules that make them. */
const LOSSES = {
  demoted: (user) => modification(user, { ...user, authorities: [] }, { voidsResetKeys: false }),
  deactivated: (user) =>
    modification(user, { ...user, activated: false }, { voidsResetKeys: true }),
  'given another password': (user) => [passwordChange(user, 'another')],
  deleted: (user, jti) => deletion(user, [storedSession(user, { jti })]),
  'logged out': ({ id }, jti) => [sessionEnded({ id, jti })],
  'logged out everywhere': (user) => [sessionsAndTokensEnded(user)],
} satisfies Record<string, (user: User, jti: string) => Write[]>;
export type Loss = keyof typeof LOSSES;

/** Makes accounts with all roles, and returns the tokens that they had before they lost them. */
export async function makeTokensOfLost(setup: Setup): Promise<Map<Loss, string>> {
  const tokens = new Map<Loss, string>();
  for (const [loss, writesOf] of Object.entries(LOSSES)) {
    const { user, token } = await setup.account({ authorities: [...ROLES] });
    const writes = writesOf(user, decode(token.split('.')[1]).jti as string);
    assert.equal(await commit(setup.gatehouse.table, writes), 'committed', loss);
    tokens.set(loss as Loss, token);
  }
  return tokens;
}
