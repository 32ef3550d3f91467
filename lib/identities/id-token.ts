import { createHash } from 'node:crypto';
import * as v from 'valibot';
import { ROLES, type Role } from '../contract/contract.ts';
import { Failure } from '../contract/failure.ts';
import { type Claims, verifyAssertion } from '../tokens/assertion.ts';
import type { IssuerKey } from '../tokens/issuer-keys.ts';
import { email, isLogin } from '../users/user-schema.ts';
import { isReservedLogin } from '../users/user-table.ts';
import type { Issuer } from './issuer.ts';

/* ID tokens (OpenID Connect Core 1.0, section 2), and what this service takes from them. */

/** A code verifier (RFC 7636, 4.1). */
export const CODE_VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

/**
 * Verifies an ID token and that whoever sends it has begun the log-in: its nonce is the code
 * challenge of their code verifier (RFC 7636, 4.2), which only they know. Fails with invalid-grant.
 */
export function verifyIdToken(
  token: string,
  issuer: Issuer,
  keys: readonly IssuerKey[],
  codeVerifier: string,
  now: number,
): Claims {
  const { issuer: iss, clientId: audience, algorithms, requiredAcr } = issuer;
  const nonce = createHash('sha256').update(codeVerifier).digest('base64url');
  return verifyAssertion(
    token,
    {
      issuer: iss,
      audience,
      algorithms,
      reject({ nonce: stated, acr }) {
        if (!CODE_VERIFIER.test(codeVerifier) || stated !== nonce) return 'nonce';
        return requiredAcr && !requiredAcr.includes(acr as string) ? 'acr' : undefined;
      },
    },
    keys,
    now,
  );
}

/** Whether the log-in at the provider had several factors (`mfa` in RFC 8176). */
export const hasSecondFactor = ({ amr }: Claims, { secondFactor }: Issuer): boolean =>
  secondFactor === 'always' ||
  (secondFactor === 'amr' && Array.isArray(amr) && amr.includes('mfa'));

/**
 * The roles that the groups grant; undefined if the issuer grants none to anybody. Fails with
 * invalid-grant if the token has too many groups to contain them, as Entra ID does beyond 200:
 * nobody knows then which roles to take.
 */
export function rolesBy(claims: Claims, { roles, groupsClaim }: Issuer): Role[] | undefined {
  if (!roles) return undefined;
  const { [groupsClaim]: stated, _claim_names: elsewhere, hasgroups } = claims;
  const isElsewhere = hasgroups || Object.hasOwn(Object(elsewhere), groupsClaim);
  if (stated === undefined && isElsewhere) throw new Failure('invalid-grant', { reason: 'groups' });
  const groups = [stated].flat();
  return ROLES.filter((role) => roles[role]?.some((group) => groups.includes(group)));
}

/** The login that a new account has; undefined if the claim has none that is possible. */
export function newLogin(claims: Claims, { loginClaim }: Issuer): string | undefined {
  const { [loginClaim]: login } = claims;
  const isPossible = typeof login === 'string' && isLogin(login) && !isReservedLogin(login);
  return isPossible ? login : undefined;
}

/** An address that the provider has verified (OpenID Connect Core 1.0, 5.1); Entra: `xms_edov`. */
export function verifiedAddress(claims: Claims): string | undefined {
  const { email: address, email_verified: verified, xms_edov: owned } = claims;
  const isVerified = [verified, owned].some((each) =>
    [true, 'true', 1, '1'].includes(each as never),
  );
  return isVerified && v.is(email, address) ? address : undefined;
}

/** A text of a claim, without what a name must not have; undefined for anything else. */
export const textOf = (value: unknown, lengthMax: number): string | undefined => {
  const text = typeof value === 'string' ? value.replace(/\p{C}/gu, '').trim() : '';
  return text === '' ? undefined : [...text].slice(0, lengthMax).join('');
};
