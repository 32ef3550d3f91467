import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseJson } from '../../lib/contract/json.ts';
import { cpuMsOf } from '../support/doubles/time.ts';

const nested = (depth: number, inner = '') => '['.repeat(depth) + inner + ']'.repeat(depth);

it.each([
  ['a duplicate key with an escape', '{"ab":1,"\\u0061b":2}'],
  ['a duplicate key in a nested object', '{"a":{"b":1,"b":2}}'],
  ['a duplicate key in an object in an array', '[1,{"b":1},{"b":1,"b":2}]'],
  ['33 levels of arrays', nested(33)],
  ['33 levels of objects', '{"a":'.repeat(33) + 1 + '}'.repeat(33)],
  ['33 levels of both', nested(32, '{}')],
  ['the key __proto__', '[{"__proto__":1}]'],
  ['a constructor with a prototype', '{"constructor":{"prototype":{}}}'],
])('rejects %s', (_, json) => {
  expect(() => parseJson(json)).toThrow(SyntaxError);
});

it.each([
  ['32 levels', nested(32)],
  ['a thousand sibling arrays', `[${nested(1)}${`,${nested(1)}`.repeat(999)}]`],
  ['the same key in two objects', '[{"a":1},{"a":{"a":2}}]'],
  ['a key that is also a value', '{"a":"a","b":"a","c":["a","a"]}'],
  ['JSON syntax inside a string', '{"a":"{[,\\"a\\":","b":"\\\\","c":1}'],
  ['keys that differ only in case', '{"a":1,"A":2}'],
  [
    'keys named like properties of Object.prototype',
    '{"toString":1,"constructor":2,"hasOwnProperty":3,"prototype":{}}',
  ],
])('accepts %s', (_, json) => {
  expect(parseJson(json)).toEqual(JSON.parse(json));
});

it('accepts any JSON object with unique keys, and rejects it with a repeated one', () => {
  const value = fc.jsonValue({ depthSize: 'medium', stringUnit: 'binary' });
  const member = fc.dictionary(fc.string({ unit: 'binary' }), value, { minKeys: 1 });

  fc.assert(
    fc.property(member, fc.nat(), fc.constantFrom(0, 2), (object, pick, indent) => {
      const json = JSON.stringify(object, null, indent);
      fc.pre(!/"(__proto__|prototype)"/.test(json));
      const keys = Object.keys(object);
      const repeated = JSON.stringify(keys[pick % keys.length]);

      expect(parseJson(json)).toEqual(JSON.parse(json));
      expect(() => parseJson(`${json.slice(0, json.lastIndexOf('}'))},${repeated}:0}`)).toThrow(
        SyntaxError,
      );
    }),
    { numRuns: 500 },
  );
});

const ZEROS = '0'.repeat(60_000);

it.each([
  ['0.1e1', 1],
  ['10E-1', 1],
  ['1200e+2', 120_000],
  [`1.${ZEROS}`, 1],
  [`0.${ZEROS}1e60001`, 1],
  ['-0.0', -0],
  [`0e${ZEROS}9`, 0],
  ['0.1', 0.1],
  ['12.50E-1', 1.25],
  ['1001', 1001],
  ['1.001e-2', 0.01001],
  ['1001.0', 1001],
  ['100', 100],
  ['9007199254740992', 2 ** 53],
  ['1e21', 1e21],
])('%.20s is exactly %d', (json, number) => {
  expect(parseJson(`[${json}]`)).toEqual([number]);
});

it.each([
  '1.0000000000000001',
  `1.${ZEROS}1`,
  `1${ZEROS}.1e-60000`,
  '0.99999999999999999',
  '9007199254740993',
  '-9007199254740993',
  '129163836986893001',
  '1e400',
  '1e-400',
  '-1.00000000000000001E2',
  `1e${'9'.repeat(60_000)}`,
  `1e-${'9'.repeat(60_000)}`,
])('%.20s, which a double would round, is not a number', (json) => {
  expect(parseJson(`{"a":[${json}]}`)).toEqual({ a: [Number.NaN] });
});

it.each([
  '.9007199254740993',
  '09007199254740993',
  '--9007199254740993',
  '+9007199254740993',
  '9007199254740993e',
  '1e+-9007199254740993',
  '9007199254740993 9007199254740993',
  '"9007199254740993',
  '"a","b"',
  ']"a"',
  '{,}',
])('%s is not JSON', (json) => {
  expect(() => parseJson(json)).toThrow(SyntaxError);
});

it('leaves numbers in texts alone', () => {
  const text = 'a "9007199254740993" \\ 1e400';

  expect(parseJson(JSON.stringify({ [text]: text }))).toEqual({ [text]: text });
});

it('is read in linear time, whatever its digits, exponents and escapes', async () => {
  const read = () => {
    for (const json of [`1.${`${ZEROS}1`.repeat(5)}`, `[${'1e-999999999,'.repeat(20_000)}0]`])
      parseJson(json);
    expect(() => parseJson(`"${'\\"'.repeat(32_000)}`)).toThrow(SyntaxError);
  };

  expect(await cpuMsOf(read)).toBeLessThan(1000);
});
