import assert from 'node:assert/strict';
import type { Access } from '../../lib/contract/contract.ts';
import type { ModuleCaller } from '../../lib/modules/module-caller.ts';
import { settleAll } from '../../lib/runtime/waiting.ts';
import type { Key, Sequence } from '../../lib/table/keys.ts';
import type { SnapshotTable } from '../../lib/table/snapshot.ts';
import type { Item, Range } from '../../lib/table/table.ts';
import type { Write } from '../../lib/table/write.ts';
import type { Caller } from '../../lib/users/caller.ts';
import { awsError, cancelledBy } from '../support/doubles/aws-calls.ts';
import {
  asWritten,
  found,
  type Holds,
  type Items,
  nameOf,
  queried,
  transacted,
} from '../support/doubles/memory-engine.ts';

/** A request of a scenario. */
export interface Request {
  /** As a sentence: "ada deletes bob". */
  readonly name: string;
  /** Of its row in routes.ts. */
  readonly handler: string;
  /** The user that makes it, and what the row requires of that user. */
  readonly caller?: Caller;
  readonly access?: Access;
  /** The module that makes it. */
  readonly module?: ModuleCaller;
  /** Its code. What it returns is what its client sees. */
  readonly run: (table: SnapshotTable) => Promise<unknown>;
  /** The partition keys that its function may write: whole, or up to their `#`. */
  readonly writes: readonly string[];
  /** Whether its code goes on before all of its parallel calls have ended. */
  readonly readsAhead?: true;
  /** Whether it may fail with version-changed whenever something else changes meanwhile. */
  readonly mayDecline?: true;
  /** Why a transaction of it is not what the plan states that its client has seen, or undefined. */
  readonly notAsPlanned?: (before: World, after: World) => Promise<string | undefined>;
}

/** What a request asks the table for. */
export type Asked =
  | { readonly operation: 'get'; readonly keys: readonly [Key] }
  | { readonly operation: 'getAll' | 'snapshot'; readonly keys: readonly Key[] }
  | { readonly operation: 'query'; readonly pk: string; readonly range: Range }
  | { readonly operation: 'update'; readonly writes: readonly [Write] }
  | {
      readonly operation: 'transact';
      readonly writes: readonly Write[];
      readonly token: string;
    };

/** A call of a request to the table. */
export type Call = Asked & {
  readonly id: number;
  readonly by: Request;
};

/** Whether the condition of a write of a request holds for the stored item. */
export type HoldsFor = (write: Write, item: Item | undefined, by: Request) => boolean;

/** What a call returned, or the error with which it failed. */
export interface Reply {
  readonly id: number;
  readonly items?: readonly (Item | undefined)[];
  /** The codes of a transaction that was cancelled. */
  readonly codes?: readonly string[];
  /** The response was lost, or the call never arrived. */
  readonly isLost?: true;
  /** The call was rejected as no call of the rules should be. */
  readonly error?: Error;
}

/** The items of the table at one moment, and the client tokens of committed transactions. */
export interface World {
  readonly id: number;
  readonly items: Items;
}

/**
 * Makes equal items, worlds and replies the same objects, with ids of which the keys of states are
 * made. One for all that is explored of a scenario.
 */
export class Interned {
  readonly #ids = new Map<string, number>();
  readonly #items = new Map<string, Item>();
  readonly #idsOfItems = new WeakMap<Item, number>();
  readonly #worlds = new Map<string, World>();
  readonly #replies = new Map<string, Reply>();

