import { expect, it } from 'vitest';
import document from '../../openapi.json' with { type: 'json' };
import { methodAndPath } from '../support/instance/api-document.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { INTEGRATION } from '../support/instance/integrations.ts';

/*
 * The examples of openapi.json as the API reference sends them: unedited, and with the token of an
 * administrator.
 */

const gatehouse = await useGatehouse();

interface Operation {
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly example?: string | number;
  }[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly example: unknown }>>;
  };
}
type Request = readonly [
  method: string,
  path: string,
  sent: { token?: string; body?: unknown; headers?: Record<string, string> },
];

/** The requests of an operation: one for each media type of its body. */
function requestsOf(route: string, { parameters = [], requestBody }: Operation): Request[] {
  const values = parameters
    .filter((parameter) => parameter.in === 'path')
    .map(({ name, example = '' }) => [name, example]);
  const [method, path] = methodAndPath(route, Object.fromEntries(values));
  if (!requestBody) return [[method, path, {}]];
  return Object.entries(requestBody.content).map(([type, { example }]) => [
    method,
    path,
    { body: example, headers: { 'Content-Type': type } },
  ]);
}

it('the examples of all operations leave existing data and accounts unchanged', async () => {
  const token = await gatehouse.adminToken();
  const call = (...[method, path, sent]: Request) =>
    gatehouse.call(method, path, { token, ...sent });
  // The ids 3 and 1 are those that the responses in the document show.
  await gatehouse.makeUser('etienne');
  const { body: integration } = await call('POST', '/api/utm-integrations', { body: INTEGRATION });
  const parameter = { integration, confName: 'port', confValue: '6514' };
  await call('POST', '/api/utm-integration-confs', { body: parameter });
  const lists = ['/api/users', '/api/utm-integrations', '/api/utm-integration-confs'];
  const existing = async () =>
    Promise.all(
      lists.map(async (path) => {
        const { body } = await call('GET', `${path}?id.lessThan=2000000&sort=id,asc`, {});
        return body.map(({ lastLogin: _, ...entity }: Record<string, unknown>) => entity);
      }),
    );
  const before = await existing();

  const requests = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) =>
      requestsOf(`${method.toUpperCase()} ${path}`, operation as Operation),
    ),
  );
  for (const [method, path, sent] of requests) {
    // It ends the session of its token.
    const own = path === '/api/logout' && { token: await gatehouse.logIn('admin') };
    await call(method, path, { ...sent, ...own });
  }

  const after = await existing();
  expect(requests.length).toBeGreaterThan(30);
  expect(before.map(({ length }) => length)).toEqual([3, 1, 1]);
  for (const [index, entities] of before.entries())
    expect(after[index].slice(0, entities.length)).toEqual(entities);
  expect(await gatehouse.logIn('admin')).toBeTruthy();
  expect(await gatehouse.logIn('user')).toBeTruthy();
  expect(await gatehouse.mailsTo('etienne@example.com')).toEqual([]);
});
