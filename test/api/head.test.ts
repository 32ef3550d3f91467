import { beforeAll, expect, it } from 'vitest';
import { consoleRoutes, routes } from '../../routes.ts';
import { methodAndPath } from '../support/instance/api-document.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import type { Received } from '../support/instance/launch.ts';
import { useAdminAndAnalyst } from '../support/instance/users.ts';

/* HEAD (RFC 9110, 9.3.2): every response to GET, without its body. */

const gatehouse = await useGatehouse();
const tokens = useAdminAndAnalyst(gatehouse);

const reads = [...routes, ...consoleRoutes].flatMap(({ route }) =>
  route.startsWith('GET ') ? [route] : [],
);
let ids: { integration: number; parameter: number };
beforeAll(async () => {
  const create = (path: string, body: object) =>
    gatehouse.call('POST', path, { token: tokens.admin, body });
  const { body: integration } = await create('/api/utm-integrations', {
    name: 'Tap',
    shortName: 'tap',
    integrationType: 'API',
  });
  const { body: parameter } = await create('/api/utm-integration-confs', {
    integration,
    confName: 'k',
    confValue: 'v',
  });
  ids = { integration: integration.id, parameter: parameter.id };
});

/** The headers that differ between any two responses are left out. */
const comparable = ({ status, headers }: Received) => [
  status,
  { ...headers, date: undefined, 'apigw-requestid': undefined },
];

async function expectSame(path: string, token?: string): Promise<number> {
  const get = await gatehouse.call('GET', path, { token });
  const head = await gatehouse.call('HEAD', path, { token });

  expect(comparable(head), path).toEqual(comparable(get));
  expect(head.text, path).toBe('');
  return get.status;
}

it.each(reads)('HEAD is answered like %s, also when it is rejected', async (route) => {
  const id = route.includes('confs') ? ids.parameter : ids.integration;
  const [, path] = methodAndPath(route, { id, login: 'admin', path: 'users' });
  const [, unknown] = methodAndPath(route, { id: 999_000_001, login: 'unknown', path: 'none.js' });

  const statuses = [
    await expectSame(path, tokens.admin),
    await expectSame(path, tokens.analyst),
    await expectSame(path),
  ];
  await expectSame(`${path}?sort=nothing&no.filter=x`, tokens.admin);
  await expectSame(unknown, tokens.admin);

  expect(statuses[0]).toBe(200);
});
