import { beforeEach, expect, vi } from 'vitest';
import type { Table } from '../../lib/table/table.ts';
import { openVerifier, type Verifier } from '../../lib/tokens/verify-token.ts';
import { encode, es256, type Key, type Part } from './mint.ts';

/** The Authorization header of a token as this key would sign it now; undefined takes a header or claim away. */
export function signedBy({ jwk, privateKey }: Key, claims: Part = {}, header: Part = {}): string {
  const now = Date.now() / 1000;
  const usual = {
    iss: 'here',
    aud: 'gatehouse',
    sub: '7',
    iat: now,
    exp: now + 3600,
    jti: 'id',
    roles: ['ROLE_USER'],
    passwordChanges: 3,
  };
  const input = `${encode({ alg: 'ES256', typ: 'at+jwt', kid: jwk.kid, ...header })}.${encode({ ...usual, ...claims })}`;
  return `Bearer ${input}.${es256(input, privateKey)}`;
}

/** Where the clock stands when a test begins; seconds since 1970. */
export const NOW = Date.UTC(2030, 0, 1) / 1000;

/** For all tests of a block: a clock that only the test moves, and the settings of a verifier. */
export function useStillClock(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'], now: NOW * 1000 });
    vi.stubEnv('TOKEN_ISSUER', 'here');
    vi.stubEnv('TOKEN_SECONDS', '3600');
    vi.stubEnv('REMEMBERED_TOKEN_SECONDS', '86400');
    return () => {
      vi.useRealTimers();
      vi.unstubAllEnvs();
    };
  });
}

/** A table with these public keys, which can be out of reach and counts how often it is asked. */
export function tableOf(...keys: Key[]) {
  const table = {
    keys,
    reads: 0,
    answers: true,
    async query() {
      table.reads++;
      if (!table.answers) throw new Error('The table does not answer');
      return table.keys.map(({ jwk }) => ({ pk: 'JWKS', sk: jwk.kid, jwk }));
    },
  };
  return table;
}

/** The verifier that a function on such a table has. */
export const verifierOn = (table: ReturnType<typeof tableOf>): Verifier => openVerifier(table as unknown as Table);

/** What a verifier throws that refuses a token. */
export const REFUSED = expect.objectContaining({ code: 'unauthorized' });