  /** The world with these items, as the engine stores them. */
  world(items: Iterable<Item>): World {
    const interned = new Map([...items].map((item) => [nameOf(item), this.#item(item)]));
    const name = [...interned.values()]
      .map((item) => this.#idsOfItems.get(item) as number)
      .sort((a, b) => a - b)
      .join();
    return getOrMake(this.#worlds, name, () => ({
      id: this.#idOf(`world ${name}`),
      items: interned,
    }));
  }

  /** The reply with these items. */
  read(items: readonly (Item | undefined)[]): Reply {
    const interned = items.map((item) => item && this.#item(item));
    const ids = interned.map((item) => (item ? this.#idsOfItems.get(item) : '-'));
    return this.#reply({ items: interned }, `items ${ids.join()}`);
  }

  /** The reply of a call that failed: lost, or rejected with codes. */
  failed(reason: 'lost' | readonly string[]): Reply {
    return reason === 'lost'
      ? this.#reply({ isLost: true }, 'lost')
      : this.#reply({ codes: reason }, reason.join());
  }

  /** The reply of a call that the engine rejects. */
  rejected(error: Error): Reply {
    return this.#reply({ error }, `${error.name} ${error.message}`);
  }

  #reply(reply: Omit<Reply, 'id'>, text: string): Reply {
    return getOrMake(this.#replies, text, () => ({ id: this.#idOf(`reply ${text}`), ...reply }));
  }

  #item(item: Item): Item {
    if (this.#idsOfItems.has(item)) return item;
    const text = textOf(item);
    return getOrMake(this.#items, text, () => {
      this.#idsOfItems.set(item, this.#idOf(`item ${text}`));
      return item;
    });
  }

  #idOf(text: string): number {
    return getOrMake(this.#ids, text, () => this.#ids.size);
  }
}

/** The value of a key, made when it is first asked for. */
export function getOrMake<K, V>(values: Map<K, V>, key: K, make: () => V): V {
  let value = values.get(key);
  if (value === undefined) {
    value = make();
    values.set(key, value);
  }
  return value;
}

/** Serves calls. What a call does in a world is computed once. */
export class Engine {
  readonly interned: Interned;
  readonly #isMet: HoldsFor;
  readonly #served = new Map<string, { readonly reply: Reply; readonly world: World }>();

  constructor(interned: Interned, isMet: HoldsFor = asWritten) {
    this.interned = interned;
    this.#isMet = isMet;
  }

  /** What a call returns in a world, and the world after it. */
  execute(call: Call, world: World): { readonly reply: Reply; readonly world: World } {
    return getOrMake(this.#served, `${world.id} ${call.id}`, () => {
      try {
        return this.#execute(call, world);
      } catch (error) {
        return { reply: this.interned.rejected(error as Error), world };
      }
    });
  }

  #execute(call: Call, world: World) {
    const { items } = world;
    const { interned } = this;
    const isMet: Holds = (write, item) => this.#isMet(write, item, call.by);
    switch (call.operation) {
      case 'get':
      case 'getAll':
      case 'snapshot':
        return { reply: interned.read(found(items, call.keys)), world };
      case 'query':
        return { reply: interned.read(queried(items, call.pk, call.range)), world };
      case 'update': {
        const { codes, items: after } = transacted(items, call.writes, isMet);
        if (codes[0] !== 'None') return { reply: interned.read([undefined]), world };
        const [{ key }] = call.writes;
        return {
          reply: interned.read([after.get(nameOf(key))]),
          world: interned.world(after.values()),
        };
      }
      case 'transact': {
        const token: Item = { pk: TOKEN, sk: call.token, writes: textOf(call.writes) };
        const ok = interned.read([]);
        const spent = items.get(nameOf(token));
        if (spent && spent.writes !== token.writes)
          throw awsError('IdempotentParameterMismatchException');
        if (spent) return { reply: ok, world };
        const { codes, items: after } = transacted(items, call.writes, isMet);
        if (after === items) return { reply: interned.failed(codes), world };
        return { reply: ok, world: interned.world([...after.values(), token]) };
      }
    }
  }
}

const TOKEN = 'CLIENT-TOKEN';

/** The items of a world without the client tokens. */
export const itemsOf = ({ items }: World): Item[] =>
  [...items.values()].filter(({ pk }) => pk !== TOKEN);

/** The JSON of a value, the same for equal values. */
export const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, part) => {
    if (part instanceof Set) return { set: [...part].sort() };
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(
      Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)),
    );
  });

/**
 * Counters of accounts, which no scenario fills, and uses of API tokens: their reads and updates
 * interfere with nothing.
 */
const isBudget = ({ pk }: Key): boolean => /^(CHANGES|READS|TOKEN-USE)#/.test(pk);

/** A call that waits for its reply. */
export interface Waiting {
  readonly asked: Asked;
  readonly answer: (reply: Reply) => void;
}

/** The first id that a request draws. Its repetition and other requests begin at others. */
export const FIRST_ID = 2000;

/**
 * A table that adds every call to `waiting`. `nextId` returns an id of this run at once: which ids
 * others receive matters to nobody.
 */
export function waitingTable(waiting: Waiting[], firstId: number): SnapshotTable {
  let nextId = firstId;
  const replied = (asked: Asked) =>
    new Promise<Reply>((resolve, reject) => {
      const answer = (reply: Reply) => {
        if (reply.isLost) reject(awsError('TimeoutError'));
        else if (reply.error) reject(reply.error);
        else if (reply.codes) reject(cancelledBy(...reply.codes));
        else resolve(reply);
      };
      waiting.push({ asked, answer });
    });
  const items = async (asked: Asked) => [...((await replied(asked)).items ?? [])];
  return {
    get: async (key) => (await items({ operation: 'get', keys: [key] }))[0],
    async getAll(keys, onConsumed) {
      onConsumed?.(keys.length);
      if (keys.every(isBudget)) return keys.map(() => undefined);
      assert.equal(
        new Set(keys.map(nameOf)).size,
        keys.length,
        'DynamoDB rejects a batch with a key twice',
      );
      // DynamoDB reads each item of a batch at a moment of its own.
      return settleAll(keys.map((key) => this.get(key)));
    },
    async snapshot(keys, onConsumed) {
      onConsumed(2 * keys.length);
      return items({ operation: 'snapshot', keys });
    },
    async query(pk, range = {}, onConsumed) {
      onConsumed?.(1);
      return (await items({ operation: 'query', pk, range })) as Item[];
    },
    nextId: async (_kind: Sequence) => nextId++,
    async update(write) {
      if (isBudget(write.key)) return { ...write.key };
      return (await items({ operation: 'update', writes: [write] }))[0];
    },
    async transact(writes, token) {
      await replied({ operation: 'transact', writes, token });
    },
  };
}
