import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { authenticator } from '../../infra/commands/deploy/authenticator.ts';
import { commit } from '../../lib/table/change.ts';
import { nextVersion } from '../../lib/table/write.ts';
import { issuerKeysKey } from '../../lib/tokens/issuer-keys.ts';
import { findLiveSessions } from '../../lib/users/session-item.ts';
import type { User } from '../../lib/users/user.ts';
import { deletion, findUser, modification } from '../../lib/users/user-table.ts';
import { PROTECTED } from '../support/instance/example-requests.ts';
import { startGatehouse } from '../support/instance/gatehouse.ts';
import { openMeanwhile } from '../support/instance/hold-transactions.ts';
import { itemsOf } from '../support/instance/items.ts';
import type { Gatehouse } from '../support/instance/launch.ts';
import { logInForm, testProvider } from '../support/instance/provider.ts';
import { openSetup, type Setup } from '../support/instance/setup.ts';
import { assemblyWith } from '../support/stack/stack.ts';

/*
 * Every endpoint in an environment that requires a second factor of administrators since a day,
 * called by an administrator without one.
 */

const FROM = '2026-01-15';
const provider = testProvider();
const CHANGES = {
  secondFactor: { requiredFor: ['ROLE_ADMIN' as const], from: FROM },
  issuers: [provider.issuer],
};
const REQUIRED = [403, 'error.secondfactorrequired'];

let gatehouse: Gatehouse;
let setup: Setup;
let kmsCalls = 0;
/** What happens before the next change of an integration is committed. */
const meanwhile = openMeanwhile(({ input }) => JSON.stringify(input).includes('"INTEGRATION"'));
beforeAll(async () => {
  gatehouse = await startGatehouse({
    assembly: assemblyWith('dev', CHANGES),
    async intercept(call, forward) {
      if (call.service === 'KMS' && call.functionName) kmsCalls++;
      await meanwhile.before(call);
      return forward();
    },
  });
  setup = await openSetup(gatehouse);
});
afterAll(() => gatehouse.stop());

const outcome = ({ status, body }: { status: number; body: { message?: string } }) => [
  status,
  body?.message,
];
const get = (path: string, token: string) => gatehouse.call('GET', path, { token });
const promoted = (user: User) =>
  commit(
    gatehouse.table,
    modification(
      user,
      { ...user, authorities: ['ROLE_ADMIN'], version: nextVersion(user.version) },
      { voidsResetKeys: false },
    ),
  );

describe.each(PROTECTED)('$route', ({ access, prepare }) => {
  const isExempt = access === 'issued-token' || access === 'enrolling';

  it(`${isExempt ? 'admits' : 'refuses'} an administrator without a second factor`, async () => {
    const { token } = await setup.account();
    const { request } = await prepare(setup);
    const { method, path } = request;
    const send = () => gatehouse.call(method, path, { ...request, token });
    await gatehouse.cloud.mailsHandedOver();
    // The cold start of a function may call KMS.
    if (!isExempt) await send();
    kmsCalls = 0;
    const before = [...(await itemsOf(gatehouse.cloud))];

    const { status, body } = await send();

    if (isExempt) return expect([401, 403]).not.toContain(status);
    // Which all protocols state.
    const detail = expect.stringContaining('requires a second factor');
    expect([status, body?.detail]).toEqual([403, detail]);
    expect([...(await itemsOf(gatehouse.cloud))]).toEqual(before);
    return expect(kmsCalls).toBe(0);
  });
});

it('turning on the factor is all that a session without one needs', async () => {
  const { user } = await setup.account();
  const body = { username: user.login, password: 'pass' };
  const { body: loggedIn } = await gatehouse.call('POST', '/api/authenticate', { body });
  const token = loggedIn.id_token;
  const refused = await get('/api/users', token);
  const before = await get('/api/account', token);
  const path = '/api/account/second-factor';
  const requested = await gatehouse.call('POST', path, {
    token,
    body: { currentPassword: 'pass' },
  });
  const code = authenticator(requested.body.secret).code();
  await gatehouse.call('POST', `${path}/confirm`, { token, body: { code } });

  expect(loggedIn.secondFactorRequiredFrom).toBe(FROM);
  expect(before.body).toMatchObject({ secondFactor: false, secondFactorRequiredFrom: FROM });
  expect(outcome(refused)).toEqual(REQUIRED);
  expect((await get('/api/users', token)).status).toBe(200);
  const change = { token, body: { firstName: 'Ada' } };
  expect((await gatehouse.call('POST', '/api/account', change)).status).toBe(200);
  expect((await get('/api/account', token)).body).toMatchObject({
    secondFactor: true,
    secondFactorRequiredFrom: null,
  });
});

