import { canonical, caseless } from './fields.ts';
import type { Filter, Order } from './list-query.ts';

/* Which entities a list selects, and their order. */

type Values = Readonly<Record<string, unknown>>;
type Value = string | number | boolean;

/**
 * Whether an entity matches all filters. A missing value equals no operand and is neither less nor
 * greater than it. A set equals each of its values. Operands are brought into the compared form
 * once, not once per entity.
 */
export function matcherOf(filters: readonly Filter[]): (entity: object) => boolean {
  const tests = filters.map(testOf);
  return (entity) => tests.every((holds) => holds(entity as Values));
}

function testOf({ field, operator, operands }: Filter): (entity: Values) => boolean {
  const form = operator === 'contains' || operator === 'doesNotContain' ? caseless : canonical;
  const formOf = (value: Value) => (typeof value === 'string' ? form(value) : value);
  const wanted = operands.map(formOf);
  return (entity) => {
    const value = entity[field] as Value | readonly Value[] | undefined;
    const values = value === undefined ? [] : [value].flat().map(formOf);
    return isSelected(operator, values, wanted);
  };
}

function isSelected(
  operator: Filter['operator'],
  values: readonly Value[],
  operands: readonly Value[],
): boolean {
  const isHeld = (operand: Value) => values.includes(operand);
  const isPart = (operand: Value) =>
    values.some((value) => String(value).includes(String(operand)));
  const isSet = values.length > 0;
  switch (operator) {
    case 'equals':
      return operands.every(isHeld);
    case 'in':
      return operands.some(isHeld);
    case 'notEquals':
    case 'notIn':
      return !operands.some(isHeld);
    case 'specified':
      return operands.every((operand) => operand === isSet);
    case 'contains':
      return operands.every(isPart);
    case 'doesNotContain':
      return !operands.some(isPart);
    case 'greaterThan':
      return operands.every((operand) => values.some((value) => value > operand));
    case 'greaterThanOrEqual':
      return operands.every((operand) => values.some((value) => value >= operand));
    case 'lessThan':
      return operands.every((operand) => values.some((value) => value < operand));
    case 'lessThanOrEqual':
      return operands.every((operand) => values.some((value) => value <= operand));
  }
}

/**
 * Entities in an order. Ties are broken by id. Entities without a value come last in both
 * directions.
 */
export function sorted<E extends { readonly id: number }>(
  entities: readonly E[],
  sort: readonly Order[],
): E[] {
  // Each value is brought into the compared form once, not once per comparison.
  const rows = entities.map((entity) => ({
    entity,
    keys: sort.map(({ field, ignoreCase }) => {
      const value = (entity as Values)[field] as Value | undefined;
      return typeof value === 'string' ? (ignoreCase ? caseless(value) : canonical(value)) : value;
    }),
  }));
  rows.sort((a, b) => {
    for (const [index, { descending }] of sort.entries()) {
      const order = compare(a.keys[index], b.keys[index], descending);
      if (order !== 0) return order;
    }
    return a.entity.id - b.entity.id;
  });
  return rows.map(({ entity }) => entity);
}

function compare(a: Value | undefined, b: Value | undefined, descending: boolean): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  const order = Number(a > b) - Number(a < b);
  return descending ? -order : order;
}
