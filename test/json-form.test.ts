import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isTooDeepOrAmbiguous } from '../lib/http/json-form.ts';

const nested = (depth: number, inner = '') => '['.repeat(depth) + inner + ']'.repeat(depth);

it.each([
  ['a key twice', '{"a":1,"a":2}'],
  ['a key twice with the same value', '{"a":1,"a":1}'],
  ['a key twice, once with an escape', '{"ab":1,"\\u0061b":2}'],
  ['a key twice with others between', '{"a":1,"b":[{"c":2}],"a":3}'],
  ['a key twice in an inner object', '{"a":{"b":1,"b":2}}'],
  ['a key twice in an object of a list', '[1,{"b":1},{"b":1,"b":2}]'],
  ['an empty key twice', '{"":1,"":2}'],
  ['a key twice after a list', '{"a":[1,2],"a":2}'],
  ['33 levels of lists', nested(33)],
  ['33 levels of objects', '{"a":'.repeat(33) + 1 + '}'.repeat(33)],
  ['33 levels of both', nested(32, '{}')],
])('refused is %s', (_, json) => {
  expect(isTooDeepOrAmbiguous(json)).toBe(true);
});

it.each([
  ['32 levels', nested(32)],
  ['a thousand lists beside each other', `[${nested(1)}${`,${nested(1)}`.repeat(999)}]`],
  ['the same key in two objects', '[{"a":1},{"a":{"a":2}}]'],
  ['a key that is also a value', '{"a":"a","b":"a","c":["a","a"]}'],
  ['what looks like structure in a text', '{"a":"{[,\\"a\\":","b":"\\\\","c":1}'],
  ['keys in two cases', '{"a":1,"A":2}'],
  ['keys named like what every object has', '{"toString":1,"constructor":2,"hasOwnProperty":3}'],
])('accepted is %s', (_, json) => {
  expect(isTooDeepOrAmbiguous(json)).toBe(false);
});

it('whatever is written with every key once is accepted, and refused with one of its keys twice', () => {
  const value = fc.jsonValue({ depthSize: 'medium', stringUnit: 'binary' });
  const member = fc.dictionary(fc.string({ unit: 'binary' }), value, { minKeys: 1 });

  fc.assert(
    fc.property(member, fc.nat(), fc.constantFrom(0, 2), (object, pick, indent) => {
      const json = JSON.stringify(object, null, indent);
      const keys = Object.keys(object);
      const again = JSON.stringify(keys[pick % keys.length]);

      expect(isTooDeepOrAmbiguous(json)).toBe(false);
      expect(isTooDeepOrAmbiguous(`${json.slice(0, json.lastIndexOf('}'))},${again}:0}`)).toBe(true);
    }),
    { numRuns: 500 },
  );
});
