import type { FailureCode } from '../contract/failure.ts';
import { type Key, type Kind, totalKey } from './keys.ts';
import type { Version } from './version.ts';

/*
 * Expressions are static ASCII text: names go through #n and values through :v, and no text of a client ever becomes
 * part of one.
 */

/** What a broken condition means: a rule that refuses, or that the decision was taken on what is no longer true. */
export type OnConditionFailed = FailureCode | 'retry';

/** The condition of a write, and what it means when it does not hold. */
export interface Condition {
  readonly condition: string;
  readonly names?: Readonly<Record<string, string>>;
  readonly values?: Readonly<Record<string, unknown>>;
  readonly onConditionFailed: OnConditionFailed;
}

/** One action of a transaction. */
export interface Write extends Partial<Condition> {
  readonly act: 'Put' | 'Update' | 'Delete' | 'ConditionCheck';
  readonly key: Key;
  readonly attributes?: Readonly<Record<string, unknown>>;
  readonly update?: string;
}

/** Claims a key that nobody holds. */
export function claim(key: Key, attributes: Record<string, unknown>, onConditionFailed: OnConditionFailed): Write {
  return { act: 'Put', key, attributes, condition: 'attribute_not_exists(pk)', onConditionFailed };
}

/** Writes a whole item, whatever was there. */
export function put(key: Key, attributes: Record<string, unknown>): Write {
  return { act: 'Put', key, attributes };
}

/** Sets attributes of an item, and removes those whose value is undefined. */
export function set(key: Key, attributes: Record<string, unknown>, condition: Condition): Write {
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
  const update = [sets.length && `SET ${sets.join(', ')}`, removes.length && `REMOVE ${removes.join(', ')}`];
  return {
    ...condition,
    act: 'Update',
    key,
    update: update.filter(Boolean).join(' '),
    names: { ...condition.names, ...names },
    values: { ...condition.values, ...values },
  };
}

/** Adds to a number, which starts at zero. */
export function add(key: Key, amount: number): Write {
  return { act: 'Update', key, update: 'ADD #n :amount', names: { '#n': 'n' }, values: { ':amount': amount } };
}

/**
 * Adds created entities to the total of their kind, or subtracts deleted ones. `changes` only ever grows: between two
 * reads with the same value nothing was created or deleted, which the verification of a total relies on.
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

/** Removes an item. */
export function remove(key: Key, condition: Condition): Write {
  return { ...condition, act: 'Delete', key };
}

/** Changes nothing, and demands something of an item that the transaction does not write. */
export function check(key: Key, condition: Condition): Write {
  return { ...condition, act: 'ConditionCheck', key };
}

/** The same write under one more condition: two actions on one item are refused, so what else must hold of it goes here. */
export function withCondition(write: Write, condition: Condition): Write {
  return {
    ...write,
    condition: write.condition ? `(${write.condition}) AND (${condition.condition})` : condition.condition,
    names: { ...write.names, ...condition.names },
    values: { ...write.values, ...condition.values },
    onConditionFailed: write.onConditionFailed ?? condition.onConditionFailed,
  };
}

/** The item is as it was read. */
export function versionIs(item: { readonly version: Version }): Condition {
  return {
    condition: '#version = :version',
    names: { '#version': 'version' },
    values: { ':version': item.version },
    onConditionFailed: 'retry',
  };
}
