import { describe, expect, it } from 'vitest';
import {
  canOwnParameters,
  collectionOf,
  entityKey,
  idText,
  integrationIdOf,
  isEntity,
  parameterId,
  parametersRange,
} from '../../lib/table/keys.ts';
import {
  add,
  attributesAre,
  changeTotal,
  check,
  claim,
  put,
  set,
  type Write,
  withCondition,
  withConditionOn,
} from '../../lib/table/write.ts';
import { memoryTable } from '../support/doubles/memory-table.ts';

const key = { pk: 'a', sk: 'b' };
const condition = {
  condition: '#x = :x',
  names: { '#x': 'x' },
  values: { ':x': 1 },
  onConditionFailed: 'retry',
} as const;

/**
 * The attributes of the item after a write, or undefined without one; what a failed condition means
 * if it fails.
 */
async function outcome(write: Write, stored?: object) {
  const table = memoryTable(stored ? [{ ...write.key, ...stored }] : []);
  const isCommitted = await table.transact([write], 'token').then(
    () => true,
    () => false,
  );
  if (!isCommitted) return write.onConditionFailed;
  const item = table.find(write.key);
  const { pk, sk, ...attributes } = item ?? {};
  return item && attributes;
}

describe('a write', () => {
  const either = {
    condition: '#y = :y OR #x = :y',
    names: { '#y': 'y' },
    values: { ':y': 2 },
    onConditionFailed: 'retry',
  } as const;
  const both = withCondition(withCondition(add(key, 1), condition), either);

  it.each<[string, Write, object | undefined, object | string | undefined]>([
    [
      'sets attributes, and removes those without a value',
      set(key, { a: 1, b: undefined, c: null, d: undefined }, condition),
      { x: 1, b: 1, d: 1 },
      { x: 1, a: 1, c: null },
    ],
    [
      'keeps the meaning of its own failure',
      withCondition(claim(key, {}, 'login-taken'), condition),
      {},
      'login-taken',
    ],
    ['requires its own condition', both, { x: 2, y: 2 }, 'retry'],
    ['requires the other condition', both, { x: 1 }, 'retry'],
    ['is made if both conditions hold', both, { x: 1, y: 2 }, { x: 1, y: 2, n: 1 }],
    ['changes a total once', changeTotal('USER', -2), { n: 5, changes: 7 }, { n: 3, changes: 8 }],
  ])('%s', async (_, write, stored, expected) => {
    expect(await outcome(write, stored)).toEqual(expected);
  });

  it('of an item takes a condition on it, which is checked first if there is none', () => {
    const [own, other] = [put(key, {}), put({ ...key, pk: 'other' }, {})];

    const extended = withConditionOn(key, condition, [other, own]);

    expect(extended).toEqual([other, withCondition(own, condition)]);
    expect(withConditionOn(key, condition, [other])).toEqual([check(key, condition), other]);
  });

  it('can require values that were read, and the absence of others', () => {
    expect(attributesAre({ n: 0, since: 5, changes: undefined })).toEqual({
      condition: '#n = :n AND #since = :since AND attribute_not_exists(#changes)',
      names: { '#n': 'n', '#since': 'since', '#changes': 'changes' },
      values: { ':n': 0, ':since': 5 },
      onConditionFailed: 'retry',
    });
  });
});

describe('the keys of the table', () => {
  it('name an entity by its kind and its id, a positive safe integer of 16 digits', () => {
    const ids = ['7', `${'0'.repeat(13)}NaN`, ...[0, -1, 1.5, 2 ** 53].map(idText), idText(7)];

    const kinds = ids.map((sk) => collectionOf({ pk: 'CONF', sk }));

    expect(kinds).toEqual([...Array(6).fill(undefined), 'CONF']);
    expect([entityKey('USER', 7), { pk: 'LOGIN', sk: idText(7) }].map(isEntity)).toEqual([
      ...[true, false],
    ]);
  });

  it('reserve a range of a million parameter ids for each integration', () => {
    expect([parameterId(7, 1), parameterId(7, 999_999)]).toEqual([7_000_001, 7_999_999]);
    expect(parametersRange(7)).toEqual({ from: '0000000007000000', to: '0000000007999999' });
    expect([7_000_000, 7_000_001, 7_999_999, 8_000_000].map(integrationIdOf)).toEqual([7, 7, 7, 8]);
  });

  it('allow parameters only where their ids are safe integers', () => {
    // The largest safe integer is 9,007,199,254,740,991.
    expect([-1, 0, 1, 9_007_199_253, 9_007_199_254].map(canOwnParameters)).toEqual([
      false,
      false,
      true,
      true,
      false,
    ]);
  });
});
