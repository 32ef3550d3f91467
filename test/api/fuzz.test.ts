import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { EXAMPLES, fillExample } from '../../infra/api-document/examples.ts';
import { type Route, routes } from '../../routes.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { seed } from '../support/instance/run-variables.ts';

/*
 * Requests of each route with corrupted parts. SEED=n npx vitest run test/api/fuzz.test.ts repeats
 * the same requests; REQUESTS=n sends n of them to each row.
 */

const REQUESTS = Number(process.env.REQUESTS ?? 4);

const gatehouse = await useGatehouse();

/** What the test has made. */
const VALUES = {
  userId: 3,
  integrationId: 1,
  parameterId: 1_000_001,
  ownEmail: 'fuzz@example.com',
  newEmail: 'made@example.com',
  foreignEmail: 'nobody@example.com',
  shownLogin: 'made',
  shownEmail: 'made@example.com',
};
beforeAll(async () => {
  const token = await gatehouse.adminToken();
  const body = { name: 'Tap', shortName: 'tap', integrationType: 'API' };
  const { body: integration } = await gatehouse.call('POST', '/api/utm-integrations', {
    token,
    body,
  });
  const parameter = { confName: 'Key', confValue: 'value', integration };
  await gatehouse.call('POST', '/api/utm-integration-confs', { token, body: parameter });
  await gatehouse.makeUser('made');
});

/** With sessions of their own: requests before may have ended others, or deleted the users. */
async function newAuthorizations(): Promise<(string | string[])[]> {
  const tokenOf = (login: string) => gatehouse.tokenOf(login).catch(() => 'gone');
  const [token, user] = [await tokenOf('admin'), await tokenOf('user')];
  const [valid, corrupted] = [`Bearer ${token}`, `Bearer ${token.slice(0, -9)}${token.slice(-8)}`];
  return [
    ...Array(12).fill(valid),
    `Bearer ${user}`,
    corrupted,
    [valid, valid],
    'Bearer \xff\xfe.e30.__',
    '',
  ];
}

const TEXTS = [
  ...['', ' ', '\0', '\r\nX-Injected: yes', '\uD800', 'a\uDFFFb', '\u202Eabc', '😀', 'İıßﬁK'],
  ...['e\u0301', '\uFF20\uFF0C', '__proto__', 'constructor', 'toString', 'null', 'NaN', 'true'],
  ...['../..', '.', '%00', '%', '%zz', '%2e%2e%2f', "' OR 1=1 --", '{{7*7}}', '<script>', '*'],
  ...['#n', ':v', 'pk', 'USER', 'ADMINS', 'LOGIN#admin', '0', '-1', '01', '1e3', '1.0', '1e400'],
  ...['9007199254740991', '9007199254740993', 'a@b.c', 'a@b@c', 'ADMIN@EXAMPLE.COM', 'count'],
  ...['authorities', 'ROLE_ADMIN', 'role_admin', 'after 5', 'x'.repeat(51), 'x'.repeat(256)],
  ...['ﷺ'.repeat(120), '\u0300'.repeat(999), 'x'.repeat(17_000), '1'.repeat(400)],
  ...['2024-13-45', '2024-02-30', '2024-01-01T25:00Z', '9999-12-31T23:59-12:00', '0000-00-00'],
];
const text = fc.oneof(fc.constantFrom(...TEXTS), fc.string({ unit: 'binary', maxLength: 30 }));
const value: fc.Arbitrary<unknown> = fc.oneof(
  text,
  fc.integer({ min: -2, max: 12 }),
  fc.constantFrom(2 ** 31, 2 ** 53, 2 ** 53 + 2, 1e21, 1.5, -1e308, 5e-324, 1_000_001),
  fc.constantFrom(null, true, [], {}, [[]], [null], { id: {} }, { length: 1 }, { toString: 1 }),
  fc.array(text, { maxLength: 3 }),
  fc.jsonValue({ maxDepth: 4 }),
);

/** JSON and malformed JSON that JSON.stringify never produces. */
const RAW = [
  ...['1e400', '-0', '1E5', '01', '+1', '.5', 'NaN', 'undefined', "'x'", '"\\ud800"', '"\\x"'],
  ...['"\n"', '{"a":1,"a":2}', '{"__proto__":{}}', '[,]', '[1,]', '/**/1', '['.repeat(9000)],
];
const json = (body: unknown) => JSON.stringify(body) ?? 'undefined';

