import { isDeepStrictEqual } from 'node:util';
import type { Item } from '../../../lib/table/table.ts';

/*
 * DynamoDB's expressions, as far as lib uses them: parsed to a tree, so that tests can remove a
 * part of a condition, and evaluated as the engine does. Whatever else an expression has is an
 * error.
 */

export type Condition =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Condition[] }
  | { readonly kind: 'not'; readonly part: Condition }
  | { readonly kind: 'test'; readonly name: string; readonly operands: readonly Operand[] };

/** A value, an attribute, or the size of an attribute, as the expression writes it. */
interface Operand {
  readonly text: string;
  readonly isSize: boolean;
}

interface Placeholders {
  readonly names?: Readonly<Record<string, string>>;
  readonly values?: Readonly<Record<string, unknown>>;
}

const TOKEN = /\s*(<>|<=|>=|[=<>(),]|[#:]?\w+)/y;

function tokensOf(expression: string): string[] {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < expression.trimEnd().length) {
    const at = TOKEN.lastIndex;
    const [, token] = TOKEN.exec(expression) ?? [];
    if (token === undefined) throw new Error(`Not understood: ${expression.slice(at)}`);
    tokens.push(token);
  }
  return tokens;
}

const COMPARISONS = ['=', '<>', '<', '<=', '>', '>='];
const FUNCTIONS = ['attribute_exists', 'attribute_not_exists', 'contains'];

/** Parses a condition: OR binds weaker than AND, and AND weaker than NOT. */
export function parseCondition(expression: string): Condition {
  const tokens = tokensOf(expression);
  let position = 0;
  const next = () => tokens[position++] ?? fail('an operand');
  const accept = (token: string) => tokens[position] === token && ++position > 0;
  const expect = (token: string) => accept(token) || fail(token);
  function fail(expected: string): never {
    throw new Error(`Expected ${expected} after ${tokens.slice(0, position).join(' ')}`);
  }
  const operand = (): Operand => {
    const token = next();
    if (token === 'size' && accept('(')) {
      const text = next();
      expect(')');
      return { text, isSize: true };
    }
    if (!/^(?!(AND|OR|NOT)$)[#:]?\w+$/.test(token)) fail('an operand');
    return { text: token, isSize: false };
  };
  const list = (kind: 'and' | 'or', word: string, part: () => Condition): Condition => {
    const parts = [part()];
    while (accept(word)) parts.push(part());
    return parts.length === 1 ? (parts[0] as Condition) : { kind, parts };
  };
  const any = (): Condition => list('or', 'OR', all);
  const all = (): Condition => list('and', 'AND', one);
  function one(): Condition {
    if (accept('NOT')) return { kind: 'not', part: one() };
    if (accept('(')) {
      const condition = any();
      expect(')');
      return condition;
    }
    const name = FUNCTIONS.find(accept);
    if (name !== undefined) {
      expect('(');
      const operands = [operand()];
      if (name === 'contains' && expect(',')) operands.push(operand());
      expect(')');
      return { kind: 'test', name, operands };
    }
    const left = operand();
    const comparison = COMPARISONS.find(accept) ?? fail('a comparison');
    return { kind: 'test', name: comparison, operands: [left, operand()] };
  }
  const condition = any();
  if (position < tokens.length) fail('the end');
  return condition;
}

const trees = new Map<string, Condition>();

/** Undefined is no condition, or an item that does not exist. */
export function holds(
  condition: string | Condition | undefined,
  item: Item | undefined,
  placeholders: Placeholders,
): boolean {
  if (condition === undefined) return true;
  if (typeof condition !== 'string') return evaluate(condition, item, placeholders);
  let tree = trees.get(condition);
  if (!tree) {
    tree = parseCondition(condition);
    trees.set(condition, tree);
  }
  return evaluate(tree, item, placeholders);
}

function evaluate(tree: Condition, item: Item | undefined, placeholders: Placeholders): boolean {
  if (tree.kind === 'not') return !evaluate(tree.part, item, placeholders);
  if (tree.kind !== 'test') {
    const isMet = (part: Condition) => evaluate(part, item, placeholders);
    return tree.kind === 'and' ? tree.parts.every(isMet) : tree.parts.some(isMet);
  }
  const [left, right] = tree.operands.map((operand) => operandValue(operand, item, placeholders));
  switch (tree.name) {
    case 'attribute_exists':
      return left !== undefined;
    case 'attribute_not_exists':
      return left === undefined;
    case 'contains':
      return left instanceof Set || Array.isArray(left)
        ? [...left].some((member) => isDeepStrictEqual(member, right))
        : typeof left === 'string' && typeof right === 'string' && left.includes(right);
    case '=':
      return left !== undefined && isDeepStrictEqual(left, right);
    case '<>':
      return !isDeepStrictEqual(left, right);
    default:
      return typeof left === typeof right && isOrdered(left) && isOrdered(right)
        ? compare(tree.name, left, right)
        : false;
  }
}

const isOrdered = (value: unknown): value is number | string =>
  typeof value === 'number' || typeof value === 'string';

function compare(name: string, left: number | string, right: number | string): boolean {
  if (name === '<') return left < right;
  if (name === '<=') return left <= right;
  return name === '>' ? left > right : left >= right;
}

function operandValue(
  { text, isSize }: Operand,
  item: Item | undefined,
  placeholders: Placeholders,
): unknown {
  const value = text.startsWith(':')
    ? known(placeholders.values, text)
    : item?.[text.startsWith('#') ? (known(placeholders.names, text) as string) : text];
  if (!isSize || value === undefined) return value;
  return value instanceof Set ? value.size : (value as { length: number }).length;
}

function known(placeholders: Readonly<Record<string, unknown>> | undefined, name: string): unknown {
  if (!placeholders || !(name in placeholders)) throw new Error(`${name} is not defined`);
  return placeholders[name];
}

/** The form of an action in each clause: the attribute and the value. */
const ACTIONS: Readonly<Record<string, RegExp>> = {
  SET: /^(#\w+) = (:\w+)$/,
  REMOVE: /^(#\w+)$/,
  ADD: /^(#\w+) (:\w+)$/,
  DELETE: /^(#\w+) (:\w+)$/,
};

/** The item after an update: SET and REMOVE of attributes, ADD and DELETE of numbers and sets. */
export function updated(item: Item, update: string, placeholders: Placeholders): Item {
  const after: Record<string, unknown> = { ...item };
  const [before, ...clauses] = update.split(/\b(SET|REMOVE|ADD|DELETE)\b/);
  if (before !== '' || clauses.length === 0) throw new Error(`Not understood: ${update}`);
  for (let position = 0; position < clauses.length; position += 2) {
    const [clause = '', actions = ''] = clauses.slice(position);
    for (const action of actions.split(',').map((each) => each.trim())) {
      const found = ACTIONS[clause]?.exec(action);
      if (!found) throw new Error(`Not understood: ${clause} ${action}`);
      const name = known(placeholders.names, found[1] as string) as string;
      const value = found[2] && known(placeholders.values, found[2]);
      if (clause === 'REMOVE') delete after[name];
      else if (clause === 'SET') after[name] = value;
      else if (clause === 'ADD') after[name] = sum(after[name], value);
      else remove(after, name, value as ReadonlySet<unknown>);
    }
  }
  return after as unknown as Item;
}

function sum(before: unknown, amount: unknown): unknown {
  if (amount instanceof Set) return new Set([...((before ?? []) as Set<unknown>), ...amount]);
  return Number(before ?? 0) + (amount as number);
}

function remove(after: Record<string, unknown>, name: string, members: ReadonlySet<unknown>): void {
  const left = [...((after[name] ?? []) as Set<unknown>)].filter((each) => !members.has(each));
  // A set without members does not exist.
  if (left.length > 0) after[name] = new Set(left);
  else delete after[name];
}
