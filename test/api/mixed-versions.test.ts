import { afterAll, expect, inject, it } from 'vitest';
import { type Gatehouse, launch } from '../support/instance/launch.ts';
import { seed } from '../support/instance/run-variables.ts';
import { RELEASE_COMMIT, releasedAssembly } from '../support/release/release.ts';

/*
 * The life of users and integrations while each request is served by the functions of a release or
 * the present ones, as during a canary, an upgrade and a rollback: whatever one side writes, the
 * other reads and changes. `npm run test:mixed` does the same with all tests of the API.
 */

const ROUNDS = 12;

const running: Gatehouse[] = [];
afterAll(async () => {
  for (const gatehouse of running) await gatehouse.stop();
});

const release = releasedAssembly('dev');

it.runIf(release)(`${RELEASE_COMMIT} and this source serve one table (SEED=${seed})`, async () => {
  const gatehouse = await launch({ assembly: inject('assembly'), release });
  running.push(gatehouse);
  const call = (method: string, path: string, token: string, body?: object) =>
    gatehouse.call(method, path, { token, body });
  for (let round = 0; round < ROUNDS; round++) {
    const login = `ann-${round}`;
    // A log-in each: both sides accept the tokens and the hashes of the other.
    const admin = await gatehouse.logIn('admin');
    const user = await gatehouse.makeUser(login, { authorities: ['ROLE_USER'] });
    const renamed = { ...user, firstName: 'Ann', email: `${login}@example.org` };
    expect(await call('PUT', '/api/users', admin, renamed)).toMatchObject({
      status: 200,
      body: { firstName: 'Ann' },
    });
    const own = await gatehouse.logIn(login);
    const passwords = { currentPassword: login, newPassword: `${login}!` };
    expect(await call('POST', '/api/account/change-password', own, passwords)).toMatchObject({
      status: 200,
    });
    const again = await gatehouse.logIn(login, `${login}!`);
    expect(await call('GET', '/api/account', again)).toMatchObject({
      status: 200,
      body: { login, firstName: 'Ann' },
    });
    expect(
      await call('POST', '/api/users', admin, { login, email: 'other@example.org' }),
    ).toMatchObject({ status: 400 });

    const fields = { name: 'Gate', shortName: 'gate', integrationType: 'API' };
    const { body: integration } = await call('POST', '/api/utm-integrations', admin, fields);
    const { body: parameter } = await call('POST', '/api/utm-integration-confs', admin, {
      integration: { id: integration.id },
      confName: 'Key',
      confValue: `secret ${round}`,
    });
    const path = `/api/utm-integration-confs/${parameter.id}`;
    expect(await call('GET', path, admin)).toMatchObject({
      status: 200,
      body: { confValue: `secret ${round}` },
    });
    const changed = { ...parameter, confValue: 'changed' };
    expect(await call('PUT', '/api/utm-integration-confs', admin, changed)).toMatchObject({
      status: 200,
    });
    expect(await call('GET', path, admin)).toMatchObject({
      status: 200,
      body: { confValue: 'changed' },
    });
    if (round % 2 === 0) continue;
    expect(await call('DELETE', `/api/utm-integrations/${integration.id}`, admin)).toMatchObject({
      status: 200,
    });
    expect(await call('GET', path, admin)).toMatchObject({ status: 404 });
    expect(await call('DELETE', `/api/users/${login}`, admin)).toMatchObject({ status: 200 });
  }
  const { body: users } = await call('GET', '/api/users?size=100', await gatehouse.logIn('admin'));

  expect(users).toHaveLength(2 + ROUNDS / 2);
  await gatehouse.assertNoViolations();
});
