import * as v from 'valibot';
import { instantOf, type Limits } from './fields.ts';

/**
 * The kind of value in a field, which determines its filter operators. A field `asSet` has any
 * number of the values: it equals each of them, and lists cannot be sorted by it. A `search` finds
 * a piece of one of several texts, and does nothing else.
 */
export type FieldKind =
  | 'number'
  | 'text'
  | 'search'
  | 'boolean'
  | 'date'
  | { readonly oneOf: readonly string[]; readonly asSet?: true };

/** A field to sort by, and its direction. Case means nothing to values that are not texts. */
export interface Order {
  readonly field: string;
  readonly descending: boolean;
  readonly ignoreCase?: boolean;
}

/**
 * A condition on a field, such as `login.contains=adm`. Operands have the field's type; dates are
 * ISO 8601 in UTC.
 */
export interface Filter {
  readonly field: string;
  readonly operator: Operator;
  readonly operands: readonly (string | number | boolean)[];
}

/** A decoded query string parameter. */
export type QueryParameter = readonly [name: string, value: string];

/**
 * The page, order and filters that a client requests for a list. `P` is where a page can start:
 * after this entity.
 */
export interface ListQuery<P = number> {
  readonly page: number;
  readonly size: number;
  readonly sort: readonly Order[];
  readonly filters: readonly Filter[];
  /**
   * The parameters behind `sort` and `filters`, as the client sent them. Links to other pages
   * repeat only these.
   */
  readonly parameters: readonly QueryParameter[];
  /** The entity after which the page starts, whatever its number; decoded from `cursor`. */
  readonly after: P | undefined;
}

const ANY = ['equals', 'notEquals', 'in', 'notIn', 'specified'] as const;
const ORDERED = ['greaterThan', 'greaterThanOrEqual', 'lessThan', 'lessThanOrEqual'] as const;
const TEXTUAL = ['contains', 'doesNotContain'] as const;
type Operator = (typeof ANY)[number] | (typeof ORDERED)[number] | (typeof TEXTUAL)[number];

/** What a list accepts, for the API document. */
export interface ListRules {
  readonly fields: Readonly<Record<string, FieldKind>>;
  readonly sortable: readonly string[];
  readonly pageSizeMax: number;
}

/** The parameters of a list besides filters. */
const CONTROLS: readonly string[] = ['page', 'size', 'sort', 'cursor'];
export const DEFAULT_SIZE = 20;
const PAGE_SIZE_MAX = 2000;

type Values = Record<string, string[]>;

/**
 * The query schema of a list; its input maps each parameter to all its values. It accepts `page`
 * (from 0) and `size`, where invalid values fall back to the default, `cursor`, and any number of
 * `sort=field,asc|desc,ignorecase`, `field.operator=value`, and `field=value`, which means
 * `equals`. Fields that cannot be sorted by, unknown fields and operators, unreadable operands and
 * invalid cursors are rejected, with what would have been accepted. Any other unknown parameter is
 * ignored, unless its name contains a dot or begins, in any case, with the name of a field or of
 * one of the parameters above, as in `login[equals]` and `sort[]`, or with one of `others`, which
 * entities have but lists cannot filter by: such a parameter must not select everything, nor leave
 * the order as it is.
 *
 * Cursors encode ids, and exist in the order of ids. A list with `positionOf` defines what its
 * cursors encode, and has them in all orders.
 */
export function listQuery<P = number>(
  fields: Readonly<Record<string, FieldKind>>,
  {
    pageSizeMax = PAGE_SIZE_MAX,
    sortable = Object.keys(fields).filter(
      (field) => fields[field] !== 'search' && !Object(fields[field]).asSet,
    ),
    others = [],
    positionOf,
  }: {
    pageSizeMax?: number;
    sortable?: readonly string[];
    others?: readonly string[];
    positionOf?: (text: string) => P | undefined;
  } = {},
) {
  const reserved = new Set(
    [...Object.keys(fields), ...others, ...CONTROLS].map((name) => name.toLowerCase()),
  );
  const decode = (positionOf ?? idOf) as (text: string) => P | undefined;
  return v.pipe(
    v.custom<Values>(() => true),
    v.metadata({ list: { fields, sortable, pageSizeMax } satisfies ListRules }),
    v.rawTransform(({ dataset: { value: values }, addIssue }): ListQuery<P> => {
      const wrong = new Map<string, Limits>();
      const filters: Filter[] = [];
      const filterTexts = Object.entries(values).filter(
        ([name]) =>
          !CONTROLS.includes(name) && (name.includes('.') || reserved.has(firstWord(name))),
      );
      for (const [name, texts] of filterTexts) {
        const filter = filterOf(fields, name, texts);
        if ('operands' in filter) filters.push(filter);
        else wrong.set(name, filter);
      }
      const sortTexts = (values.sort ?? []).filter((text) => orders(text).length > 0);
      const sort = sortTexts.flatMap(orders).filter(isDecisive);
      if (sort.some(({ field }) => !sortable.includes(field)))
        wrong.set('sort', { allowed: sortable });
      const after = values.cursor && decode(decodedCursor(values.cursor[0] as string));
      const byId = sortable.includes('id') && (sort[0]?.field ?? 'id') === 'id';
      if (values.cursor && (after === undefined || !(positionOf || byId))) wrong.set('cursor', {});
      for (const [key, limits] of wrong) {
        const place = {
          type: 'object',
          origin: 'value',
          input: values,
          key,
          value: values[key],
          limits,
        } as const;
        addIssue({ message: 'Pattern', path: [place] });
      }
      return {
        page: integerOr(values.page, 0, 0),
        size: Math.min(integerOr(values.size, 1, DEFAULT_SIZE), pageSizeMax),
        sort,
        filters,
        parameters: [
          ...sortTexts.map((text) => ['sort', text] as const),
          ...filterTexts.flatMap(([name, texts]) => texts.map((text) => [name, text] as const)),
        ],
        after,
      };
    }),
  );
}

