import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { authenticatedFetch } from '../../examples/authenticated-fetch.ts';
import { changeValue } from '../../examples/change-parameter.ts';
import { createClient } from '../../examples/client/client/client.gen.ts';
import type { Client } from '../../examples/client/client/types.gen.ts';
import {
  getAccount,
  getParameter,
  listIntegrations,
  updateParameter,
} from '../../examples/client/sdk.gen.ts';
import type { Parameter } from '../../examples/client/types.gen.ts';
import { createWithParameters } from '../../examples/create-integration.ts';
import { followList } from '../../examples/follow-list.ts';
import { type Module, poll } from '../../examples/module.ts';
import { logIn } from '../../examples/session.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { platformToken, testProvider } from '../support/instance/provider.ts';
import { RELEASE } from '../support/instance/run-variables.ts';
import { openSetup } from '../support/instance/setup.ts';

/* The examples for developers of clients, with the generated client and against the service. */

const gatehouse = await useGatehouse();
let client: Client;
beforeAll(async () => {
  client = await logIn(gatehouse.cloud.url, 'admin', 'admin');
});

describe('the scripts', () => {
  let account: Record<string, string> = {};
  const run = async (name: string, ...args: string[]): Promise<string> => {
    const env = { ...process.env, GATEHOUSE_URL: gatehouse.cloud.url, ...account };
    const file = join(import.meta.dirname, '../../examples', `${name}.ts`);
    return (await promisify(execFile)(process.execPath, [file, ...args], { env })).stdout;
  };

  it('create an integration, change its parameter and list the users', async () => {
    const created = await run('create-integration');
    const [, id = ''] = /^Integration \d+ has the parameter (\d+)\n$/.exec(created) ?? [];
    const [changed, listed] = await Promise.all([
      run('change-parameter', id, 'fw2.example.com'),
      run('follow-list'),
    ]);

    expect(changed).toBe('hosts = fw1.example.com,fw2.example.com\n');
    expect(listed).toBe('1 admin\n2 user\n');
    const token = await gatehouse.adminToken();
    const path = '/api/audits?action.equals=session.ended';
    expect((await gatehouse.call('GET', path, { token })).body).toHaveLength(3);
  });

  it('log in with a code, and out', async () => {
    const setup = await openSetup(gatehouse);
    const { user, token } = await setup.account();
    const { recoveryCodes } = await setup.secondFactor(user);
    const [GATEHOUSE_CODE = ''] = recoveryCodes;
    account = { GATEHOUSE_LOGIN: user.login, GATEHOUSE_PASSWORD: 'pass', GATEHOUSE_CODE };

    const listed = await run('follow-list').finally(() => {
      account = {};
    });

    expect(listed).toContain(user.login);
    const sessions = await gatehouse.call('GET', '/api/account/sessions', { token });
    expect(sessions.body).toMatchObject([{ current: true }]);
  });

  it.each([
    ['create-integration', ['--help'], ''],
    ['change-parameter', ['hosts', 'fw2.example.com'], ' ID HOST'],
  ])('%s ends with its usage for the arguments %j', async (name, args, parameters) => {
    const usage = `Usage: npx node examples/${name}.ts${parameters}\n`;

    await expect(run(name, ...args)).rejects.toMatchObject({ code: 2, stdout: '', stderr: usage });
  });
});

it('a request that is rejected with 401 is repeated once with a new token', async () => {
  const tokens = ['another invalid one', await gatehouse.logIn('user')];
  const newToken = async () => tokens.shift() ?? 'none';
  const fetch = authenticatedFetch('invalid', newToken);
  const account = () =>
    getAccount({ client: createClient({ baseUrl: gatehouse.cloud.url, fetch }) });

  const [rejected, accepted, again] = [await account(), await account(), await account()];

  expect([rejected, accepted, again].map(({ response }) => response?.status)).toEqual([
    401, 200, 200,
  ]);
  expect(accepted.data?.login).toBe('user');
});

describe('a change of a parameter', () => {
  const newParameter = async (confValue: string): Promise<Parameter> => {
    const integration = {
      name: 'Firewalls',
      shortName: 'firewalls',
      integrationType: 'COLLECTOR',
    } as const;
    const { parameters } = await createWithParameters(client, integration, { hosts: confValue });
    return parameters[0] as Parameter;
  };

  /** A client, and the statuses of its changes. */
  async function observedClient(): Promise<{ observed: Client; statuses: number[] }> {
    const observed = await logIn(gatehouse.cloud.url, 'admin', 'admin');
    const statuses: number[] = [];
    observed.interceptors.response.use((response, { method }) => {
      if (method === 'PUT') statuses.push(response.status);
      return response;
    });
    return { observed, statuses };
  }

  it('that meets 412 is made again on the current value', async () => {
    const parameter = await newParameter('a');
    const { observed, statuses } = await observedClient();
    observed.interceptors.request.use(async (request) => {
      if (request.method === 'PUT' && statuses.length === 0) {
        await updateParameter({
          client,
          body: { ...parameter, confValue: 'a,b' },
          throwOnError: true,
        });
      }
      return request;
    });

    await changeValue(observed, parameter.id, (value) => `${value},c`);

    const { data } = await getParameter({ client, path: { id: parameter.id } });
    expect(data?.confValue).toBe('a,b,c');
    expect(statuses).toEqual([412, 200]);
  });

  it('fails with any other rejection', async () => {
    const { id } = await newParameter('a');
    const { observed, statuses } = await observedClient();

    await expect(changeValue(observed, id, () => '')).rejects.toMatchObject({
      message: 'error.validation',
    });
    expect(statuses).toEqual([400]);
  });
});

