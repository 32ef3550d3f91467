import fc from 'fast-check';
import { expect, it } from 'vitest';
import { holds, updated } from '../support/doubles/expressions.ts';
import type { Received, Sent } from '../support/instance/launch.ts';
import { encodingsOf, watchSecrets } from '../support/instance/watch-secrets.ts';
import { linearize, type Operation, type Specification } from '../support/model/linearizable.ts';

const ITEM = { pk: 'A', sk: 'B', n: 5, name: 'ada', ids: new Set([1, 2]), list: ['x'] };
const placeholders = {
  names: { '#n': 'n', '#name': 'name', '#ids': 'ids', '#list': 'list', '#none': 'none' },
  values: { ':5': 5, ':6': 6, ':ada': 'ada', ':d': 'd', ':1': 1, ':3': 3, ':x': 'x' },
};

it.each([
  ['#n = :5', true],
  ['#n <> :6', true],
  // A missing attribute differs from every value, and is neither equal, less nor greater.
  ['#none = :5', false],
  ['#none <> :5', true],
  ['#n < :6 AND #n <= :5 AND #n >= :5 AND NOT #n > :5', true],
  // Values of different types are not ordered.
  ['#n < :ada', false],
  ['attribute_exists(pk) AND attribute_not_exists(#none)', true],
  ['attribute_exists(#none)', false],
  ['contains(#ids, :1) AND NOT contains(#ids, :3)', true],
  ['contains(#list, :x) AND contains(#name, :d)', true],
  ['size(#ids) > :1', true],
  // AND binds before OR, and NOT before both.
  ['#n = :5 OR #n = :6 AND #n = :6', true],
  ['(#n = :5 OR #n = :6) AND #n = :6', false],
  ['NOT #n = :6 AND #n = :6', false],
])('%s is %s', (condition, expected) => {
  expect(holds(condition, ITEM, placeholders)).toBe(expected);
});

it('of an item that does not exist, no attribute exists', () => {
  expect(holds('attribute_not_exists(pk)', undefined, placeholders)).toBe(true);
  expect(holds('#n = :5', undefined, placeholders)).toBe(false);
});

it.each([
  ['SET #n = :6, #none = :x', { n: 6, none: 'x' }],
  ['ADD #n :1, #none :3', { n: 6, none: 3 }],
  ['ADD #n :1 SET #name = :x', { n: 6, name: 'x' }],
])('%s changes what it names', (update, expected) => {
  expect(updated(ITEM, update, placeholders)).toMatchObject(expected);
});

it('REMOVE leaves the other attributes', () => {
  const { name, list, ...others } = ITEM;
  expect(updated(ITEM, 'REMOVE #name, #list', placeholders)).toEqual(others);
});

it('ADD and DELETE change the members of a set, and an empty one goes', () => {
  const values = { ':set': new Set([2, 3]), ':all': new Set([1, 2]) };
  const after = (update: string) => updated(ITEM, update, { ...placeholders, values }).ids;

  expect(after('ADD #ids :set')).toEqual(new Set([1, 2, 3]));
  expect(after('DELETE #ids :set')).toEqual(new Set([1]));
  expect(after('DELETE #ids :all')).toBeUndefined();
});

/* Tests the linearizability checker on handwritten histories of a single read-write register. */

const register: Specification<string> = (state, input) =>
  input === 'read' ? [{ state, output: state }] : [{ state: input, output: 'written' }];

const UNKNOWN = Number.POSITIVE_INFINITY;
const operation = (
  invoked: number,
  returned: number,
  input: string,
  output = 'written',
): Operation<string> => ({
  client: invoked,
  invoked,
  returned,
  input,
  output,
});
type History = Operation<string>[];
const write = (invoked: number, returned: number, value: string) =>
  operation(invoked, returned, value);
const read = (invoked: number, returned: number, value: string) =>
  operation(invoked, returned, 'read', value);
const lost = operation(0, UNKNOWN, 'a', 'no response');

