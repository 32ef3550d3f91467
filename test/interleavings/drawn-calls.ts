import type { Key } from '../../lib/table/keys.ts';
import type { Item } from '../../lib/table/table.ts';
import type { Write } from '../../lib/table/write.ts';
import type { Call, Request } from './worlds.ts';

/*
 * Calls with everything that lib's expressions use, on items that have every type of attribute, so
 * that engines are compared beyond what the rules happen to send.
 */

/** Draws at random. */
export interface Draw {
  /** A whole number from 0 to below the bound. */
  below(bound: number): number;
  one<T>(of: readonly T[]): T;
  isTrue(probability: number): boolean;
}

export const drawerOf = (random: () => number): Draw => ({
  below: (bound) => Math.floor(random() * bound),
  one: <T>(of: readonly T[]) => of[Math.floor(random() * of.length)] as T,
  isTrue: (probability) => random() < probability,
});

const PARTITION = 'DRAWN';

/** The items that drawn calls are about, in an order that is not the order of their keys. */
export const DRAWN_ITEMS: readonly Item[] = [
  { pk: PARTITION, sk: 'b', n: 9, text: 'ab', ids: new Set([1]), words: new Set(['a']) },
  { pk: PARTITION, sk: '10', n: 2, text: '1', ids: new Set([1, 2, 3]), list: ['a', 1] },
  { pk: PARTITION, sk: '9', n: 10, ids: new Set([2, 3]), map: { a: 1, ids: new Set([1]) } },
  { pk: PARTITION, sk: 'B', text: 'abc', list: [], flag: true, nothing: null },
];

const NUMBERS = [1, 2, 3, 9, 10];
const TEXTS = ['a', 'ab', 'b', '1'];
const ATTRIBUTES = ['n', 'text', 'ids', 'words', 'list', 'map', 'flag', 'nothing', 'absent'];
const VALUES = [
  ...NUMBERS,
  ...TEXTS,
  new Set([1]),
  new Set([3, 2]),
  new Set(['a']),
  ['a', 1],
  { a: 1, ids: new Set([1]) },
  true,
  null,
];

let ids = 0;

/** Calls that no request makes. */
export const NOBODY: Request = {
  name: 'drawn',
  handler: 'drawn',
  writes: [],
  run: async () => undefined,
};

/** Draws a read, an update, or a transaction of up to four writes. */
export function drawCall(draw: Draw, items: readonly Item[]): Call {
  const own = { id: --ids - 1_000_000_000, by: NOBODY };
  const operation = draw.one([
    'getAll',
    'snapshot',
    'query',
    'query',
    'update',
    'transact',
    'transact',
  ] as const);
  if (operation === 'query') {
    const { pk } = draw.one([...items, ...DRAWN_ITEMS, ...DRAWN_ITEMS]);
    return { ...own, operation, pk, range: drawRange(draw, items) };
  }
  const sortKeys = ['10', '9', 'B', 'b', 'new'];
  const drawKey = () => ({
    pk: PARTITION,
    sk: sortKeys.splice(draw.below(sortKeys.length), 1).join(),
  });
  if (operation === 'update') return { ...own, operation, writes: [drawUpdate(draw, drawKey())] };
  const keys = Array.from({ length: 1 + draw.below(4) }, drawKey);
  if (operation !== 'transact') return { ...own, operation, keys };
  const writes = keys.map((key) => drawWrite(draw, key));
  return { ...own, operation, writes, token: String(own.id) };
}

function drawRange(draw: Draw, items: readonly Item[]) {
  const sortKeys = [...items.map(({ sk }) => sk), '1', '9', 'A', 'a', 'z'];
  const [from, to] = [draw.one(sortKeys), draw.one(sortKeys)].sort() as [string, string];
  return {
    ...(draw.isTrue(0.5) && { from, to }),
    ...(draw.isTrue(0.5) && { backwards: true }),
    ...(draw.isTrue(0.5) && { limit: 1 + draw.below(3) }),
  };
}

