import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import * as v from 'valibot';
import { logError } from '../runtime/log.ts';
import { commit } from '../table/change.ts';
import { count, type ItemDeclaration, text } from '../table/item-kind.ts';
import type { Key } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import { put } from '../table/write.ts';

/*
 * The keys of issuers. A scheduled function fetches them, so that no request calls outwards: a
 * provider that is slow, down or hostile changes nothing for requests.
 */

/** An issuer of tokens, and where it publishes its keys. */
export interface KeySource {
  readonly issuer: string;
  /** The URL of its JWK Set. */
  readonly keys: string;
}

export const issuerKeysKey = (issuer: string): Key => ({ pk: `ISSUER#${issuer}`, sk: 'KEYS' });
export const issuerKeysItem: ItemDeclaration = {
  pk: 'ISSUER#<issuer>',
  sk: 'KEYS',
  name: 'public keys of an issuer',
  attributes: () =>
    v.object({ keys: v.array(v.object({ kid: text, kty: text })), fetchedAt: count }),
  onForget: 'keep',
  onRestore: 'delete',
};

/** How long keys are used that could not be fetched again: a provider withdraws lost keys. */
const KEYS_AGE_MS_MAX = 24 * 60 * 60_000;
/** Keys that stay are stored again after this time, so that their age is known. */
const STORED_AGE_MS_MAX = 10 * 60_000;
/** After it, each fetch that fails is a failed invocation. */
const SILENT_AGE_MS_MAX = 60 * 60_000;

const MISSING_KEYS = { field: 'missingKeys', unit: 'Count', dimensions: [[]] } as const;

const TIMEOUT_MS = 5000;
const BYTES_MAX = 64 * 1024;
const KEYS_MAX = 40;

/** What a key needs to be used, besides its parameters; other members are not stored. */
const jwk = v.pipe(
  v.object({
    kid: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
    kty: v.picklist(['RSA', 'EC', 'OKP']),
    use: v.optional(v.literal('sig')),
    alg: v.optional(v.string()),
    crv: v.optional(v.string()),
    n: v.optional(v.string()),
    e: v.optional(v.string()),
    x: v.optional(v.string()),
    y: v.optional(v.string()),
  }),
  v.check((key) => isStrong(key)),
);
export type IssuerKey = v.InferOutput<typeof jwk>;

/** Whether a key can be imported, and is not an RSA key that could be factored (RFC 7518, 3.3). */
function isStrong(key: object): boolean {
  try {
    const { asymmetricKeyDetails } = createPublicKey({ key: key as JsonWebKey, format: 'jwk' });
    return (asymmetricKeyDetails?.modulusLength ?? 2048) >= 2048;
  } catch {
    return false;
  }
}

/** The keys that are stored for an issuer, unless they are too old. `now` is in milliseconds. */
export function keysIn(item: Item | undefined, now: number): readonly IssuerKey[] {
  const isUsable = item && now - (item.fetchedAt as number) <= KEYS_AGE_MS_MAX;
  return isUsable ? (item.keys as IssuerKey[]) : [];
}

/**
 * The usable keys of a JWK Set; others, such as keys for encryption, are left out. Throws without
 * any: a broken document must not replace the keys that are stored.
 */
export function usableKeys(document: unknown): IssuerKey[] {
  const { keys } = v.parse(v.object({ keys: v.array(v.unknown()) }), document);
  const usable = keys.slice(0, KEYS_MAX).flatMap((key) => {
    const { success, output } = v.safeParse(jwk, key);
    return success ? [output] : [];
  });
  if (usable.length === 0) throw unusable('NO_KEY');
  return usable;
}

/** An error whose code is logged: a message would not be. */
const unusable = (code: string): Error => Object.assign(new Error(code), { code });

/** Fetches a JWK Set. Throws for anything but a document of a usual size that comes in time. */
async function fetchKeys(url: string): Promise<IssuerKey[]> {
  const response = await fetch(url, {
    // A redirect could lead to an address that the settings do not name.
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (!response.ok) throw unusable(`HTTP_${response.status}`);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > BYTES_MAX) throw unusable('TOO_LARGE');
    chunks.push(chunk);
  }
  return usableKeys(JSON.parse(Buffer.concat(chunks).toString('utf8')));
}

/**
 * Fetches the keys of all issuers and stores those that have changed. An issuer whose keys cannot
 * be fetched keeps the stored ones, and is logged; throws for it once they are an hour old or none
 * are stored.
 */
export async function refreshKeys(table: Table, sources: readonly KeySource[]): Promise<void> {
  const results = await Promise.allSettled(sources.map((source) => refresh(table, source)));
  if (results.some(({ status }) => status === 'rejected'))
    throw new Error('The keys of an issuer are missing or have not been fetched for an hour');
}

async function refresh(table: Table, { issuer, keys: url }: KeySource): Promise<void> {
  const key = issuerKeysKey(issuer);
  const stored = await table.get(key);
  const now = Date.now();
  const age = stored ? now - (stored.fetchedAt as number) : Number.POSITIVE_INFINITY;
  let keys: IssuerKey[];
  try {
    keys = await fetchKeys(url);
  } catch (error) {
    const isAlarming = age > SILENT_AGE_MS_MAX;
    const metrics = isAlarming ? [MISSING_KEYS] : [];
    // `fetch` hides what has failed.
    const { cause } = error as Error;
    logError(
      'keysNotFetched',
      cause ?? error,
      { issuer, ...(isAlarming && { missingKeys: 1 }) },
      ...metrics,
    );
    if (isAlarming) throw error;
    return;
  }
  // Not by their JSON: the table does not keep the order of members.
  const isSame = isDeepStrictEqual(stored?.keys, keys);
  if (isSame && age < STORED_AGE_MS_MAX) return;
  // Lost in a conflict with another fetch, whose keys are as new.
  await commit(table, [put(key, { keys, fetchedAt: now })]);
}
