import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { signingKeyKey } from '../../lib/table/keys.ts';
import type { Item } from '../../lib/table/table.ts';
import { thumbprint } from '../../lib/tokens/thumbprint.ts';

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
const decode = (part = ''): object => JSON.parse(Buffer.from(part, 'base64url').toString());

/** Tokens without logins, which cost two hashes each: signed by a key of their own, like a real one in all but the user. */
export function makeTokens(real: string) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const [header, claims] = real.split('.').map((part, index) => (index < 2 ? decode(part) : {}));
  const point = publicKey.export({ format: 'jwk' }) as { x: string; y: string };
  const kid = thumbprint(point);
  const jwk = { ...point, kid, alg: 'ES256', use: 'sig' };
  return {
    /** For the table: whoever verifies must find it. */
    publicKey: { ...signingKeyKey(kid), jwk } satisfies Item,
    of(id: number, passwordChanges = 0): string {
      const iat = Math.floor(Date.now() / 1000);
      const mine = { ...claims, sub: String(id), jti: randomUUID(), iat, exp: iat + 3600, roles: [], passwordChanges };
      const input = `${encode({ ...header, kid })}.${encode(mine)}`;
      return `${input}.${sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
    },
  };
}
