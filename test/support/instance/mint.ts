import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { KMSClient } from '@aws-sdk/client-kms';
import { OPERATOR } from '../../../infra/local/state/operator.ts';
import type { Item } from '../../../lib/table/table.ts';
import type { Write } from '../../../lib/table/write.ts';
import { openModuleSigner } from '../../../lib/tokens/signing-keys.ts';
import { publicKeyItemKey, thumbprint } from '../../../lib/tokens/token.ts';
import { sessionStarted } from '../../../lib/users/session-item.ts';
import type { User } from '../../../lib/users/user.ts';
import { storedSession } from '../doubles/stored-items.ts';
import type { Gatehouse } from './launch.ts';

export type Part = Record<string, unknown>;

export const encode = (part: unknown): string =>
  Buffer.from(JSON.stringify(part)).toString('base64url');
export const decode = (part = ''): Part => JSON.parse(Buffer.from(part, 'base64url').toString());

/** A key pair, with the public key as the table stores it. */
export interface SigningKeyPair {
  readonly jwk: Part & { readonly kid: string };
  readonly privateKey: KeyObject;
}

export function makeSigningKeyPair(kid?: string): SigningKeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = publicKey.export({ format: 'jwk' }) as { x: string; y: string };
  return { jwk: { ...jwk, kid: kid ?? thumbprint(jwk), alg: 'ES256', use: 'sig' }, privateKey };
}

/** Signs with ES256 in the format of JWS (RFC 7518, section 3.4). */
export function es256(input: string, key: KeyObject): string {
  return sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }).toString(
    'base64url',
  );
}

/** One per worker: after an unknown key a function does not read keys again for a while. */
let mintingKey: SigningKeyPair | undefined;

/** A minted token differs from a real one only in key and account, and costs no hashes. */
export function makeTokens(real: string) {
  mintingKey ??= makeSigningKeyPair();
  const { jwk, privateKey } = mintingKey;
  const [header, claims] = real.split('.').slice(0, 2).map(decode);
  return {
    /** Must be in the table for verification to succeed. */
    publicKey: { ...publicKeyItemKey(jwk.kid), jwk } satisfies Item,
    /** The token of a session of this user, and the write that starts the session. */
    of(
      user: User,
      jti: string = randomUUID(),
    ): { readonly token: string; readonly started: Write } {
      const iat = Math.floor(Date.now() / 1000);
      const exp = iat + 3600;
      const { id, login, authorities: roles } = user;
      const own = { sub: String(id), preferred_username: login, roles };
      const input = [
        { ...header, kid: jwk.kid },
        { ...claims, ...own, jti, iat, exp },
      ]
        .map(encode)
        .join('.');
      return {
        token: `${input}.${es256(input, privateKey)}`,
        started: sessionStarted(user, storedSession(user, { jti, expires: exp })),
      };
    },
  };
}

/** Mints tokens of modules, which KMS signs: nothing else can. */
export function makeModuleTokens({ endpoint, region, functions }: Gatehouse['cloud']) {
  const { MODULE_KEYS = '', TOKEN_ISSUER } =
    functions.find(({ environment }) => environment.MODULE_KEYS)?.environment ?? {};
  const kms = new KMSClient({ endpoint, region, credentials: OPERATOR });
  const signer = openModuleSigner(MODULE_KEYS.split(','), kms);
  return async (integrationId: number, clientId: string): Promise<string> => {
    const { kid, sign } = await signer();
    const iat = Math.floor(Date.now() / 1000);
    const claims = {
      iss: TOKEN_ISSUER,
      aud: 'gatehouse-modules',
      sub: clientId,
      client_id: clientId,
      integration: integrationId,
      jti: randomUUID(),
      iat,
      exp: iat + 900,
    };
    const input = `${encode({ alg: 'ES256', typ: 'module+jwt', kid })}.${encode(claims)}`;
    return `${input}.${(await sign(input)).toString('base64url')}`;
  };
}