it.each<[string, History]>([
  ['has operations one after another', [write(0, 1, 'a'), read(2, 3, 'a')]],
  ['has the last of two overlapping writes', [write(0, 3, 'a'), write(1, 2, 'b'), read(4, 5, 'b')]],
  ['shows a pending write late', [write(0, 9, 'a'), read(1, 2, 'empty'), read(3, 4, 'a')]],
  ['shows a write of unknown outcome late', [lost, read(1, 2, 'empty'), read(3, 4, 'a')]],
  ['never shows a write of unknown outcome', [lost, read(1, 2, 'empty')]],
])('a history that %s is linearizable', (_, history) => {
  expect(linearize(history, 'empty', register)).toBeUndefined();
});

it.each<[string, History]>([
  ['has a value that was never written', [write(0, 1, 'a'), read(2, 3, 'b')]],
  ['has an overwritten value', [write(0, 1, 'a'), write(2, 3, 'b'), read(4, 5, 'a')]],
  [
    'has two values after the last write',
    [write(0, 9, 'a'), write(1, 10, 'b'), read(11, 12, 'a'), read(13, 14, 'b')],
  ],
  ['loses a pending write again', [write(0, 9, 'a'), read(1, 2, 'a'), read(3, 4, 'empty')]],
  [
    'shows a write of unknown outcome twice',
    [lost, read(1, 2, 'a'), write(3, 4, 'b'), read(5, 6, 'a')],
  ],
  [
    'shows a write of unknown outcome before it is invoked',
    [read(0, 1, 'a'), operation(2, UNKNOWN, 'a', 'no response')],
  ],
])('a history that %s is not linearizable', (_, history) => {
  expect(linearize(history, 'empty', register)).toBeDefined();
});

/* Every test over HTTP relies on these checks to find leaked secrets. */

const PASSWORD = 'secret/in?a+mine"é';
const TOKEN = 'header.claims.signature-of-it';
const SENT = { body: { password: PASSWORD } };

function check(sent: Sent, received: Partial<Received>, lines: string[] = []): void {
  const watched = watchSecrets();
  const response = { status: 200, headers: {}, body: undefined, text: '', ...received };
  watched.exchanged('/api/users', sent, response);
  watched.check(lines);
}

it.each<[string, Sent, Partial<Received>, string[]]>([
  ['an error response', SENT, { status: 400, text: `"${PASSWORD}" is wrong` }, []],
  ['a header', SENT, { headers: { location: `/${encodeURIComponent(PASSWORD)}` } }, []],
  [
    'a header other than Authorization in the response to a log-in',
    {},
    { body: { id_token: TOKEN }, headers: { location: `Bearer ${TOKEN}` } },
    [],
  ],
  ['a line with a value', { body: { confValue: 'my-api-key-1' } }, {}, ['my-api-key-1']],
  ['a line with a reset key', { body: { key: 'reset-key-1' } }, {}, ['reset-key-1']],
])('a secret that a test has sent or received is found in %s', (_, sent, received, lines) => {
  expect(() => check(sent, received, lines)).toThrow('secrets in log lines');
});

it('a secret is ignored where it belongs, when it is also a login, or when it is too short', () => {
  check({}, { body: { id_token: TOKEN }, headers: { authorization: `Bearer ${TOKEN}` } });
  check({ body: { login: 'somebody', password: 'somebody' } }, {}, ['somebody']);
  check({ body: { password: 'short' } }, {}, ['short']);
});

it('a secret is found in each encoding, and in base64 whatever surrounds it', () => {
  const encodings = encodingsOf(PASSWORD);

  expect(encodings).toEqual(
    expect.arrayContaining([PASSWORD, Buffer.from(PASSWORD).toString('hex')]),
  );
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (before, after) => {
      const bytes = Buffer.from(before + PASSWORD + after);

      for (const encoding of ['base64', 'base64url'] as const)
        expect(encodings.some((each) => bytes.toString(encoding).includes(each))).toBe(true);
    }),
  );
});
