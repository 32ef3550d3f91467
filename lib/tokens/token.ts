import { createHash } from 'node:crypto';
import * as v from 'valibot';
import type { Contract } from '../contract/contract.ts';
import { requireEnv } from '../runtime/execution-environment.ts';
import { count, type ItemDeclaration, text } from '../table/item-kind.ts';
import type { Key } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';

/* Access tokens: what they state, and the public keys that verify them. */

/** The `typ` and `alg` header parameters of access tokens (RFC 9068, RFC 7518). */
export const TOKEN_TYPE = 'at+jwt';
export const ALGORITHM = 'ES256';
/** The `aud` claim. */
export const AUDIENCE = 'gatehouse';
/** The type of a module's token; endpoints for users reject it. */
export const MODULE_TOKEN_TYPE = 'module+jwt';
export const MODULE_AUDIENCE = 'gatehouse-modules';
export const MODULE_TOKEN_SECONDS = 15 * 60;

/** The tolerated difference between the clocks of two machines. */
export const CLOCK_SKEW_SECONDS = 60;

/** The `iss` claim, which differs between environments. */
export const issuer = (): string => requireEnv('TOKEN_ISSUER');

/** The lifetime of a token in seconds: by default, and if the login requests `rememberMe`. */
export const tokenLifetimeSeconds = () => ({
  usual: Number(requireEnv('TOKEN_SECONDS')),
  remembered: Number(requireEnv('REMEMBERED_TOKEN_SECONDS')),
});

export const publicKeyItemKey = (kid: string): Key => ({ pk: 'JWKS', sk: kid });
/** Beside the keys, so that one query reads both. */
export const notBeforeKey: Key = { pk: 'JWKS', sk: 'NOT-BEFORE' };

export const publicKeyItem: ItemDeclaration = {
  pk: 'JWKS',
  sk: '<kid>',
  name: 'public signing key',
  attributes: () =>
    v.object({ jwk: v.object({ kid: text, kty: text, crv: text, x: text, y: text }) }),
  matches: ({ sk }) => sk !== notBeforeKey.sk,
  onForget: 'keep',
  onRestore: 'delete',
};
export const notBeforeItem: ItemDeclaration = {
  pk: 'JWKS',
  sk: 'NOT-BEFORE',
  name: 'earliest time of issue of valid tokens',
  attributes: () => v.object({ seconds: count }),
  onForget: 'keep',
  onRestore: 'change',
};

/** A public signing key as a JWK (RFC 7517). */
const publicJwk = v.strictObject({
  kty: v.literal('EC'),
  crv: v.literal('P-256'),
  x: v.string(),
  y: v.string(),
  kid: v.string(),
  alg: v.literal('ES256'),
  use: v.literal('sig'),
});
export type PublicJwk = v.InferOutput<typeof publicJwk>;

/** The public keys that verify tokens of people, and the earliest accepted issue time. */
interface KeySet {
  readonly keys: PublicJwk[];
  /**
   * Tokens issued before this time, in seconds since 1970, are rejected. Set when a restored table
   * is put into service.
   */
  readonly notBefore: number;
}

/** Reads the key set in one query. Throws SDK errors. */
export async function readKeySet(table: Table): Promise<KeySet> {
  const items = await table.query('JWKS');
  const isNotBefore = ({ sk }: Item) => sk === notBeforeKey.sk;
  return {
    keys: items.filter((item) => !isNotBefore(item)).map((item) => item.jwk as PublicJwk),
    notBefore: (items.find(isNotBefore)?.seconds as number | undefined) ?? 0,
  };
}

/**
 * The key id of a public P-256 key: its JWK thumbprint (RFC 7638), which orders the required
 * members by name.
 */
export function thumbprint({ x, y }: { readonly x: string; readonly y: string }): string {
  return createHash('sha256')
    .update(JSON.stringify({ crv: 'P-256', kty: 'EC', x, y }))
    .digest('base64url');
}

/** GET /.well-known/jwks.json: the public keys as a JWK Set (RFC 7517). */
export const PublishKeys = {
  tag: 'Tokens',
  summary: 'Get the public keys that verify tokens',
  access: 'public',
  headers: ['Cache-Control'],
  response: v.strictObject({ keys: v.array(publicJwk) }),
} satisfies Contract;
