import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { verifyJwtSync } from 'aws-jwt-verify/jwt-verifier';
import { Failure } from '../contract/failure.ts';
import { awaitInColdStart } from '../runtime/execution-environment.ts';
import { settleAll } from '../runtime/waiting.ts';
import type { Table } from '../table/table.ts';
import type { Caller } from '../users/caller.ts';
import { apiTokenIn, verifyApiToken } from './api-token.ts';
import {
  ALGORITHM,
  AUDIENCE,
  CLOCK_SKEW_SECONDS,
  issuer,
  type PublicJwk,
  readKeySet,
  TOKEN_TYPE,
  tokenLifetimeSeconds,
} from './token.ts';

/** Verifies the access token of a request. */
export interface Verifier<T = Caller> {
  /**
   * Takes the value of the Authorization header. Fails with unauthorized without it, with
   * invalid-token, or as reads of the table do.
   */
  verify(authorization: string | undefined): Promise<T>;
}

type Claims = Readonly<Record<string, unknown>>;

/** A kind of tokens, which no endpoint accepts that does not name it. */
interface TokenKind<T> {
  /** The `typ` header parameter and the `aud` claim. */
  readonly type: string;
  readonly audience: string;
  readonly secondsMax: number;
  /** Whether the claims that only this kind has are such as this service issues. */
  readonly isComplete: (claims: Claims) => boolean;
  readonly callerOf: (claims: Claims) => T;
}

/** A kind whose keys verify no tokens of other kinds. */
export interface KeyedTokenKind<T> extends TokenKind<T> {
  readonly readKeys: () => Promise<readonly PublicJwk[]>;
}

/** The tokens of people, which the keys in the table verify. */
const personToken = (): TokenKind<Caller> => ({
  type: TOKEN_TYPE,
  audience: AUDIENCE,
  secondsMax: tokenLifetimeSeconds().remembered,
  isComplete: isOfPerson,
  callerOf,
});

/**
 * `Bearer` in any case (RFC 9110, 11.1), one space and a JWS in compact form whose ES256 signature
 * has exactly 64 bytes.
 */