it('requires one again of a session that began with it, once it is turned off', async () => {
  const { user } = await setup.account();
  const { recoveryCodes } = await setup.secondFactor(user);
  const [code, another] = recoveryCodes;
  const body = { username: user.login, password: 'pass', code };
  const token = (await gatehouse.call('POST', '/api/authenticate', { body })).body.id_token;
  const before = await get('/api/users', token);

  const proof = { currentPassword: 'pass', code: another };
  await gatehouse.call('POST', '/api/account/second-factor/disable', { token, body: proof });

  expect(before.status).toBe(200);
  expect(outcome(await get('/api/users', token))).toEqual(REQUIRED);
});

it('requires none of a session whose identity provider had one', async () => {
  // The function that fetches them runs at the start.
  const keys = issuerKeysKey(provider.issuer.issuer);
  await expect.poll(() => gatehouse.table.get(keys)).toBeDefined();
  const claims = { sub: 'ida', preferred_username: 'ida', groups: ['admins'] };
  const logIn = async (others: object) => {
    const body = logInForm(provider, { ...claims, ...others });
    return (await gatehouse.call('POST', '/api/oauth2/token', { body })).body.access_token;
  };
  const [without, withFactor] = [await logIn({}), await logIn({ amr: ['pwd', 'mfa'] })];

  const requiredFrom = async (token: string) =>
    (await get('/api/account', token)).body.secondFactorRequiredFrom;
  expect([await requiredFrom(without), await requiredFrom(withFactor)]).toEqual([FROM, null]);
  expect(outcome(await get('/api/users', without))).toEqual(REQUIRED);
  expect((await get('/api/users', withFactor)).status).toBe(200);
  const sessions = await get('/api/account/sessions', withFactor);
  const current = sessions.body.find((session: { current: boolean }) => session.current);
  const { issuer } = provider.issuer;
  expect(current).toMatchObject({ issuer, secondFactor: true, remembered: false });
  const entries = await get('/api/audits?actor.equals=ida&size=1', withFactor);
  expect(entries.body).toMatchObject([
    {
      action: 'session.started',
      changes: [{ field: 'issuer', to: issuer }],
      session: current.series,
      source: current.ipAddress,
    },
  ]);
});

it('a role that requires a factor counts with the next request', async () => {
  const { user, token } = await setup.account({ authorities: ['ROLE_USER'] });
  const asUser = await get('/api/users', token);

  await promoted(user);

  expect(asUser.status).toBe(200);
  expect(outcome(await get('/api/users', token))).toEqual(REQUIRED);
});

it('a change is refused if its caller is granted such a role before it is committed', async () => {
  const { user, token } = await setup.account({ authorities: ['ROLE_USER'] });
  const id = await setup.integration(0);
  const body = { id, name: 'x', shortName: 'x', integrationType: 'API', active: true };

  const received = await meanwhile.during(
    () => gatehouse.call('PUT', '/api/utm-integrations', { token, body }),
    () => promoted(user),
  );

  expect(outcome(received)).toEqual(REQUIRED);
});

it('a deleted administrator without a factor reads no more than before', async () => {
  const [without, having] = [await setup.account(), await setup.account()];
  await setup.secondFactor(having.user);
  for (const { user } of [without, having]) {
    const stored = (await findUser(gatehouse.table, user.id)) as User;
    await commit(
      gatehouse.table,
      deletion(stored, await findLiveSessions(gatehouse.table, stored)),
    );
  }

  expect(outcome(await get('/api/users', without.token))).toEqual(REQUIRED);
  expect((await get('/api/users', having.token)).status).toBe(200);
});
