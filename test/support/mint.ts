import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { signingKeyKey } from '../../lib/table/keys.ts';
import type { Item } from '../../lib/table/table.ts';
import { thumbprint } from '../../lib/tokens/thumbprint.ts';
import type { User } from '../../lib/users/user.ts';

/** The header or the claims of a token. */
export type Part = Record<string, unknown>;

export const encode = (part: unknown): string => Buffer.from(JSON.stringify(part)).toString('base64url');
export const decode = (part = ''): Part => JSON.parse(Buffer.from(part, 'base64url').toString());

/** A key pair, the public one as the table has it. */
export interface Key {
  readonly jwk: Part & { readonly kid: string };
  readonly privateKey: KeyObject;
}

/** A new key, by its thumbprint unless it is to have another id. */
export function makeKey(kid?: string): Key {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = publicKey.export({ format: 'jwk' }) as { x: string; y: string };
  return { jwk: { ...jwk, kid: kid ?? thumbprint(jwk), alg: 'ES256', use: 'sig' }, privateKey };
}

/** The signature that ES256 wants. */
export function es256(input: string, key: KeyObject): string {
  return sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url');
}

/** What a token says of the account that it is given for. */
type TokenHolder = Pick<User, 'id' | 'accountStamp'> & Partial<Pick<User, 'authorities' | 'passwordChanges'>>;

/** One key for all files of a worker: a function that has met an unknown key looks for no other one for a while. */
const worker = globalThis as { mintingKey?: Key };

/** Tokens without logins, which cost two hashes each: signed by a key of their own, like a real one in all but the user. */
export function makeTokens(real: string) {
  worker.mintingKey ??= makeKey();
  const { jwk, privateKey } = worker.mintingKey;
  const [header, claims] = real.split('.').slice(0, 2).map(decode);
  return {
    /** For the table: whoever verifies must find it. */
    publicKey: { ...signingKeyKey(jwk.kid), jwk } satisfies Item,
    of({ id, accountStamp, authorities: roles = [], passwordChanges = 0 }: TokenHolder): string {
      const iat = Math.floor(Date.now() / 1000);
      const own = { sub: String(id), accountStamp, roles, passwordChanges };
      const mine = { ...claims, ...own, jti: randomUUID(), iat, exp: iat + 3600 };
      const input = `${encode({ ...header, kid: jwk.kid })}.${encode(mine)}`;
      return `${input}.${es256(input, privateKey)}`;
    },
  };
}