const BEARER = /^Bearer ([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{86})$/i;
const HEADER_LENGTH_MAX = 2048;
/** The maximum age of the key set, and the minimum interval between reads for unknown key ids. */
const KEY_SET_MAX_AGE_MS = 5 * 60_000;
const UNKNOWN_KEY_INTERVAL_MS = 30_000;
/** Verified tokens that are remembered; each takes up to 2 KB. */
const VERIFIED_TOKENS_MAX = 100;

/**
 * Opens a verifier that never fetches a JWK Set: the public keys in the table verify the tokens of
 * people, and each other kind has keys of its own. The first read of the keys starts here, so that
 * the read and the connection that it opens are part of the cold start and the first request does
 * not wait for them.
 */
export function openVerifier<T = never>(
  table: Table,
  ...others: readonly KeyedTokenKind<T>[]
): Verifier<Caller | T> {
  const person = personToken();
  const kinds: readonly TokenKind<Caller | T>[] = [person, ...others];

  /**
   * The tokens verified under the current key set, oldest first: verifying a signature is
   * expensive.
   */
  const verified = new Map<string, { readonly caller: Caller | T; readonly expiresAt: number }>();

  let keysOf = new Map<TokenKind<Caller | T>, readonly PublicJwk[]>();
  let notBefore = 0;
  let readAt = Number.NEGATIVE_INFINITY;
  let unknownKeyReadAt = Number.NEGATIVE_INFINITY;
  async function readKeys(): Promise<void> {
    const [keySet, keysOfOthers] = await settleAll([
      readKeySet(table),
      settleAll(others.map(async (kind) => [kind, await kind.readKeys()] as const)),
    ]);
    keysOf = new Map<TokenKind<Caller | T>, readonly PublicJwk[]>([
      [person, keySet.keys],
      ...keysOfOthers,
    ]);
    notBefore = keySet.notBefore;
    verified.clear();
    readAt = Date.now();
  }
  // A failed read must not fail the cold start: the first request reads again.
  const firstRead = readKeys().catch(() => undefined);
  // A request that is rejected before its token is read must not leave this read behind.
  awaitInColdStart(firstRead);

  return {
    async verify(authorization) {
      const apiToken = authorization && apiTokenIn(authorization);
      if (apiToken) return verifyApiToken(table, apiToken);
      await firstRead;
      const token = tokenIn(authorization);
      const now = Date.now();
      if (now - readAt > KEY_SET_MAX_AGE_MS) await readKeys();
      const hit = verified.get(token);
      // Stryker disable next-line EqualityOperator: at the second of expiry, a token is still valid
      if (hit && now / 1000 < hit.expiresAt) return hit.caller;
      const { kid: keyId, typ } = headerOf(token) ?? {};
      const kind = kinds.find(({ type }) => type === typ);
      if (!kind) throw new Failure('invalid-token');
      const keys = () => keysOf.get(kind) as readonly PublicJwk[];
      // Without any key, as after a restore, the first login publishes one: its token must be
      // accepted at once.
      const mayReadAgain = keys().length === 0 || now - unknownKeyReadAt > UNKNOWN_KEY_INTERVAL_MS;
      if (!keys().some(({ kid }) => kid === keyId) && mayReadAgain) {
        // Only a successful read starts the interval: during an outage of the table every request
        // reads again.
        await readKeys();
        unknownKeyReadAt = now;
      }
      try {
        const claims = verifyJwtSync(
          token,
          { keys: keys() as never },
          {
            issuer: issuer(),
            audience: kind.audience,
            customJwtCheck: (jwt) => checkClaims(jwt.header, jwt.payload, kind, notBefore),
          },
          keyObjectOf,
        );
        const caller = kind.callerOf(claims);
        if (verified.size >= VERIFIED_TOKENS_MAX)
          verified.delete(verified.keys().next().value as string);
        verified.set(token, { caller, expiresAt: claims.exp as number });
        return caller;
      } catch {
        // Every error means 401: the library throws a plain Error, too, for example for a malformed
        // signature.
        throw new Failure('invalid-token');
      }
    },
  };
}

const keyObjects = new WeakMap<object, KeyObject>();

/** A public key as OpenSSL uses it, imported once, which is expensive. */
function keyObjectOf(jwk: object): KeyObject {
  const known = keyObjects.get(jwk);
  if (known) return known;
  const imported = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' });
  keyObjects.set(jwk, imported);
  return imported;
}

/**
 * The token in the value of the Authorization header. Fails with unauthorized if it is missing or
 * empty, and with invalid-token.
 */
function tokenIn(authorization: string | undefined): string {
  if (!authorization) throw new Failure('unauthorized');
  const token = authorization.length <= HEADER_LENGTH_MAX && BEARER.exec(authorization)?.[1];
  if (!token) throw new Failure('invalid-token');
  return token;
}

/** The caller, by claims that were verified and checked. */
function callerOf(claims: Readonly<Record<string, unknown>>): Caller {
  return {
    id: Number(claims.sub),
    jti: claims.jti as string,
    expires: claims.exp as number,
  };
}

/** The header of a token, which may be anything as long as the token is not verified. */
function headerOf(token: string): { kid?: unknown; typ?: unknown } | undefined {
  try {
    const header = Buffer.from(token.slice(0, token.indexOf('.')), 'base64url').toString('utf8');
    return JSON.parse(header);
  } catch {
    // Not JSON: no key has the id `undefined`.
  }
}

/**
 * Checks that the library does not make. Throws for a token that this service would not have
 * issued.
 */
function checkClaims(
  header: Record<string, unknown>,
  claims: Claims,
  kind: TokenKind<unknown>,
  notBefore: number,
): void {
  const { iat, exp, jti, aud } = claims;
  const now = Date.now() / 1000;
  const isValid =
    header.alg === ALGORITHM &&
    !('crit' in header) &&
    aud === kind.audience &&
    Number.isInteger(iat) &&
    Number.isInteger(exp) &&
    (iat as number) >= notBefore &&
    (iat as number) <= now + CLOCK_SKEW_SECONDS &&
    (exp as number) - (iat as number) <= kind.secondsMax &&
    typeof jti === 'string' &&
    kind.isComplete(claims);
  // Stryker disable next-line StringLiteral: `verify` replaces every error
  if (!isValid) throw new Error('The token was not issued by this service');
}

const isOfPerson = ({ sub, preferred_username: login }: Claims): boolean =>
  // The library rejects a subject that is not a text.
  /^[1-9]\d{0,15}$/.test(sub as string) && (login === undefined || typeof login === 'string');