/** A valid body with up to three corrupted fields, one of them possibly with malformed JSON. */
function corrupted(valid: Record<string, unknown>): fc.Arbitrary<string | Uint8Array> {
  const field = fc.oneof(fc.constantFrom(...Object.keys(valid)), text);
  const changes = fc.array(fc.tuple(field, value), { maxLength: 3 });
  const raw = fc.option(fc.tuple(field, fc.constantFrom(...RAW)), { freq: 4 });
  const body = fc.tuple(changes, raw).map(([changed, added]) => {
    const all = json({ ...valid, ...Object.fromEntries(changed) });
    return added ? `${all.slice(0, -1)},${json(added[0])}:${added[1]}}` : all;
  });
  return fc.oneof(
    { weight: 12, arbitrary: body },
    { weight: 2, arbitrary: value.map(json) },
    fc.constantFrom(...RAW, ...TEXTS),
    fc.uint8Array({ maxLength: 60 }),
    body.map((all) => Buffer.from(`\uFEFF${all}`, 'utf16le')),
    body.map((all) => Buffer.from(all.toWellFormed()).subarray(0, -3)),
    body.map((all) => all.padEnd(65 * 1024)),
  );
}

const FIELDS = ['id', 'login', 'email', 'name', 'activated', 'active', 'createdDate', 'time'];
const OPERATORS = ['equals', 'in', 'notIn', 'specified', 'contains', 'greaterThan', '__proto__'];
/** API Gateway itself rejects a request whose line and headers have more than 10,240 bytes. */
const encoded = (part: string) => encodeURIComponent(part.toWellFormed()).slice(0, 2000);
const named = (...names: string[]) => fc.tuple(fc.constantFrom(...names), text);
const parameter = fc
  .oneof(
    named('page', 'size', 'sort', 'cursor', 'cacheBuster', 'page.equals'),
    named(...FIELDS.flatMap((field) => OPERATORS.map((operator) => `${field}.${operator}`))),
  )
  .map((pair) => pair.map(encoded).join('='));
const query = fc.oneof(
  { weight: 5, arbitrary: fc.array(parameter, { maxLength: 3 }).map((all) => all.join('&')) },
  fc.constantFrom(
    '&',
    '=',
    '?',
    '%',
    '%zz=%zz',
    'page=%ff',
    'size=1&size=2',
    'sort=id&sort=x',
    '+',
  ),
);
const segment = fc.oneof(
  fc.constantFrom(
    '1',
    '5',
    '1000001',
    'made',
    'user',
    'admin',
    '%2e%2e',
    '%ff',
    '%zz',
    '~',
    '\xe9',
  ),
  text.map(encoded),
);
const headers = fc.record(
  {
    'Content-Type': fc.constantFrom(
      ...Array(16).fill('application/json'),
      ...['application/json; charset=utf-16', '', 'text/plain', 'application/json,text/plain'],
    ),
    'If-Match': fc.constantFrom('*', '"1"', 'W/"1"', '"1", "2"', '"', '', '"-1"', '\xff'),
  },
  { requiredKeys: ['Content-Type'] },
);

const requestOf = (route: Route['route']) => {
  const [method = '', pattern = ''] = route.split(' ');
  const valid = fillExample(EXAMPLES[route]?.body, VALUES) as Record<string, unknown> | undefined;
  const path = fc
    .tuple(segment, fc.option(query, { freq: valid ? 2 : 8 }))
    .map(([part, search]) => {
      // A function, because the replacement may contain `$`.
      const filled = pattern.replace(/\{\w+\}/, () => part);
      return search === null ? filled : `${filled}?${search}`;
    });
  return fc.record({
    method: fc.constant(method),
    path,
    token: fc.nat(16),
    headers,
    body: valid ? corrupted(valid) : fc.option(value.map(json), { nil: undefined, freq: 3 }),
  });
};

it(`no request returns a 5xx status, and the table stays intact (SEED=${seed})`, async () => {
  const reached = new Set<number>();

  for (const [index, { route }] of routes.entries()) {
    const authorizations = await newAuthorizations();
    const requests = fc.sample(requestOf(route), { seed: seed + index, numRuns: REQUESTS });
    // Sequential, because parallel requests would mostly start more function instances.
    for (const { method, path, token, ...sent } of requests) {
      const Authorization = authorizations[token] as string | string[];
      const { status, text } = await gatehouse.call(method, path, {
        ...sent,
        headers: { ...sent.headers, Authorization },
      });
      const asSent = `${method} ${path} ${JSON.stringify(sent).slice(0, 2000)}`;
      expect(status, `SEED=${seed}: ${asSent} with token ${token} returned ${text}`).toBeLessThan(
        500,
      );
      reached.add(status);
    }
  }

  expect([...reached]).toEqual(expect.arrayContaining([200, 400, 401, 404, 415]));
});
