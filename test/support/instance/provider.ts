import { createHash, createPrivateKey, type JsonWebKey, randomBytes, sign } from 'node:crypto';
import { inject } from 'vitest';
import type { Issuer } from '../../../lib/identities/issuer.ts';
import type { ModuleIssuer } from '../../../lib/modules/module-issuer.ts';

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

/** The form of a log-in with an ID token that has these claims. */
export function logInForm(
  provider: Provider,
  claims: Readonly<Record<string, unknown>>,
): Record<'grant_type' | 'assertion' | 'code_verifier', string> {
  const codeVerifier = newCodeVerifier();
  return {
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    assertion: idToken(provider, { nonce: nonceOf(codeVerifier), ...claims }),
    code_verifier: codeVerifier,
  };
}