it('a list is followed over all pages, with its filter', async () => {
  const names = ['a & b', 'a & b {id}', 'c & a & b', 'a & b, c', 'A & B > c'];
  for (const name of [...names, 'other'])
    await createWithParameters(client, { name, shortName: 'x', integrationType: 'API' }, {});
  const query = { size: 2, 'name.contains': 'a & b', sort: ['id,asc'] };

  const first = await listIntegrations({ client, query, throwOnError: true });
  const found: string[] = [];
  for await (const { name } of followList(client, first)) found.push(name);

  expect(first.data.length).toBe(2);
  expect(found).toEqual(names);
});

it('a login that is rejected with 429 succeeds after the time in Retry-After', async () => {
  await gatehouse.makeUser('clumsy');
  let lastFailure = 0;
  for (let count = 0; count < 10; count++) {
    lastFailure = performance.now();
    await gatehouse.call('POST', '/api/authenticate', {
      body: { username: 'clumsy', password: 'wrong' },
    });
  }

  const account = await getAccount({
    client: await logIn(gatehouse.cloud.url, 'clumsy', 'clumsy'),
  });

  expect(account.data?.login).toBe('clumsy');
  expect(performance.now() - lastFailure).toBeGreaterThan(1_000);
});

describe('a module', () => {
  it('runs what is wanted, reports what fails, and follows another credential', async () => {
    const setup = await openSetup(gatehouse);
    const token = await gatehouse.adminToken();
    const { body: created } = await gatehouse.call('POST', '/api/utm-integrations', {
      token,
      body: { name: 'Tap', shortName: 'tap', integrationType: 'API' },
    });
    const path = `/api/utm-integrations/${created.id}`;
    const add = (confName: string) =>
      gatehouse.call('POST', '/api/utm-integration-confs', {
        token,
        body: { integration: { id: created.id }, confName, confValue: 'x' },
      });
    const state = async () =>
      (await gatehouse.call('GET', `${path}/module`, { token })).body.module;
    let credential = await setup.module(created.id);
    const applied: string[][] = [];
    const module: Module = {
      url: gatehouse.cloud.url,
      credential: () => credential,
      async apply({ parameters }) {
        const names = parameters.map(({ confName }) => confName);
        applied.push(names);
        if (names.includes('broken')) throw new Error('No such host');
      },
      running: 0,
    };
    // Three reports are recorded in a second.
    const pollLater = async () => {
      await new Promise((resolve) => setTimeout(resolve, 500));
      await poll(module);
    };

    await poll(module);
    const { body: broken } = await add('broken');
    for (let n = 0; n < 3; n++) await pollLater();
    const failed = await state();
    await gatehouse.call('DELETE', `/api/utm-integration-confs/${broken.id}`, { token });
    // Replaces the first one, whose token is refused once.
    credential = await setup.module(created.id);
    for (let n = 0; n < 3; n++) await pollLater();
    const repaired = await state();
    // The machine of the module was reset.
    Object.assign(module, { running: 1, held: undefined });
    await poll(module);

    expect(applied).toEqual([[], ['broken'], [], []]);
    expect(failed).toMatchObject({
      wanted: 2,
      running: 1,
      failed: 2,
      reason: 'Error: No such host',
    });
    expect(repaired).toMatchObject({ wanted: 3, running: 3, failed: null });
    expect(module.running).toBe(3);
  });

  // The release knows no platforms.
  it.skipIf(RELEASE).each([
    ['Kubernetes', 'GATEHOUSE_TOKEN_FILE'],
    ['GitHub Actions', 'ACTIONS_ID_TOKEN_REQUEST_URL'],
    ['AWS', 'PATH'],
  ])('authenticates itself on %s without a secret', async (_, variable) => {
    const { issuer, audience } = testProvider().moduleIssuer;
    const setup = await openSetup(gatehouse);
    const path = `/api/utm-integrations/${await setup.integration(0)}/credentials`;
    const { body } = await gatehouse.call('POST', path, {
      token: await gatehouse.adminToken(),
      body: { identity: { issuer, subject: 'the tap' } },
    });
    const assertion = platformToken(testProvider(), { sub: 'the tap' });
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-platform-'));
    const [file, url] = [join(folder, 'token'), 'http://github.invalid/?a=1'];
    writeFileSync(file, `${assertion}\n`);
    const script = `#!/bin/sh\n[ "$4" = ${audience} ] && echo ${assertion}\n`;
    writeFileSync(join(folder, 'aws'), script, { mode: 0o755 });
    const { fetch } = globalThis;
    vi.stubGlobal('fetch', (target: string, init: RequestInit) =>
      target === `${url}&audience=${encodeURIComponent(audience)}`
        ? Promise.resolve(Response.json({ value: assertion }))
        : fetch(target, init),
    );
    vi.stubEnv('GATEHOUSE_AUDIENCE', audience);
    const values = {
      GATEHOUSE_TOKEN_FILE: file,
      ACTIONS_ID_TOKEN_REQUEST_URL: url,
      PATH: `${folder}:${process.env.PATH}`,
    };
    vi.stubEnv(variable, values[variable as keyof typeof values]);
    onTestFinished(() => {
      vi.unstubAllEnvs();
      vi.unstubAllGlobals();
      rmSync(folder, { recursive: true });
    });
    const module: Module = {
      url: gatehouse.cloud.url,
      credential: () => ({ clientId: body.clientId }),
      apply: async () => {},
      running: 0,
    };

    await poll(module);

    expect(module.running).toBeGreaterThan(0);
  });
});
