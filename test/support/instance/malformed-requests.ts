import fc from 'fast-check';
import { EXAMPLES } from '../../../infra/api-document/examples.ts';
import { type ExampleValues, fillExample } from '../../../infra/api-document/fill-example.ts';
import { type Route, routes } from '../../../routes.ts';

/*
 * Generates malformed requests: requests of a route with corrupted parts, and requests that match
 * no route.
 */

/** A request as a client would send it; the test supplies the token of this kind. */
export interface MalformedRequest {
  readonly method: string;
  readonly path: string;
  readonly token: Token;
  readonly headers: Record<string, string | string[]>;
  readonly body: string | Uint8Array | undefined;
}
const TOKENS = [
  ...Array.from({ length: 12 }, () => 'admin' as const),
  'user',
  'none',
  'corrupted',
  'repeated',
  'malformed',
] as const;
/** The kinds of tokens, mostly a valid one. */
export type Token = (typeof TOKENS)[number];

const TEXTS = [
  ...['', ' ', '\0', '\r\nX-Injected: yes', '\uD800', 'a\uDFFFb', '\u202Eabc', '😀', 'İıßﬁK'],
  ...['e\u0301', '\uFF20\uFF0C', '__proto__', 'constructor', 'toString', 'null', 'NaN', 'true'],
  ...['../..', '.', '%00', '%', '%zz', '%2e%2e%2f', "' OR 1=1 --", '{{7*7}}', '<script>', '*'],
  ...['#n', ':v', 'pk', 'USER', 'ADMINS', 'LOGIN#admin', '0', '-1', '01', '1e3', '1.0', '1e400'],
  ...['9007199254740991', '9007199254740993', 'a@b.c', 'a@b@c', 'ADMIN@EXAMPLE.COM', 'count'],
  ...['authorities', 'ROLE_ADMIN', 'role_admin', 'after 5', 'x'.repeat(51), 'x'.repeat(256)],
  ...['ﷺ'.repeat(120), '\u0300'.repeat(999), 'x'.repeat(17_000), '1'.repeat(400)],
];
const text = fc.oneof(fc.constantFrom(...TEXTS), fc.string({ unit: 'binary', maxLength: 30 }));
const number = fc.oneof(
  fc.integer({ min: -2, max: 12 }),
  fc.constantFrom(
    2 ** 31,
    2 ** 53,
    2 ** 53 + 2,
    1e21,
    1.5,
    -1e308,
    5e-324,
    1_000_001,
    9_007_199_254_740_991,
  ),
);
const value: fc.Arbitrary<unknown> = fc.oneof(
  text,
  number,
  fc.constantFrom(
    null,
    true,
    false,
    [],
    {},
    [[]],
    [null],
    { id: {} },
    { length: 1 },
    { toString: 1 },
  ),
  fc.array(text, { maxLength: 3 }),
  fc.jsonValue({ maxDepth: 4 }),
);

/** JSON and malformed JSON that JSON.stringify never produces. */
const RAW = [
  ...['1e400', '-0', '1E5', '01', '+1', '.5', 'NaN', 'undefined', "'x'", '"\\ud800"', '"\\x"'],
  ...['"\n"', '{"a":1,"a":2}', '{"__proto__":{}}', '[,]', '[1,]', '/**/1', '['.repeat(9000)],
  `${'['.repeat(40)}${']'.repeat(40)}`,
];

/** What test/api/fuzz.test.ts has made. */
const VALUES: ExampleValues = {
  userId: 3,
  integrationId: 1,
  parameterId: 1_000_001,
  ownEmail: 'fuzz@example.com',
  newEmail: 'made@example.com',
  foreignEmail: 'nobody@example.com',
  shownLogin: 'made',
  shownEmail: 'made@example.com',
};

const CONTENT_TYPES = [
  ...Array.from({ length: 22 }, () => 'application/json'),
  ...['application/json;charset=UTF-8', 'application/json; charset=utf-16', '', 'text/plain'],
  ...['text/plain;charset=utf-8', 'multipart/form-data', 'application/x-www-form-urlencoded'],
  'application/json,text/plain',
];
const json = (body: unknown) => JSON.stringify(body) ?? 'undefined';

/** A valid body with up to three corrupted fields, one of them possibly with malformed JSON. */
const corruptedBody = (valid: Record<string, unknown>): fc.Arbitrary<string | Uint8Array> => {
  const field = fc.oneof(fc.constantFrom(...Object.keys(valid)), text);
  const corrupted = fc
    .tuple(
      fc.array(fc.tuple(field, value), { maxLength: 3 }),
      fc.option(fc.tuple(field, fc.constantFrom(...RAW)), { freq: 4 }),
    )
    .map(([changes, raw]) => {
      const body = json({ ...valid, ...Object.fromEntries(changes) });
      return raw ? `${body.slice(0, -1)},${json(raw[0])}:${raw[1]}}` : body;
    });
  return fc.oneof(
    { weight: 12, arbitrary: corrupted },
    { weight: 2, arbitrary: value.map(json) },
    { weight: 1, arbitrary: fc.constantFrom(...RAW, ...TEXTS) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }) },
    { weight: 1, arbitrary: corrupted.map((body) => Buffer.from(`\uFEFF${body}`, 'utf16le')) },
    {
      weight: 1,
      arbitrary: corrupted.map((body) => Buffer.from(body.toWellFormed()).subarray(0, -3)),
    },
    { weight: 1, arbitrary: corrupted.map((body) => body.padEnd(65 * 1024)) },
  );
};

