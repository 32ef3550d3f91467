import { randomUUID } from 'node:crypto';
import { Failure, type FailureCode } from '../contract/failure.ts';
import { totalKey } from './item-kind.ts';
import type { Key, Kind } from './keys.ts';

/*
 * Expressions are static ASCII text: names are passed as #placeholders and values as :placeholders,
 * so that client input never becomes part of an expression.
 */

/**
 * The meaning of a failed condition: the failure of a rule, or `retry` if the decision was made on
 * stale data.
 */
export type OnConditionFailed = FailureCode | 'retry';

/** The condition of a write, and the meaning of its failure. */
export interface Condition {
  readonly condition: string;
  readonly names?: Readonly<Record<string, string>>;
  readonly values?: Readonly<Record<string, unknown>>;
  readonly onConditionFailed: OnConditionFailed;
}

/** One action of a DynamoDB transaction. */
export interface Write extends Partial<Condition> {
  readonly act: 'Put' | 'Update' | 'Delete' | 'ConditionCheck';
  readonly key: Key;
  readonly attributes?: Readonly<Record<string, unknown>>;
  readonly update?: string;
}

/** Creates an item that must not exist. */
export function claim(
  key: Key,
  attributes: Record<string, unknown>,
  onConditionFailed: OnConditionFailed,
): Write {
  return { ...isAbsent(onConditionFailed), act: 'Put', key, attributes };
}

/** Creates or replaces an item, unconditionally. */
export function put(key: Key, attributes: Record<string, unknown>): Write {
  return { act: 'Put', key, attributes };
}

/** Sets attributes of an item, and removes attributes whose value is undefined. */
export function set(key: Key, attributes: Record<string, unknown>, condition?: Condition): Write {
  const names: Record<string, string> = {};
  const values: Record<string, unknown> = {};
  const sets: string[] = [];
  const removes: string[] = [];
  for (const [index, [name, value]] of Object.entries(attributes).entries()) {
    names[`#set${index}`] = name;
    if (value === undefined) removes.push(`#set${index}`);
    else {
      values[`:set${index}`] = value;
      sets.push(`#set${index} = :set${index}`);
    }
  }
  const update = [
    sets.length && `SET ${sets.join(', ')}`,
    removes.length && `REMOVE ${removes.join(', ')}`,
  ];
  return {
    ...condition,
    act: 'Update',
    key,
    update: update.filter(Boolean).join(' '),
    names: { ...condition?.names, ...names },
    values: { ...condition?.values, ...values },
  };
}

/** Adds to the attribute `n`; a missing one counts as zero. */
export function add(key: Key, amount: number): Write {
  return {
    act: 'Update',
    key,
    update: 'ADD #n :amount',
    names: { '#n': 'n' },
    values: { ':amount': amount },
  };
}

/**
 * Adds the number of created entities to the total of their kind, or a negative number for deleted
 * ones. `changes` only grows: two reads with the same value prove to the verification that nothing
 * was created or deleted in between.
 */
export function changeTotal(kind: Kind, amount: number): Write {
  return {
    act: 'Update',
    key: totalKey(kind),
    update: 'ADD #n :amount, #changes :one',
    names: { '#n': 'n', '#changes': 'changes' },
    values: { ':amount': amount, ':one': 1 },
  };
}

/** Deletes an item; without a condition, even one that does not exist. */
export function remove(key: Key, condition?: Condition): Write {
  return { ...condition, act: 'Delete', key };
}

/** A ConditionCheck on an item that the transaction does not write. */
export function check(key: Key, condition: Condition): Write {
  return { ...condition, act: 'ConditionCheck', key };
}

/**
 * Adds a condition to a write. DynamoDB rejects two actions on one item, so a ConditionCheck cannot
 * do this.
 */
export function withCondition(write: Write, condition: Condition): Write {
  return {
    ...write,
    condition: write.condition
      ? `(${write.condition}) AND (${condition.condition})`
      : condition.condition,
    names: { ...write.names, ...condition.names },
    values: { ...write.values, ...condition.values },
    onConditionFailed: write.onConditionFailed ?? condition.onConditionFailed,
  };
}

/**
 * Adds a condition on the item with this key: to the write of that item, or as the first action if
 * there is none.
 */
export function withConditionOn(
  { pk, sk }: Key,
  condition: Condition,
  writes: readonly Write[],
): Write[] {
  const own = writes.findIndex(({ key }) => key.pk === pk && key.sk === sk);
  return own < 0
    ? [check({ pk, sk }, condition), ...writes]
    : writes.map((write, position) => (position === own ? withCondition(write, condition) : write));
}

/** The version of the item is unchanged since it was read; otherwise the change is retried. */
export const versionIs = ({ version }: { readonly version: Version }): Condition =>
  attributesAre({ version });

/**
 * The attributes have these values, as when they were read; undefined means that the attribute is
 * absent. Otherwise the change is retried. Two conditions on one item that can expect different
 * values of an attribute need placeholders with different prefixes.
 */
export function attributesAre(expected: Readonly<Record<string, unknown>>, prefix = ''): Condition {
  const names = Object.keys(expected);
  const present = names.filter((name) => expected[name] !== undefined);
  const isAsExpected = (name: string) =>
    present.includes(name)
      ? `#${prefix}${name} = :${prefix}${name}`
      : `attribute_not_exists(#${prefix}${name})`;
  return {
    condition: names.map(isAsExpected).join(' AND '),
    names: Object.fromEntries(names.map((name) => [`#${prefix}${name}`, name])),
    values: Object.fromEntries(present.map((name) => [`:${prefix}${name}`, expected[name]])),
    onConditionFailed: 'retry',
  };
}

/** The item does not exist. */
export function isAbsent(onConditionFailed: OnConditionFailed = 'retry'): Condition {
  return { condition: 'attribute_not_exists(pk)', onConditionFailed };
}

/** The item exists; otherwise the change is retried. */
export const EXISTS: Condition = { condition: 'attribute_exists(pk)', onConditionFailed: 'retry' };

/**
 * Identifies one state of one entity: a count and 122 random bits. The count alone would be
 * ambiguous after an entity is created again under the same login, and after the table is restored
 * from a backup.
 */
export type Version = string;

/** The version of a newly created entity. */
export const firstVersion = (): Version => newVersion(1);

/** The version after a visible change. */
export const nextVersion = (version: Version): Version =>
  newVersion(Number.parseInt(version, 10) + 1);

const newVersion = (count: number): Version => `${count}-${randomUUID()}`;

/**
 * The versions of an entity that the client accepts, by If-Match and If-None-Match. Undefined
 * without these headers: it accepts any version.
 */
export type Precondition =
  | {
      includes(version: string): boolean;
      /** Whether it only names versions that it does not accept. */
      readonly isNegative?: boolean;
    }
  | undefined;

/** Fails with version-changed if the entity is not in a state that the client accepts. */
export function requireVersion(
  { version }: { readonly version: Version },
  precondition: Precondition,
): void {
  if (precondition && !precondition.includes(version)) throw new Failure('version-changed');
}
