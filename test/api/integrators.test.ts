import { beforeAll, describe, expect, it } from 'vitest';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { INTEGRATION } from '../support/instance/integrations.ts';

const gatehouse = await useGatehouse();

const PARAMETER = { confName: 'api key', confValue: 'T0p-s3cret' };
const LISTS = ['/api/utm-integrations', '/api/utm-integration-confs'] as const;

let user: string;
let admin: string;

beforeAll(async () => {
  [user, admin] = await Promise.all([gatehouse.tokenOf('user'), gatehouse.adminToken()]);
});

/**
 * Tries every operation on an integration and one of its parameters; returns the status of each.
 */
async function tryAll(token: string): Promise<Record<string, number>> {
  const [integrations, parameters] = LISTS;
  const { body: integration } = await gatehouse.call('POST', integrations, {
    token: user,
    body: INTEGRATION,
  });
  const own = { ...PARAMETER, integration: { id: integration.id } };
  const { body: parameter } = await gatehouse.call('POST', parameters, { token: user, body: own });
  const attempt = async (method: string, path: string, body?: unknown) =>
    (await gatehouse.call(method, path, { token, body })).status;
  return {
    'list integrations': await attempt('GET', integrations),
    'read an integration': await attempt('GET', `${integrations}/${integration.id}`),
    'create an integration': await attempt('POST', integrations, INTEGRATION),
    'update an integration': await attempt('PUT', integrations, {
      ...integration,
      name: 'Changed',
    }),
    'list parameters': await attempt('GET', parameters),
    'read a parameter': await attempt('GET', `${parameters}/${parameter.id}`),
    'create a parameter': await attempt('POST', parameters, own),
    'update a parameter': await attempt('PUT', parameters, parameter),
    'delete a parameter': await attempt('DELETE', `${parameters}/${parameter.id}`),
    'delete an integration': await attempt('DELETE', `${integrations}/${integration.id}`),
  };
}

const ALL = {
  'list integrations': 200,
  'read an integration': 200,
  'create an integration': 201,
  'update an integration': 200,
  'list parameters': 200,
  'read a parameter': 200,
  'create a parameter': 201,
  'update a parameter': 200,
  'delete a parameter': 200,
  'delete an integration': 200,
};
const READ_INTEGRATIONS_ONLY = {
  ...Object.fromEntries(Object.keys(ALL).map((operation) => [operation, 403])),
  'list integrations': 200,
  'read an integration': 200,
};

const readAll = () =>
  Promise.all(
    LISTS.map(
      async (path) => (await gatehouse.call('GET', `${path}?size=100`, { token: user })).body,
    ),
  );

describe('integrations and their parameters', () => {
  it.each(['ROLE_ADMIN', 'ROLE_USER'])('are accessible with the role %s alone', async (role) => {
    const { token } = await gatehouse.makeCaller(role, { authorities: [role] });

    expect(await tryAll(token)).toEqual(ALL);
  });

  it.each([[['ROLE_ANALYST']], [[]]])(
    'are inaccessible with the roles %j, except for reading integrations',
    async (authorities) => {
      const { token } = await gatehouse.makeCaller(`holds-${authorities.length}`, { authorities });

      expect(await tryAll(token)).toEqual(READ_INTEGRATIONS_ONLY);
    },
  );

  it.each([
    ['demoted', { authorities: ['ROLE_ANALYST'] }],
    ['deactivated', { activated: false }],
    ['deleted', undefined],
  ])(
    'are inaccessible right after the caller was %s, whatever roles the token has',
    async (login, change) => {
      const { user: made, token } = await gatehouse.makeCaller(login, {
        authorities: ['ROLE_USER'],
      });
      const { id, email } = made;
      const { status } = change
        ? await gatehouse.call('PUT', '/api/users', {
            token: admin,
            body: { id, login, email, ...change },
          })
        : await gatehouse.call('DELETE', `/api/users/${login}`, { token: admin });

      expect(status).toBe(200);
      expect(await tryAll(token)).toEqual(READ_INTEGRATIONS_ONLY);
    },
  );

  it('are accessible right after the caller was promoted', async () => {
    const { user: made, token } = await gatehouse.makeCaller('rising', {
      authorities: ['ROLE_ANALYST'],
    });
    const { id, login, email } = made;
    const body = { id, login, email, authorities: ['ROLE_USER'] };
    await gatehouse.call('PUT', '/api/users', { token: admin, body });

    expect(await tryAll(token)).toEqual(ALL);
  });

  it('are unchanged after changes that are rejected with 403', async () => {
    const { token } = await gatehouse.makeCaller('onlooker', { authorities: ['ROLE_ANALYST'] });
    const { body: integration } = await gatehouse.call('POST', LISTS[0], {
      token: user,
      body: INTEGRATION,
    });
    const own = { ...PARAMETER, integration };
    const { body: parameter } = await gatehouse.call('POST', LISTS[1], { token: user, body: own });
    const before = await readAll();

    await gatehouse.call('POST', LISTS[0], { token, body: INTEGRATION });
    await gatehouse.call('PUT', LISTS[0], { token, body: { ...integration, active: false } });
    await gatehouse.call('DELETE', `${LISTS[0]}/${integration.id}`, { token });
    await gatehouse.call('POST', LISTS[1], { token, body: own });
    await gatehouse.call('PUT', LISTS[1], { token, body: { ...parameter, confValue: 'changed' } });
    await gatehouse.call('DELETE', `${LISTS[1]}/${parameter.id}`, { token });

    expect(await readAll()).toEqual(before);
  });

  it('do not reveal their existence to unauthorized callers: unknown ids return 403', async () => {
    const { token } = await gatehouse.makeCaller('curious', { authorities: ['ROLE_ANALYST'] });
    const unknown = { ...PARAMETER, id: 777_777_000_001, integration: { id: 777_777 } };

    const responses = [
      await gatehouse.call('PUT', LISTS[0], {
        token,
        body: { ...INTEGRATION, id: 777_777, active: true },
      }),
      await gatehouse.call('DELETE', `${LISTS[0]}/777777`, { token }),
      await gatehouse.call('POST', LISTS[1], { token, body: { ...unknown, id: null } }),
      await gatehouse.call('PUT', LISTS[1], { token, body: unknown }),
      await gatehouse.call('DELETE', `${LISTS[1]}/777777000001`, { token }),
      await gatehouse.call('GET', `${LISTS[1]}/777777000001`, { token }),
    ];

    expect(responses.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403, 403]);
  });
});