const FIELDS = 'id login email name activated active createdDate time actorId integrationId'.split(
  ' ',
);
const OPERATORS = [
  ...['equals', 'notEquals', 'in', 'notIn', 'specified', 'contains', 'doesNotContain'],
  ...['greaterThan', 'lessThanOrEqual', '__proto__'],
];
const DATES =
  '2024-13-45 2024-02-30 2024-01-01T25:00Z 9999-12-31T23:59-12:00 0000-00-00 2024-01-01'.split(' ');
/** Parameters with a name of these parts, joined. */
const named = (
  values: fc.Arbitrary<string>,
  ...parts: readonly (readonly string[])[]
): fc.Arbitrary<[string, string]> =>
  fc.tuple(
    fc.tuple(...parts.map((names) => fc.constantFrom(...names))).map((chosen) => chosen.join('.')),
    values,
  );
const parameter = fc.oneof(
  named(text, ['page', 'size', 'sort', 'cursor', 'cacheBuster', 'page.equals']),
  named(fc.oneof(number.map(String), fc.constantFrom('YWZ0ZXIgNQ', 'e30', '=')), [
    'page',
    'size',
    'cursor',
  ]),
  named(
    fc
      .tuple(fc.constantFrom(...FIELDS), fc.constantFrom('', ',asc', ',desc'))
      .map((of) => of.join('')),
    ['sort'],
  ),
  named(text, FIELDS, OPERATORS),
  {
    weight: 5,
    arbitrary: named(
      fc.constantFrom(...DATES),
      ['createdDate', 'lastModifiedDate', 'time'],
      OPERATORS.slice(0, 4),
    ),
  },
  named(number.map(String), ['id', 'integrationId', 'actorId'], OPERATORS),
);
const encoded = (part: string) => encodeURIComponent(part.toWellFormed());
const query = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .array(parameter, { minLength: 1, maxLength: 3 })
      .map((all) => all.map((pair) => pair.map(encoded).join('=')).join('&')),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      ...'& = ? % %zz=%zz page=%ff size=1&size=2 sort=id&sort=id,desc +=+'.split(' '),
    ),
  },
);

const segment = fc.oneof(
  fc.constantFrom(...'1 5 1000001 made user admin %2e%2e %00 %ff %zz %2F %252F ~ \xe9'.split(' ')),
  text.map((part) => encoded(part).slice(0, 3000)),
);

const header = fc.oneof(
  fc.tuple(
    fc.constant('If-Match'),
    fc.constantFrom(
      '*',
      '"1"',
      'W/"1"',
      '"1", "2"',
      '"',
      '',
      '"99999999999999999999"',
      '"-1"',
      '\xff',
    ),
  ),
  fc.tuple(
    fc.constantFrom('Content-Encoding', 'Accept', 'Range', 'Origin', 'Cookie', 'Referer'),
    fc.constantFrom('', 'gzip', '*/*', 'x=y; x=z', 'null', '\xe9', 'x'.repeat(900)),
  ),
  fc.tuple(
    fc.constantFrom(
      ...'X-Forwarded-For X-HTTP-Method-Override X-Amzn-Trace-Id __proto__ constructor'.split(' '),
    ),
    fc.constantFrom('127.0.0.1', 'DELETE', '1'),
  ),
);

/** A mostly valid request of a route. */
const ofRoute = (route: Route['route']): fc.Arbitrary<MalformedRequest> => {
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
    token: fc.constantFrom(...TOKENS),
    headers: fc
      .tuple(fc.constantFrom(...CONTENT_TYPES), fc.array(header, { maxLength: 2 }))
      .map(([type, others]) => ({
        'Content-Type': type,
        ...Object.fromEntries(others.filter(([name]) => name !== '__proto__')),
      })),
    body: valid ? corruptedBody(valid) : fc.option(value.map(json), { nil: undefined, freq: 3 }),
  });
};

const ofNoRoute = fc.record({
  method: fc.constantFrom(...'GET POST PUT DELETE PATCH OPTIONS HEAD TRACE PROPFIND'.split(' ')),
  path: fc
    .array(
      fc.oneof(
        segment,
        fc.constantFrom('api', 'users', 'account', '', 'utm-integrations', '.well-known'),
      ),
      {
        maxLength: 5,
      },
    )
    .map((parts) => `/${parts.join('/')}`),
  token: fc.constantFrom(...TOKENS),
  headers: fc.constant({}),
  body: fc.constant(undefined),
});

/**
 * Generates requests for each route and for none, determined by the seed and grouped by route to
 * avoid cold starts.
 */
export function malformedRequests(seed: number, count: number): MalformedRequest[][] {
  const kinds = [...routes.map(({ route }) => ofRoute(route)), ofNoRoute];
  return kinds.map((kind, index) => fc.sample(kind, { seed: seed + index, numRuns: count }));
}
