import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isTooDeepOrAmbiguous } from '../../lib/contract/json-limits.ts';

const nested = (depth: number, inner = '') => '['.repeat(depth) + inner + ']'.repeat(depth);

it.each([
  ['a duplicate key', '{"a":1,"a":2}'],
  ['a duplicate key with the same value', '{"a":1,"a":1}'],
  ['a duplicate key with an escape', '{"ab":1,"\\u0061b":2}'],
  ['a duplicate key with others between', '{"a":1,"b":[{"c":2}],"a":3}'],
  ['a duplicate key in a nested object', '{"a":{"b":1,"b":2}}'],
  ['a duplicate key in an object in an array', '[1,{"b":1},{"b":1,"b":2}]'],
  ['a duplicate empty key', '{"":1,"":2}'],
  ['a duplicate key after an array', '{"a":[1,2],"a":2}'],
  ['33 levels of arrays', nested(33)],
  ['33 levels of objects', '{"a":'.repeat(33) + 1 + '}'.repeat(33)],
  ['33 levels of both', nested(32, '{}')],
])('rejects %s', (_, json) => {
  expect(isTooDeepOrAmbiguous(json)).toBe(true);
});

it.each([
  ['32 levels', nested(32)],
  ['a thousand sibling arrays', `[${nested(1)}${`,${nested(1)}`.repeat(999)}]`],
  ['the same key in two objects', '[{"a":1},{"a":{"a":2}}]'],
  ['a key that is also a value', '{"a":"a","b":"a","c":["a","a"]}'],
  ['JSON syntax inside a string', '{"a":"{[,\\"a\\":","b":"\\\\","c":1}'],
  ['keys that differ only in case', '{"a":1,"A":2}'],
  ['keys named like properties of Object.prototype', '{"toString":1,"constructor":2,"hasOwnProperty":3}'],
])('accepts %s', (_, json) => {
  expect(isTooDeepOrAmbiguous(json)).toBe(false);
});

it('accepts any JSON object with unique keys, and rejects it when one of its keys is repeated', () => {
  const value = fc.jsonValue({ depthSize: 'medium', stringUnit: 'binary' });
  const member = fc.dictionary(fc.string({ unit: 'binary' }), value, { minKeys: 1 });

  fc.assert(
    fc.property(member, fc.nat(), fc.constantFrom(0, 2), (object, pick, indent) => {
      const json = JSON.stringify(object, null, indent);
      const keys = Object.keys(object);
      const repeated = JSON.stringify(keys[pick % keys.length]);

      expect(isTooDeepOrAmbiguous(json)).toBe(false);
      expect(isTooDeepOrAmbiguous(`${json.slice(0, json.lastIndexOf('}'))},${repeated}:0}`)).toBe(true);
    }),
    { numRuns: 500 },
  );
});
