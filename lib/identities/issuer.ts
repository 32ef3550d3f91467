import type { Role } from '../contract/contract.ts';
import { Failure } from '../contract/failure.ts';

/** An OpenID provider whose ID tokens log people in, as the settings of the stack state it. */
export interface Issuer {
  /** The `iss` claim of its tokens. */
  readonly issuer: string;
  readonly name: string;
  /** The `aud` claim of the tokens that are meant for this service. */
  readonly clientId: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  /** The URL of its JWK Set. */
  readonly keys: string;
  readonly algorithms: readonly string[];
  readonly loginClaim: string;
  readonly groupsClaim: string;
  /** The groups that grant each role; undefined if log-ins change no roles. */
  readonly roles?: Readonly<Partial<Record<Role, readonly string[] | undefined>>> | undefined;
  readonly creates: 'nobody' | 'mapped';
  readonly secondFactor: 'amr' | 'always' | 'never';
  readonly requiredAcr?: readonly string[] | undefined;
}

export const hasIssuers = (): boolean => process.env.ISSUERS !== undefined;

/** The issuers of the stack. */
export const openIssuers = (): readonly Issuer[] => JSON.parse(process.env.ISSUERS ?? '[]');

/** The issuer with this `iss`. Fails with invalid for one that the settings do not list. */
export function requireIssuer(issuers: readonly Issuer[], iss: string): Issuer {
  const issuer = issuers.find((known) => known.issuer === iss);
  if (issuer) return issuer;
  const reason = 'an issuer in the setting issuers';
  throw new Failure('invalid', { fieldErrors: [{ field: 'issuer', message: 'Pattern', reason }] });
}
