import { expect, it } from 'vitest';
import { pick, viewOf } from '../../lib/contract/entity-fields.ts';

it('a view has the listed fields only, null for absent ones, and keeps false, 0 and ""', () => {
  const entity = { a: 0, b: false, c: '', d: undefined, secret: 's' };

  expect(viewOf(entity, { d: {}, c: {}, b: {}, a: {} })).toEqual({
    a: 0,
    b: false,
    c: '',
    d: null,
  });
});

it('picking keeps a present field that is undefined, and adds no absent one', () => {
  const change: { a?: string | undefined; b?: string; c?: string } = { a: undefined, c: 'x' };

  expect(Object.keys(pick(change, ['a', 'b']))).toEqual(['a']);
});
