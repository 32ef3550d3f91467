import type { ListIssuersResponse } from './api/generated/types.gen.ts';
import { BASE } from './route.ts';
import { isObject } from './session.ts';

/*
 * Log-ins at identity providers: the authorization code flow with PKCE (RFC 6749, 4.1; RFC 7636),
 * whose nonce is the code challenge: whoever sends the code verifier has begun the log-in.
 */

export type Issuer = ListIssuersResponse[number];

/** What waits in this tab for the return of the browser. */
export interface Begun {
  readonly issuer: string;
  readonly state: string;
  readonly codeVerifier: string;
  /** The address that was asked for. */
  readonly target: string;
  /** The id of the user who links their account; absent for a log-in. */
  readonly linking?: string | undefined;
}

/** A code of the provider, its error (RFC 6749, 4.1.2), or the issuer that answered in its place. */
type Returned =
  | { readonly code: string }
  | { readonly other: string }
  | { readonly error: string; readonly description: string | null };

const base64Url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');

/** 256 random bits, which have the 43 characters that a code verifier needs. */
export const randomText = (): string => base64Url(crypto.getRandomValues(new Uint8Array(32)));

/** The code challenge S256 of a code verifier. */
async function challengeOf(codeVerifier: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(codeVerifier));
  return base64Url(new Uint8Array(digest));
}

/** One fixed address, which is registered at the provider. */
const redirectUri = (origin: string): string => `${origin}${BASE}/sign-in`;

/** Where the browser goes to log in. */
export async function authorizationUrl(
  { authorizationEndpoint, clientId }: Issuer,
  { state, codeVerifier }: Begun,
  origin: string,
): Promise<string> {
  const challenge = await challengeOf(codeVerifier);
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri(origin),
    scope: 'openid profile email',
    state,
    nonce: challenge,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
  return `${authorizationEndpoint}?${query}`;
}

/** What the provider has sent the browser back with; undefined if this tab has not begun it. */
export function returnOf(search: string, begun: Begun | undefined): Returned | undefined {
  const query = new URLSearchParams(search);
  const [state, code, error] = ['state', 'code', 'error'].map((name) => query.get(name));
  if (!begun || state !== begun.state) return undefined;
  // RFC 9207: the response of one provider must not be taken for another one's.
  const from = query.get('iss') ?? begun.issuer;
  if (from !== begun.issuer) return { other: from };
  if (error) return { error, description: query.get('error_description') };
  return code ? { code } : undefined;
}

/** The ID token for a code; undefined if the provider hands out none. */
export async function exchangeCode(
  { tokenEndpoint, clientId }: Issuer,
  { codeVerifier }: Begun,
  code: string,
  origin: string,
): Promise<string | undefined> {
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri(origin),
    client_id: clientId,
    code_verifier: codeVerifier,
  });
  const response = await fetch(tokenEndpoint, {
    method: 'POST',
    body,
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
  }).catch(() => undefined);
  const answer: unknown = response?.ok && (await response.json().catch(() => undefined));
  const { id_token: token } = isObject(answer) ? answer : {};
  return typeof token === 'string' ? token : undefined;
}
