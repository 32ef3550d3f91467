import { beforeAll, expect, it } from 'vitest';
import type { Mail } from '../../infra/local/aws/mailbox.ts';
import { routes } from '../../routes.ts';
import { type Received, useGatehouse } from '../support/instance/gatehouse.ts';
import type { Sent } from '../support/instance/launch.ts';

/* The status and headers of every successful response. */

const gatehouse = await useGatehouse();

/** Headers that only some responses have. */
const SPECIAL = [
  'location',
  'etag',
  'x-gatehouseapp-alert',
  'x-gatehouseapp-params',
  'x-total-count',
  'link',
];
const specialOf = ({ headers }: Received) =>
  Object.fromEntries(
    [...SPECIAL, 'authorization'].flatMap((name) =>
      headers[name] === undefined ? [] : [[name, headers[name]]],
    ),
  );
const ETAG = (count: number) => expect.stringMatching(new RegExp(`^"${count}-[\\da-f-]{36}"$`));
const alert = (message: string, params: string | number) => ({
  'x-gatehouseapp-alert': message,
  'x-gatehouseapp-params': String(params),
});
const onePage = (path: string, total?: number) => ({
  ...(total !== undefined && { 'x-total-count': String(total) }),
  link: [...(total === undefined ? [] : ['last']), 'first']
    .map((relation) => `<${path}?page=0&size=20>; rel="${relation}"`)
    .join(),
});

const USERS = '/api/users';
const INTEGRATIONS = '/api/utm-integrations';
const PARAMETERS = '/api/utm-integration-confs';
const LOGIN = 'odd&login';
const ENCODED = 'odd%26login';

let admin: string;
beforeAll(async () => {
  admin = await gatehouse.adminToken();
});

