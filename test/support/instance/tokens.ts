import { expect } from 'vitest';
import type { Table } from '../../../lib/table/table.ts';
import { openVerifier, type Verifier } from '../../../lib/tokens/verify-token.ts';
import { useFrozenClock } from '../doubles/time.ts';
import { encode, es256, type Part, type SigningKeyPair } from './mint.ts';

/** A token that this key signs now; undefined removes a header parameter or claim. */
export function signedBy(
  { jwk, privateKey }: SigningKeyPair,
  claims: Part = {},
  header: Part = {},
): string {
  const now = Date.now() / 1000;
  const defaultClaims = {
    iss: 'here',
    aud: 'gatehouse',
    sub: '7',
    iat: now,
    exp: now + 3600,
    jti: 'id',
    roles: ['ROLE_USER'],
  };
  const defaultHeader = { alg: 'ES256', typ: 'at+jwt', kid: jwk.kid };
  const parts = [
    { ...defaultHeader, ...header },
    { ...defaultClaims, ...claims },
  ];
  const input = parts.map(encode).join('.');
  return `Bearer ${input}.${es256(input, privateKey)}`;
}

/** The time at the start of a test, in seconds since the epoch. */
export const NOW = Date.UTC(2030, 0, 1) / 1000;

/** Freezes the clock for the tests of a block, and sets the environment of a verifier. */
export const useVerifierEnvironment = () =>
  useFrozenClock(NOW * 1000, {
    TOKEN_ISSUER: 'here',
    TOKEN_SECONDS: '3600',
    REMEMBERED_TOKEN_SECONDS: '86400',
  });

export function tableOf(...keys: SigningKeyPair[]) {
  const table = {
    keys,
    reads: 0,
    isAvailable: true,
    async query() {
      table.reads++;
      if (!table.isAvailable) throw new Error('The table is unavailable');
      return table.keys.map(({ jwk }) => ({ pk: 'JWKS', sk: jwk.kid, jwk }));
    },
  };
  return table;
}

/** Opens the verifier of a function on such a table. */
export const verifierOn = (table: ReturnType<typeof tableOf>): Verifier =>
  openVerifier(table as unknown as Table);

export const REJECTED = expect.objectContaining({ code: 'invalid-token' });
