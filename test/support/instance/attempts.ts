import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, expect } from 'vitest';
import { openFaults } from '../../../infra/local/aws/faults.ts';
import type { Interceptor } from '../../../infra/local/calls/aws-call.ts';
import { attributesOf, type Item } from '../../../lib/table/table.ts';
import { put, type Write } from '../../../lib/table/write.ts';
import { isOfRequest } from '../costs/consumed-units.ts';
import { useGatehouse } from './gatehouse.ts';
import { itemsOf } from './items.ts';
import type { Gatehouse, Received } from './launch.ts';

/*
 * What the tests of attempts share. Each 127.0.n is a separate network on the loopback interface;
 * requests come from HOME unless `from` is set.
 */

export const HOME = '127.0.0.1';
export const NEIGHBOUR = '127.0.0.99';
export const AWAY = '127.0.7.1';

export const statuses = (responses: readonly Received[]) => responses.map(({ status }) => status);
export const statusAndWait = ({ status, headers }: Received) => [status, headers['retry-after']];

/** Only password hashing requests a MAC of exactly 32 bytes. */
const isHash = (operation: string, input: Record<string, unknown>): boolean =>
  operation === 'GenerateMac' && Buffer.from(String(input.Message), 'base64').length === 32;

interface Options {
  readonly from?: string;
  readonly headers?: Record<string, string>;
  readonly mayCrash?: true;
}

/** What a test watches of the calls of functions, and does to them. */
interface Watched {
  calls: string[];
  /** Selects the calls that faults apply to; all unless given. */
  isFaulty?: ((operation: string, input: string) => boolean) | undefined;
  delayed?: { readonly operation: string; readonly ms: number } | undefined;
}

/** The instance that test files share, with what makes attempts and reads and changes counts. */
export async function useAttempts() {
  const faults = openFaults();
  const watched: Watched = { calls: [] };
  const intercept: Interceptor = (call, forward) => {
    const { operation, input, functionName } = call;
    if (functionName && operation === watched.delayed?.operation)
      return wait(watched.delayed.ms).then(() => faults.intercept(call, forward));
    if (isOfRequest(call)) watched.calls.push(isHash(operation, input) ? 'hash' : operation);
    if (watched.isFaulty && !watched.isFaulty(operation, JSON.stringify(input))) return forward();
    return faults.intercept(call, forward);
  };
  const gatehouse = await useGatehouse({ intercept });
  afterEach(() => {
    faults.inject([]);
    Object.assign(watched, { isFaulty: undefined, delayed: undefined });
  });

  const logIn = (username: string, password: string, sent: Options = {}) =>
    gatehouse.call('POST', '/api/authenticate', { body: { username, password }, ...sent });
  const tryWrongPassword = (username: string, options?: Options) =>
    logIn(username, 'wrong', options);
  const changePassword = (token: string, currentPassword: string, from = HOME) =>
    gatehouse.call('POST', '/api/account/change-password', {
      token,
      from,
      body: { currentPassword, newPassword: currentPassword },
      mayCrash: true,
    });
  const finishReset = (from: string, key = 'wrong') =>
    gatehouse.call('POST', '/api/account/reset-password/finish', {
      body: { key, newPassword: 'fresh' },
      from,
    });
  return {
    ...countsOf(gatehouse, tryWrongPassword),
    gatehouse,
    faults,
    watched,
    logIn,
    tryWrongPassword,
    changePassword,
    finishReset,
    hashes: () => watched.calls.filter((call) => call === 'hash').length,
  };
}

function countsOf(
  { cloud, table }: Gatehouse,
  tryWrongPassword: (username: string, options?: Options) => Promise<Received>,
) {
  const stored = async () =>
    [...(await itemsOf(cloud)).values()].filter(({ pk }) => pk.startsWith('ATTEMPTS#'));
  const transact = async (writes: readonly Write[]) => {
    if (writes.length > 0) await table.transact(writes, randomUUID());
  };
  return {
    stored,
    /** Deletes all counts, because `rewrite` changes every stored count of a kind. */
    async deleteCounts(): Promise<void> {
      await transact((await stored()).map(({ pk, sk }) => ({ act: 'Delete', key: { pk, sk } })));
    },
    /** Changes attributes of all counts whose sort key matches. */
    async rewrite(sk: RegExp, change: (item: Item) => Record<string, unknown>): Promise<void> {
      const items = (await stored()).filter((item) => sk.test(item.sk));
      await transact(
        items.map((item) =>
          put({ pk: item.pk, sk: item.sk }, { ...attributesOf(item), ...change(item) }),
        ),
      );
    },
    /** One failed attempt; the others are only counted, because each would cost a hash. */
    async addFailures(username: string, times: number, options?: Options): Promise<void> {
      const before = new Map((await stored()).map(({ pk, sk, last }) => [`${pk} ${sk}`, last]));
      expect((await tryWrongPassword(username, options)).status).toBe(401);
      const [counted] = (await stored()).filter(
        ({ pk, sk, last }) => !sk.startsWith('SOURCE') && before.get(`${pk} ${sk}`) !== last,
      );
      const { pk, sk, ...attributes } = counted as Item;
      await transact([put({ pk, sk }, { ...attributes, n: Number(attributes.n) + times - 1 })]);
    },
    /** The failures of the sources that have any. */
    failuresOfSources: async () =>
      (await stored()).filter(({ sk, n }) => sk.startsWith('SOURCE') && n !== 0).map(({ n }) => n),
  };
}

/**
 * Moves the last failures of all logins to this many seconds ago. A time to come lets a wait last:
 * a slow machine needs as long as a wait of a few seconds to make the next attempt.
 */
export async function lastFailedAgo(
  { cloud, table }: Pick<Gatehouse, 'cloud' | 'table'>,
  seconds: number,
): Promise<void> {
  for (const { pk, sk, ...attributes } of (await itemsOf(cloud)).values())
    if (pk.startsWith('ATTEMPTS#') && /^(NETWORK|ELSEWHERE)/.test(sk)) {
      const moved = { ...attributes, last: Date.now() - seconds * 1000 };
      await table.transact([put({ pk, sk }, moved)], randomUUID());
    }
}
