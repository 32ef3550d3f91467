import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type JsonWebKey,
  randomBytes,
  sign,
} from 'node:crypto';
import { inject } from 'vitest';
import type { Settings } from '../../../infra/settings/settings.ts';
import type { ModuleIssuer } from '../../../lib/modules/module-issuer.ts';
import type { IssuerKey } from '../../../lib/tokens/issuer-keys.ts';

type Issuer = Settings['issuers'][number];

/** What ID tokens of an identity provider are made of. */
export interface Provider {
  readonly issuer: Issuer;
  /** The private key whose public half the provider publishes, as a JWK with its `kid`. */
  readonly key: JsonWebKey & { readonly kid: string };
}

/** The issuers of the stack of this run, which share the key. */
export interface TestProvider extends Provider {
  readonly moduleIssuer: ModuleIssuer;
}

/** The identity provider of the stack of this run. */
export const testProvider = (): TestProvider => inject('provider');

/** The settings of an identity provider with this URL. */
export const issuerAt = (issuer: string, fields: Partial<Issuer> = {}): Issuer => ({
  issuer,
  name: 'Company account',
  clientId: 'gatehouse',
  authorizationEndpoint: `${issuer}/authorize`,
  tokenEndpoint: `${issuer}/token`,
  keys: `${issuer}/keys`,
  algorithms: ['RS256'],
  loginClaim: 'preferred_username',
  groupsClaim: 'groups',
  roles: { ROLE_ADMIN: ['admins'], ROLE_USER: ['users'], ROLE_ANALYST: ['analysts'] },
  creates: 'mapped',
  secondFactor: 'amr',
  ...fields,
});

/** A new key of a provider, and its public half as the provider publishes it. */
export function makeProviderKey(
  kid: string,
  modulusLength = 2048,
): { readonly key: Provider['key']; readonly published: IssuerKey } {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength });
  const { kty: _, ...parameters } = publicKey.export({ format: 'jwk' });
  return {
    key: { ...privateKey.export({ format: 'jwk' }), kid },
    published: { ...parameters, kty: 'RSA', kid, use: 'sig' },
  };
}

export const newCodeVerifier = (): string => randomBytes(32).toString('base64url');
export const nonceOf = (codeVerifier: string): string =>
  createHash('sha256').update(codeVerifier).digest('base64url');

/** A token of the platform, which these claims complete or change. */
export const platformToken = (
  provider: TestProvider,
  claims: Readonly<Record<string, unknown>>,
): string => {
  const { issuer: iss, audience: aud } = provider.moduleIssuer;
  return idToken(provider, { iss, aud, ...claims });
};

/** An ID token, which these claims and this header complete or change; undefined removes one. */
export function idToken(
  { issuer, key }: Provider,
  claims: Readonly<Record<string, unknown>>,
  header: Readonly<Record<string, unknown>> = {},
): string {
  const now = Math.floor(Date.now() / 1000);
  const usual = {
    iss: issuer.issuer,
    aud: issuer.clientId,
    iat: now,
    exp: now + 3600,
    jti: randomBytes(9).toString('base64url'),
  };
  const { kid } = key;
  const privateKey = createPrivateKey({ key, format: 'jwk' });
  return jwt({ alg: 'RS256', typ: 'JWT', kid, ...header }, { ...usual, ...claims }, (input) =>
    sign('sha256', input, privateKey),
  );
}

/** A JWT of these parts; a text is the JSON of a part. */
export function jwt(
  header: object | string,
  payload: object | string,
  signer: (input: Buffer) => Uint8Array,
): string {
  const parts = [header, payload].map((part) =>
    Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url'),
  );
  const input = parts.join('.');
  return `${input}.${Buffer.from(signer(Buffer.from(input))).toString('base64url')}`;
}

/** The grant type of RFC 7523. */
export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/** The form of a log-in with an ID token that has these claims. */
export function logInForm(
  provider: Provider,
  claims: Readonly<Record<string, unknown>>,
): Record<'grant_type' | 'assertion' | 'code_verifier', string> {
  const codeVerifier = newCodeVerifier();
  return {
    grant_type: JWT_BEARER,
    assertion: idToken(provider, { nonce: nonceOf(codeVerifier), ...claims }),
    code_verifier: codeVerifier,
  };
}