/**
 * Higher page numbers mean this one: no list is that long, and greater numbers would be inexact in
 * links.
 */
const INTEGER_MAX = 999_999_999_999_999;

function integerOr(
  texts: readonly string[] | undefined,
  minimum: number,
  fallback: number,
): number {
  const text = texts?.[0] ?? '';
  return /^\d+$/.test(text) && Number(text) >= minimum
    ? Math.min(Number(text), INTEGER_MAX)
    : fallback;
}

/**
 * `login,desc` or `lastName,firstName,asc,ignorecase`, as in Spring Data: the direction, which is
 * ascending by default, and `ignorecase` apply to all fields of the text.
 */
function orders(text: string): Order[] {
  const given = text.split(',').map((word) => word.trim());
  const words = given.filter((word) => word !== '' && !isIgnoreCase(word));
  const direction = words.at(-1)?.toLowerCase();
  const named = direction === 'asc' || direction === 'desc' ? words.slice(0, -1) : words;
  return named.map((field) => ({
    field,
    descending: direction === 'desc',
    ignoreCase: given.some(isIgnoreCase),
  }));
}

const isIgnoreCase = (word: string): boolean => word.toLowerCase() === 'ignorecase';

/**
 * Whether no earlier order by the same field decides at least as much. Any other would decide
 * nothing and cost time; but texts that are equal without case can be ordered by case.
 */
function isDecisive({ field, ignoreCase }: Order, index: number, all: readonly Order[]): boolean {
  return !all
    .slice(0, index)
    .some((earlier) => earlier.field === field && (ignoreCase || !earlier.ignoreCase));
}

/** The first word of a parameter's name, in lower case: `sort` for `Sort[]`. */
const firstWord = (name: string): string => name.toLowerCase().replace(/\W.*/s, '');

/** A filter; if it is invalid, the fields, operators or operands that the list accepts. */
function filterOf(
  fields: Readonly<Record<string, FieldKind>>,
  parameter: string,
  texts: readonly string[],
): Filter | Limits {
  const [field, operator = 'equals', ...rest] = parameter.split('.') as [string, ...string[]];
  const kind = Object.hasOwn(fields, field) ? fields[field] : undefined;
  if (!kind) {
    return { allowed: CONTROLS.includes(firstWord(field)) ? CONTROLS : Object.keys(fields) };
  }
  const operators: readonly string[] = operatorsOf(kind);
  if (rest.length > 0 || !operators.includes(operator)) return { allowed: operators };
  const operandKind = operator === 'specified' ? 'boolean' : kind;
  const listed =
    operator === 'in' || operator === 'notIn' ? texts.flatMap((text) => text.split(',')) : texts;
  const operands = listed.map((text) => operandOf(operandKind, text));
  if (operands.some((operand) => operand === undefined)) return limitsOfOperands(operandKind);
  return { field, operator, operands } as Filter;
}

/** The operators of a kind of field. */
export function operatorsOf(kind: FieldKind): Operator[] {
  if (kind === 'search') return ['contains'];
  if (kind === 'text') return [...ANY, ...TEXTUAL];
  return kind === 'number' || kind === 'date' ? [...ANY, ...ORDERED] : [...ANY];
}

function operandOf(kind: FieldKind, text: string): string | number | boolean | undefined {
  if (typeof kind === 'object') return kind.oneOf.includes(text) ? text : undefined;
  if (kind === 'number')
    return /^-?\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text))
      ? Number(text)
      : undefined;
  if (kind === 'boolean') return text === 'true' || (text === 'false' ? false : undefined);
  if (kind === 'date') return instantOf(text);
  return text;
}

function limitsOfOperands(kind: FieldKind): Limits {
  if (typeof kind === 'object') return { allowed: kind.oneOf };
  return kind === 'boolean' ? { allowed: ['true', 'false'] } : {};
}

/** Encodes a position as a cursor, which is opaque so that clients do not compute with it. */
export function cursorAfter(position: number | string): string {
  return Buffer.from(`after ${position}`).toString('base64url');
}

/** The position that a cursor encodes; empty if it encodes none. */
function decodedCursor(cursor: string): string {
  return /^after (.*)$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'))?.[1] ?? '';
}

function idOf(text: string): number | undefined {
  // No id follows the largest safe integer, and the next number could not be represented exactly.
  return /^\d{1,16}$/.test(text) && Number(text) < Number.MAX_SAFE_INTEGER
    ? Number(text)
    : undefined;
}
