import { JwtVerifier } from 'aws-jwt-verify';
import { SimpleJwksCache } from 'aws-jwt-verify/jwk';
import type { Caller } from '../contract/caller.ts';
import { ROLES, type Role } from '../contract/contract.ts';
import { Failure } from '../contract/failure.ts';
import type { Table } from '../table/table.ts';
import { readKeySet } from './signing-keys.ts';
import { ALGORITHM, AUDIENCE, issuer, TOKEN_TYPE, tokenLife } from './token.ts';

/** Checks the Authorization header of a request. Fails with unauthorized. */
export interface Verifier {
  verify(authorization: string | undefined): Promise<Caller>;
}

/** One space, three parts, and an ES256 signature of exactly 64 bytes. */
const BEARER = /^Bearer ([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{86})$/;
const LONGEST_HEADER = 2048;
/** How far the clocks of two machines may be apart, in seconds. */
const CLOCK_SKEW = 60;
/** A key set is read again when it is so old, and for the sake of unknown keys at most so often; milliseconds. */
const KEYS_EXPIRE = 5 * 60_000;
const UNKNOWN_KEY_PAUSE = 30_000;

/**
 * Verifies tokens against the public keys in the table, never over the network. The first read of the keys starts here,
 * so that it, and the connection that it opens, belong to the cold start.
 */
export function openVerifier(table: Table): Verifier {
  const longestLife = tokenLife().remembered;
  const offline = new SimpleJwksCache({
    fetcher: {
      fetch() {
        throw new Error('Keys come from the table');
      },
    },
  });
  let notBefore = 0;
  const verifier = JwtVerifier.create(
    {
      issuer: issuer(),
      audience: AUDIENCE,
      // A name for the cache; nothing is ever fetched from it.
      jwksUri: 'table:JWKS',
      customJwtCheck: ({ header, payload }) => checkClaims(header, payload, { longestLife, notBefore }),
    },
    { jwksCache: offline },
  );

  let known = new Set<string>();
  let readAt = Number.NEGATIVE_INFINITY;
  let askedForUnknownAt = Number.NEGATIVE_INFINITY;
  async function readKeys(): Promise<void> {
    const keySet = await readKeySet(table);
    verifier.cacheJwks({ keys: keySet.keys as never });
    known = new Set(keySet.keys.map(({ kid }) => kid));
    notBefore = keySet.notBefore;
    readAt = Date.now();
  }
  // A cold start without an answer is no reason not to start: the first request reads again.
  const firstRead = readKeys().catch(() => undefined);

  return {
    async verify(authorization = '') {
      await firstRead;
      const [, token] = authorization.length <= LONGEST_HEADER ? (BEARER.exec(authorization) ?? []) : [];
      if (!token) throw new Failure('unauthorized');
      const now = Date.now();
      if (now - readAt > KEYS_EXPIRE) await readKeys();
      if (!known.has(kidOf(token)) && now - askedForUnknownAt > UNKNOWN_KEY_PAUSE) {
        // Only an answer counts: while the table is out of reach every request asks again.
        await readKeys();
        askedForUnknownAt = now;
      }
      try {
        const { sub, jti, accountStamp, passwordChanges, roles } = verifier.verifySync(token);
        return {
          id: Number(sub),
          accountStamp: accountStamp as string | undefined,
          jti: jti as string,
          passwordChanges: passwordChanges as number,
          roles: rolesIn(roles),
        };
      } catch {
        // Whatever is wrong with a token, and however the library says so (a plain Error for an odd signature): 401.
        throw new Failure('unauthorized');
      }
    },
  };
}

function kidOf(token: string): string {
  try {
    const header = JSON.parse(Buffer.from(token.slice(0, token.indexOf('.')), 'base64url').toString('utf8'));
    return typeof header?.kid === 'string' ? header.kid : '';
  } catch {
    return '';
  }
}

/** What the library lets through although no token of ours has it. */
function checkClaims(
  header: Record<string, unknown>,
  claims: Record<string, unknown>,
  { longestLife, notBefore }: { longestLife: number; notBefore: number },
): void {
  const { iat, exp, sub, jti, aud, accountStamp, passwordChanges } = claims;
  const now = Date.now() / 1000;
  const sound =
    header.alg === ALGORITHM &&
    header.typ === TOKEN_TYPE &&
    !('crit' in header) &&
    aud === AUDIENCE &&
    Number.isInteger(iat) &&
    Number.isInteger(exp) &&
    (iat as number) >= notBefore &&
    (iat as number) <= now + CLOCK_SKEW &&
    (exp as number) - (iat as number) <= longestLife &&
    typeof sub === 'string' &&
    /^[1-9]\d{0,15}$/.test(sub) &&
    typeof jti === 'string' &&
    (accountStamp === undefined || typeof accountStamp === 'string') &&
    Number.isSafeInteger(passwordChanges);
  if (!sound) throw new Error('This is no token of ours');
}

function rolesIn(claim: unknown): Role[] {
  return Array.isArray(claim) ? ROLES.filter((role) => claim.includes(role)) : [];
}