// The timeout covers a cold start of every function.
it('every route responds with exactly the expected status and headers', {
  timeout: 60_000,
}, async () => {
  const actual: Record<string, [status: number, hasBody: boolean, headers: object]> = {};
  const expected: typeof actual = {};
  async function send(
    route: string,
    path: string,
    wanted: [number, boolean, object],
    sent: Sent = {},
  ) {
    const response = await gatehouse.call(route.split(' ')[0] ?? '', path, {
      token: admin,
      ...sent,
    });
    actual[route] = [response.status, response.text !== '', specialOf(response)];
    expected[route] = wanted;
    return response;
  }
  const open: Sent = { token: undefined };
  const done: [number, boolean, object] = [200, false, {}];

  const person = { login: LOGIN, email: 'odd@example.com' };
  const user = await send(
    `POST ${USERS}`,
    USERS,
    [
      201,
      true,
      {
        location: `${USERS}/${ENCODED}`,
        etag: ETAG(1),
        ...alert('userManagement.created', ENCODED),
      },
    ],
    { body: person },
  );
  await send(`GET ${USERS}/{login}`, `${USERS}/${ENCODED}`, [
    200,
    true,
    { etag: user.headers.etag },
  ]);
  const readUser = { ...user.body, firstName: 'Odd' };
  const changedUser = { etag: ETAG(2), ...alert('userManagement.updated', ENCODED) };
  await send(`PUT ${USERS}`, USERS, [200, true, changedUser], { body: readUser });
  await send(`GET ${USERS}`, USERS, [200, true, onePage(USERS, 3)]);
  await send(`GET ${USERS}/authorities`, `${USERS}/authorities`, [200, true, {}]);

  const mails = (await (await fetch(`${gatehouse.cloud.endpoint}/mailbox.json`)).json()) as Mail[];
  const [, key] =
    /key=([\w-]+)/.exec(mails.findLast(({ to }) => to.includes(person.email))?.text ?? '') ?? [];
  const reset = '/api/account/reset-password';
  await send(`POST ${reset}/finish`, `${reset}/finish`, done, {
    ...open,
    body: { key, newPassword: 'first' },
  });
  await send(`POST ${reset}/init`, `${reset}/init`, done, {
    ...open,
    body: { email: 'nobody@example.com' },
  });
  const login = await send(
    'POST /api/authenticate',
    '/api/authenticate',
    [200, true, { authorization: expect.stringMatching(/^Bearer [\w.-]+$/) }],
    { ...open, body: { username: LOGIN, password: 'first' } },
  );
  const own: Sent = { token: login.body.id_token };
  await send('GET /api/account', '/api/account', [200, true, {}], own);
  await send('POST /api/account', '/api/account', done, { ...own, body: { lastName: 'L' } });
  const passwords = { currentPassword: 'first', newPassword: 'next' };
  await send('POST /api/account/change-password', '/api/account/change-password', done, {
    ...own,
    body: passwords,
  });
  const read = await gatehouse.call('GET', `${USERS}/${ENCODED}`, { token: admin });
  const removed = alert('userManagement.deleted', ENCODED);
  await send(`DELETE ${USERS}/{login}`, `${USERS}/${ENCODED}`, [200, false, removed]);

  const fields = { name: 'Tap', shortName: 'tap', integrationType: 'API' };
  const integration = await gatehouse.call('POST', INTEGRATIONS, { token: admin, body: fields });
  const { id } = integration.body;
  const named = (event: string) => alert(`gatehouseApp.utmIntegration.${event}`, id);
  const second = { location: `${INTEGRATIONS}/${id + 1}`, etag: ETAG(1) };
  const secondAlert = alert('gatehouseApp.utmIntegration.created', id + 1);
  await send(`POST ${INTEGRATIONS}`, INTEGRATIONS, [201, true, { ...second, ...secondAlert }], {
    body: fields,
  });
  const path = `${INTEGRATIONS}/${id}`;
  await send(`GET ${INTEGRATIONS}/{id}`, path, [200, true, { etag: integration.headers.etag }]);
  const changed = { ...integration.body, name: 'Tap 2' };
  await send(
    `PUT ${INTEGRATIONS}`,
    INTEGRATIONS,
    [200, true, { etag: ETAG(2), ...named('updated') }],
    {
      body: changed,
    },
  );
  await send(`GET ${INTEGRATIONS}`, INTEGRATIONS, [200, true, onePage(INTEGRATIONS, 2)]);
  await send(`GET ${INTEGRATIONS}/count`, `${INTEGRATIONS}/count`, [200, true, {}]);

  const confId = id * 1_000_000 + 1;
  const namedConf = (event: string) => alert(`gatehouseApp.utmIntegrationConf.${event}`, confId);
  const parameter = await send(
    `POST ${PARAMETERS}`,
    PARAMETERS,
    [201, true, { location: `${PARAMETERS}/${confId}`, etag: ETAG(1), ...namedConf('created') }],
    { body: { integration: { id }, confName: 'k', confValue: 'v' } },
  );
  const confPath = `${PARAMETERS}/${confId}`;
  await send(`GET ${PARAMETERS}/{id}`, confPath, [200, true, { etag: parameter.headers.etag }]);
  await send(
    `PUT ${PARAMETERS}`,
    PARAMETERS,
    [200, true, { etag: ETAG(2), ...namedConf('updated') }],
    {
      body: parameter.body,
    },
  );
  await send(`GET ${PARAMETERS}`, PARAMETERS, [200, true, onePage(PARAMETERS, 1)]);
  await send(`GET ${PARAMETERS}/count`, `${PARAMETERS}/count`, [200, true, {}]);
  // The changed parameter raised the version of its integration from 2 to 3, and the report raises
  // it to 4.
  const restarted: [number, boolean, object] = [200, true, { etag: ETAG(4), ...named('updated') }];
  const report = { body: { changes: 1 } };
  await send(
    `POST ${INTEGRATIONS}/{id}/module/restarted`,
    `${path}/module/restarted`,
    restarted,
    report,
  );
  await send(`DELETE ${PARAMETERS}/{id}`, confPath, [200, false, namedConf('deleted')]);
  await send(`DELETE ${INTEGRATIONS}/{id}`, path, [200, false, named('deleted')]);

  await send('GET /api/audits', '/api/audits?size=1', [
    200,
    true,
    { link: expect.stringMatching(/^<.*rel="next"/) },
  ]);
  await send('GET /api/health', '/api/health', [200, true, {}], open);
  await send('GET /management/info', '/management/info', [200, true, {}], open);
  await send('GET /api/openapi.json', '/api/openapi.json', [200, true, {}], open);
  await send('GET /.well-known/jwks.json', '/.well-known/jwks.json', [200, true, {}], open);

  expect(actual).toEqual(expected);
  expect(Object.keys(actual).toSorted()).toEqual(routes.map(({ route }) => route).toSorted());
  // The update and the account change raised the version of the user; the password changes and the
  // login did not.
  expect(read.headers.etag).toEqual(ETAG(3));
});
