import { describe, expect, it } from 'vitest';
import { type Connection, connect } from '../../console/api/request.ts';

interface Sent {
  readonly url: string;
  readonly init: RequestInit;
}

function connection(responses: (Response | Error)[], overrides: Partial<Connection> = {}) {
  const sent: Sent[] = [];
  const send = connect({
    fetch: async (url, init = {}) => {
      sent.push({ url: String(url), init });
      const response = responses.shift();
      if (!(response instanceof Response)) throw response ?? new Error('No response is left');
      return response;
    },
    token: () => 'token-1',
    resume: async () => false,
    onFactorRequired: () => undefined,
    ...overrides,
  });
  return { send, sent };
}

const problem = (status: number, body: object, headers = {}): Response =>
  new Response(JSON.stringify(body), { status, headers });

describe('a request', () => {
  it('encodes its path and leaves out filters that are not set', async () => {
    const { send, sent } = connection([Response.json({}), Response.json([])]);

    await send('GET /api/users/{login}', { path: { login: 'a&b=^' } });
    await send('GET /api/users', { query: { 'login.contains': 'ä', page: '', size: 20 } });

    expect(sent.map(({ url }) => url)).toEqual([
      '/api/users/a%26b%3D%5E',
      '/api/users?login.contains=%C3%A4&size=20',
    ]);
  });

  it('carries the token, the ETag and the body, and no cookies', async () => {
    const { send, sent } = connection([Response.json({})]);

    await send('DELETE /api/users/{login}', { path: { login: 'bob' } }, { ifMatch: '"1-a"' });

    expect(sent[0]?.init).toMatchObject({
      method: 'DELETE',
      credentials: 'omit',
      headers: { Authorization: 'Bearer token-1', 'If-Match': '"1-a"' },
    });
  });

  it('returns the data with ETag, total and the pages of the Link header', async () => {
    const headers = {
      ETag: '"1-a"',
      'X-Total-Count': '57',
      Link: '</api/users?login.contains=%C3%A4&cursor=YWZ>; rel="next",</api/users?page=2>; rel="last"',
    };
    const { send } = connection([Response.json([], { headers })]);

    expect(await send('GET /api/users', {})).toMatchObject({
      ok: true,
      etag: '"1-a"',
      total: 57,
      links: { next: { 'login.contains': 'ä', cursor: 'YWZ' }, last: { page: '2' } },
    });
  });
});

describe('a problem', () => {
  it('is data, with the seconds to wait', async () => {
    const body = { message: 'error.http.429', status: 429 };
    const { send } = connection([problem(429, body, { 'Retry-After': '32' })]);

    expect(await send('GET /api/users', {})).toEqual({
      ok: false,
      problem: { ...body, fieldErrors: [], retryAfterSeconds: 32 },
    });
  });

  it.each([
    ['API Gateway', '{"message":"Service Unavailable"}'],
    ['an edge', '<html>502</html>'],
    ['a proxy', 'null'],
  ])('of %s has the message of its status', async (_, text) => {
    const { send } = connection([new Response(text, { status: 503 })]);

    expect(await send('GET /api/users', {})).toMatchObject({
      ok: false,
      problem: { status: 503, message: 'error.http.503', fieldErrors: [] },
    });
  });

  it('of the network is told if a proxy has responded', async () => {
    const { send } = connection([new Response('<html>Log in to the network</html>')]);

    expect(await send('GET /api/users', {})).toMatchObject({
      ok: false,
      problem: { status: 0, message: 'error.network' },
    });
  });

  it('reports that a second factor is required', async () => {
    let reported = false;
    const { send } = connection([problem(403, { message: 'error.secondfactorrequired' })], {
      onFactorRequired: () => {
        reported = true;
      },
    });

    await send('GET /api/users', {});

    expect(reported).toBe(true);
  });
});

describe('a session that has ended', () => {
  const ended = (): Response => problem(401, { message: 'error.http.401' });

  it('refuses the request if the password is not given', async () => {
    const { send, sent } = connection([ended()]);

    expect(await send('GET /api/users', {})).toMatchObject({ problem: { status: 401 } });
    expect(sent).toHaveLength(1);
  });

  it('asks once if another request has got a new token in the meantime', async () => {
    let asked = 0;
    const tokens = ['token-1', 'token-2', 'token-2', 'token-2'];
    const { send } = connection([ended(), Response.json([])], {
      token: () => tokens.shift(),
      resume: async () => {
        asked += 1;
        return true;
      },
    });

    expect(await send('GET /api/users', {})).toMatchObject({ ok: true });
    expect(asked).toBe(0);
  });

  it('does not go on as another user who has logged in in the meantime', async () => {
    const tokens = ['1', '2'].map((sub) => `.${btoa(JSON.stringify({ sub }))}.`);
    const { send, sent } = connection([ended()], { token: () => tokens.shift() });

    expect(await send('GET /api/users', {})).toMatchObject({ problem: { status: 401 } });
    expect(sent).toHaveLength(1);
  });
});
