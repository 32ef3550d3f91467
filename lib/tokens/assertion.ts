import { createHash } from 'node:crypto';
import {
  JwtExpiredError,
  JwtInvalidAudienceError,
  JwtInvalidIssuerError,
  JwtInvalidSignatureAlgorithmError,
  JwtInvalidSignatureError,
  JwtNotBeforeError,
  KidNotFoundInJwksError,
} from 'aws-jwt-verify/error';
import { decomposeUnverifiedJwt } from 'aws-jwt-verify/jwt';
import { verifyJwtSync } from 'aws-jwt-verify/jwt-verifier';
import * as v from 'valibot';
import { Failure } from '../contract/failure.ts';
import { matching, text } from '../contract/fields.ts';
import { count, type ItemDeclaration } from '../table/item-kind.ts';
import type { Key } from '../table/keys.ts';
import { claim, type Write } from '../table/write.ts';
import type { IssuerKey } from './issuer-keys.ts';
import { CLOCK_SKEW_SECONDS } from './token.ts';

/* Tokens of other issuers that are exchanged for tokens of this service (RFC 7523). */

export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

export type Claims = Readonly<Record<string, unknown>>;

/** What a token states that has not been verified: good enough to read what verifies it. */
export interface Unverified {
  readonly issuer: string;
  readonly subject: string;
  readonly used: Key;
}

/** Of a token; those with hundreds of groups have 8 KB. */
const LENGTH_MAX = 16_384;
/** Only a token that was issued for this request is expected (RFC 7523, 3: `iat`). */
const AGE_SECONDS_MAX = 5 * 60;

/** OpenID Connect Core 1.0, section 2: at most 255 ASCII characters. */
export const subject = v.pipe(text(1, 255), matching(/^[\x20-\x7e]+$/));

/** Tokens of which each can be exchanged once: by what is signed, which nobody else can vary. */
const usedKey = (token: string): Key => {
  const signed = token.slice(0, token.lastIndexOf('.'));
  return { pk: `ASSERTION#${createHash('sha256').update(signed).digest('hex')}`, sk: 'USED' };
};
export const assertionItem: ItemDeclaration = {
  pk: 'ASSERTION#<SHA-256>',
  sk: 'USED',
  name: 'token of another issuer that was exchanged',
  attributes: () => v.object({ expires: count }),
  onForget: 'keep',
  onRestore: 'keep',
};

/** The write that uses up a token. Fails with invalid-grant if it was used. */
export const assertionUsed = ({ used }: Unverified, now: number): Write => {
  const expires = Math.ceil(now / 1000) + AGE_SECONDS_MAX + 2 * CLOCK_SKEW_SECONDS;
  return claim(used, { expires }, 'invalid-grant');
};

const readable = v.pipe(
  v.string(),
  v.maxLength(LENGTH_MAX),
  v.transform((token) => decomposeUnverifiedJwt(token).payload),
  v.object({ iss: v.string(), sub: subject }),
);

/** Reads a token without verifying it. Fails with invalid-grant. */
export function readAssertion(token: string): Unverified {
  try {
    const { iss, sub } = v.parse(readable, token);
    return { issuer: iss, subject: sub, used: usedKey(token) };
  } catch (cause) {
    throw new Failure('invalid-grant', { cause, reason: 'malformed' });
  }
}

/** What a token must have been issued by and for. */
export interface Expected {
  readonly issuer: string;
  readonly audience: string;
  readonly algorithms: readonly string[];
  /** How long ago it may have been issued; five minutes by default. */
  readonly ageSecondsMax?: number;
  /** What else is wrong with the claims: a word for the log. */
  readonly reject?: (claims: Claims) => string | undefined;
}

/**
 * Verifies a token with the keys of its issuer: signature, algorithm, issuer, audience, the party
 * it was issued to, and that it was issued a short time ago. Returns its claims. Fails with
 * invalid-grant. `now` is in milliseconds since 1970.
 */
export function verifyAssertion(
  token: string,
  expected: Expected,
  keys: readonly IssuerKey[],
  now: number,
): Claims {
  const { issuer, audience } = expected;
  try {
    return verifyJwtSync(
      token,
      { keys: [...keys] },
      {
        issuer,
        audience,
        graceSeconds: CLOCK_SKEW_SECONDS,
        customJwtCheck({ header, payload }) {
          const reason = reasonToReject(header, payload, expected, now / 1000);
          if (reason) throw new Failure('invalid-grant', { reason });
        },
      },
    );
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    const [, known] = REASONS.find(([kind]) => cause instanceof kind) ?? [];
    // The library also throws plain errors, for example for a malformed signature.
    const reason = keys.length === 0 ? 'no-keys' : (known ?? 'malformed');
    throw new Failure('invalid-grant', { cause, reason });
  }
}

/** Bundles rename the classes of the library. */
const REASONS = [
  [KidNotFoundInJwksError, 'unknown-key'],
  [JwtInvalidSignatureAlgorithmError, 'algorithm'],
  [JwtInvalidSignatureError, 'signature'],
  [JwtInvalidIssuerError, 'issuer'],
  [JwtInvalidAudienceError, 'audience'],
  [JwtExpiredError, 'age'],
  [JwtNotBeforeError, 'age'],
] as const;

function reasonToReject(
  header: Claims,
  claims: Claims,
  { audience, algorithms, ageSecondsMax = AGE_SECONDS_MAX, reject }: Expected,
  now: number,
): string | undefined {
  if (!algorithms.includes(header.alg as string)) return 'algorithm';
  // An access token of the same issuer is not meant for the client.
  const isTyped = [undefined, 'JWT', 'jwt'].includes(header.typ as string | undefined);
  if (!isTyped || 'crit' in header) return 'type';
  if (!isFor(audience, claims)) return 'audience';
  if (!isFresh(claims, now, ageSecondsMax)) return 'age';
  return reject?.(claims);
}

/** OpenID Connect Core 1.0, 3.1.3.7: no other audience, and no other party. */
const isFor = (audience: string, { aud, azp }: Claims): boolean =>
  [aud].flat().every((each) => each === audience) && (azp === undefined || azp === audience);

const isFresh = ({ iat, exp }: Claims, now: number, ageSecondsMax: number): boolean =>
  typeof iat === 'number' &&
  typeof exp === 'number' &&
  iat <= now + CLOCK_SKEW_SECONDS &&
  iat >= now - ageSecondsMax - CLOCK_SKEW_SECONDS;
