import { timingSafeEqual } from 'node:crypto';
import * as v from 'valibot';
import { Failure } from '../contract/failure.ts';
import { idFromText } from '../contract/fields.ts';
import { networkOf } from '../contract/source.ts';
import { recentValues } from '../runtime/execution-environment.ts';
import { ignoreUnavailable } from '../table/change.ts';
import { count, type ItemDeclaration, text } from '../table/item-kind.ts';
import { idText, type Key } from '../table/keys.ts';
import type { OnConsumed, Table } from '../table/table.ts';
import { set } from '../table/write.ts';
import type { Caller, CallerFrom } from '../users/caller.ts';
import { apiTokenKey, apiTokenOf } from '../users/session-item.ts';
import { hasChecksum, hashOfSecret, hourOf, newSecret, randomDigits } from './secret.ts';

/*
 * API tokens: `gha_<user id>_<series>_<secret>`. Scripts send them as bearer tokens. They have no
 * signature, because their item, without which they are worth nothing, has their hash.
 */

const PREFIX = 'gha_';
const API_TOKEN = /^Bearer (gha_\d{1,16}_[0-9A-Za-z]{22}_[0-9A-Za-z]{49})$/i;

/** A new series, which begins with the time; 72 random bits have 13 digits at most. */
export const newTokenSeries = (now: number): string =>
  now.toString(36).padStart(9, '0') + randomDigits(9, 13);

/** A new token with this series, which is stored nowhere. */
export const newApiToken = (userId: number, series: string): string =>
  newSecret(PREFIX, `${userId}_${series}_`);

/** The API token in an Authorization header, with what its text says of it. */
interface SentToken {
  readonly token: string;
  readonly userId: number;
  readonly series: string;
}

/** The API token in the value of an Authorization header; undefined if there is none. */
export function apiTokenIn(authorization: string): SentToken | undefined {
  const token = API_TOKEN.exec(authorization)?.[1];
  if (!token?.startsWith(PREFIX) || !hasChecksum(token, PREFIX)) return undefined;
  const [, id, series] = token.split('_') as [string, string, string];
  const userId = idFromText(id);
  return userId === undefined ? undefined : { token, userId, series };
}

/**
 * Verifies an API token by its item. Whether its user has ended it is read with the user. Fails
 * with invalid-token.
 */
export async function verifyApiToken(
  table: Table,
  { token, userId, series }: SentToken,
): Promise<Caller> {
  const item = await table.get(apiTokenKey(series));
  const stored = item && apiTokenOf(item);
  // The hash covers the id of the user.
  const isRight =
    stored !== undefined &&
    Date.now() < stored.expires * 1000 &&
    timingSafeEqual(Buffer.from(stored.hash), Buffer.from(hashOfSecret(token)));
  if (!isRight) throw new Failure('invalid-token');
  return { id: userId, jti: series, expires: stored.expires, scopes: stored.scopes };
}

const USES = 'TOKEN-USE#';
const partition = (userId: number): string => `${USES}${idText(userId)}`;
/** Whether the key is one of a use. */
export const isTokenUse = ({ pk }: Key): boolean => pk.startsWith(USES);
/** The id of the user whose token was used. */
export const userOfTokenUse = ({ pk }: Key): number => Number(pk.slice(USES.length));
/** The series of a token and the network from which it was used. */
const tokenUseKey = ({ id, jti, source }: CallerFrom): Key => ({
  pk: partition(id),
  sk: `${jti}#${networkOf(source)}`,
});
/** The stream hands a new one over, which is then audited. */
export const tokenUseItem: ItemDeclaration = {
  pk: 'TOKEN-USE#<user id>',
  sk: '<series>#<network>',
  name: 'use of an API token from a network',
  attributes: () =>
    v.object({
      series: text,
      source: text,
      lastUsed: text,
      isAudited: v.optional(v.literal(true)),
      expires: count,
    }),
  personal: ['source', 'lastUsed', 'expires'],
  onForget: 'delete',
  onRestore: 'delete',
};

/** A use of an API token, as stored until the token expires. */
export interface TokenUse {
  readonly series: string;
  /** An address of the network, of a request in the last hour of use. */
  readonly source: string;
  /** To the hour. ISO 8601, UTC. */
  readonly lastUsed: string;
  /** Whether the audit trail has the first use from this network. */
  readonly isAudited?: true;
}

const HOUR_MS = 60 * 60 * 1000;
const USES_MAX = 1000;

/** Records uses of API tokens: once an hour for each network and instance of a function. */
export function openTokenUses(table: Table): (caller: CallerFrom) => Promise<void> {
  const recorded = recentValues<string>(USES_MAX, HOUR_MS);
  return async (caller) => {
    const { jti: series, source, expires } = caller;
    const key = tokenUseKey(caller);
    const lastUsed = hourOf(Date.now());
    if (recorded.get(key.sk) === lastUsed) return;
    const use = { series, source, lastUsed, expires };
    const record = async () => {
      await table.update(set(key, use));
      recorded.set(key.sk, lastUsed);
    };
    await ignoreUnavailable(record());
  };
}

const LISTED_USES_MAX = 1000;

/** The latest use of each API token of a user, by the series. */
export async function findTokenUses(
  table: Table,
  userId: number,
  onConsumed: OnConsumed,
): Promise<ReadonlyMap<string, TokenUse>> {
  // Of the newest tokens first: a series begins with the time.
  const range = { backwards: true, limit: LISTED_USES_MAX };
  const uses = await table.query(partition(userId), range, onConsumed);
  const latest = new Map<string, TokenUse>();
  for (const use of uses as unknown as TokenUse[])
    if (use.lastUsed > (latest.get(use.series)?.lastUsed ?? '')) latest.set(use.series, use);
  return latest;
}
