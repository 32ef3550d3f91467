import { expect, it } from 'vitest';
import { EXAMPLES, type Example, PLACEHOLDERS } from '../../infra/api-document/examples.ts';
import document from '../../openapi.json' with { type: 'json' };
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { methodAndPath } from '../support/instance/method-and-path.ts';

/* All other tests check every response against the document; these send its examples. */

const gatehouse = await useGatehouse();

it('is served without a token', async () => {
  const { status, headers, body } = await gatehouse.call('GET', '/api/openapi.json');

  expect([status, headers['cache-control']]).toEqual([200, 'public, max-age=300']);
  expect(body).toEqual(document);
});

it('every example has the response that it shows', { timeout: 60_000 }, async () => {
  const token = await gatehouse.adminToken();

  for (const [route, example] of Object.entries(EXAMPLES)) {
    const { status, body } = await send(token, route, example);
    expect([route, status]).toEqual([route, status === 201 ? 201 : 200]);
    if (example.response !== undefined)
      expect(lasting(body), route).toEqual(lasting(example.response));
  }
});

async function send(token: string, route: string, { path, query, body }: Example) {
  const [method, pathname] = methodAndPath(route, path && withRealValues(path));
  return gatehouse.call(method, query ? `${pathname}?${query}` : pathname, {
    token,
    ...(body !== undefined && { body: withRealValues(await withMailedKey(body)) }),
  });
}

/** The body with a key that was mailed, because the key of an example cannot be valid. */
async function withMailedKey(body: unknown): Promise<unknown> {
  return (body as { key?: string }).key === PLACEHOLDERS.key
    ? { ...(body as object), key: await gatehouse.keyMailedTo('etienne@example.com') }
    : body;
}

/**
 * An example with the entities that earlier examples have created, and the caller's own password.
 */
function withRealValues<T>(example: T): T {
  const { userId, integrationId, parameterId, login, ownEmail, foreignEmail } = PLACEHOLDERS;
  const { newEmail, password } = PLACEHOLDERS;
  const realValues = new Map<unknown, () => unknown>([
    [userId, () => 3],
    [integrationId, () => 1],
    [parameterId, () => 1_000_001],
    [login, () => 'etienne'],
    [ownEmail, () => 'ada@example.com'],
    [foreignEmail, () => 'etienne@example.com'],
    [newEmail, () => 'etienne@example.com'],
    [password, () => 'admin'],
  ]);
  return JSON.parse(JSON.stringify(example), (_, value) => realValues.get(value)?.() ?? value);
}

/** A value without what differs from run to run. */
function lasting(value: unknown): unknown {
  const isVolatile = (name: string) => /Date$|^time$|^kid$|^[xy]$|^id_token$/.test(name);
  return JSON.parse(JSON.stringify(value), (name, part) => {
    if (isVolatile(name)) return typeof part;
    // The second key signs the tokens that the tests mint.
    if (name === 'keys') return part.slice(0, 1);
    return typeof part === 'string' && /^[\da-f]{8}-/.test(part) ? 'uuid' : part;
  });
}