function drawWrite(draw: Draw, key: Key): Write {
  const act = draw.one(['Put', 'Update', 'Update', 'Delete', 'ConditionCheck'] as const);
  if (act === 'Update') return drawUpdate(draw, key);
  const { n, text, words } = draw.one(DRAWN_ITEMS);
  return {
    ...drawCondition(draw),
    key,
    act,
    ...(act === 'Put' && { attributes: { n, text, words } }),
  };
}

/** Draws a condition without defining a name or value that it does not use, which is an error. */
function drawCondition(draw: Draw) {
  const names: Record<string, string> = {};
  const values: Record<string, unknown> = {};
  const name = (of = ATTRIBUTES) => {
    const attribute = draw.one(of);
    names[`#${attribute}`] = attribute;
    return `#${attribute}`;
  };
  const value = (of: readonly unknown[]) => {
    const placeholder = `:v${Object.keys(values).length}`;
    values[placeholder] = draw.one(of);
    return placeholder;
  };
  const tests: (() => string)[] = [
    () => `${draw.one(EXISTENCE)}(${draw.isTrue(0.3) ? 'pk' : name()})`,
    () => `contains(${name(['ids', 'ids', ...ATTRIBUTES])}, ${value([...NUMBERS, ...TEXTS])})`,
    () => `size(${name(WITH_SIZE)}) ${draw.one(ORDERS)} ${value(NUMBERS)}`,
    () => `${name()} ${draw.one(['=', '<>'])} ${value(VALUES)}`,
    () => `${name()} ${draw.one(ORDERS)} ${value([...NUMBERS, ...TEXTS])}`,
  ];
  // Parentheses around parentheses are an error.
  const drawn = (depth: number, parentheses: readonly string[] = ['()']): string => {
    const form = draw.one(['test', 'NOT', 'AND', 'OR', ...parentheses]);
    if (form === '()') return `(${drawn(depth, [])})`;
    if (depth === 0 || form === 'test') return draw.one(tests)();
    if (form === 'NOT') return `NOT ${drawn(depth - 1)}`;
    return `${drawn(depth - 1)} ${form} ${drawn(depth - 1)}`;
  };
  return { condition: drawn(3), names, values };
}

const EXISTENCE = ['attribute_exists', 'attribute_not_exists'];
const ORDERS = ['<', '<=', '>', '>='];
const WITH_SIZE = ['ids', 'ids', 'words', 'list', 'absent'];

/** Draws an update, which leaves attributes with the types that ADD and DELETE need. */
function drawUpdate(draw: Draw, key: Key): Write {
  const condition = drawCondition(draw);
  const [number, set] = [draw.one([1, -2]), draw.one([new Set([1]), new Set([1, 2, 3])])];
  const updates: Pick<Write, 'update' | 'names' | 'values'>[] = [
    {
      update: 'SET #u = :u, #w = :w',
      names: { '#u': 'n', '#w': 'flag' },
      values: { ':u': 9, ':w': null },
    },
    {
      update: 'SET #u = :u REMOVE #w',
      names: { '#u': 'map', '#w': 'text' },
      values: { ':u': { a: 1 } },
    },
    { update: 'REMOVE #u, #w', names: { '#u': 'ids', '#w': 'absent' } },
    { update: 'ADD #u :u, #w :u', names: { '#u': 'n', '#w': 'count' }, values: { ':u': number } },
    {
      update: 'ADD #u :u SET #w = :w',
      names: { '#u': 'ids', '#w': 'text' },
      values: { ':u': set, ':w': 'b' },
    },
    { update: 'DELETE #u :u', names: { '#u': 'ids' }, values: { ':u': set } },
  ];
  const { update, names, values } = draw.one(updates);
  return {
    ...condition,
    act: 'Update',
    key,
    update,
    names: { ...condition.names, ...names },
    values: { ...condition.values, ...values },
  };
}
