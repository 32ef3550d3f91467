import type { Access, Role } from '../contract/contract.ts';
import { requireEnv } from '../runtime/execution-environment.ts';

/** A second factor as stored in its user. Nothing in it helps to compute a code. */
export interface SecondFactor {
  /** The secrets are derived from it. */
  readonly nonce: string;
  /** The id of the key in KMS under which they are derived. */
  readonly key: string;
  /**
   * The latest time step whose code was accepted: no code of this step or an earlier one is
   * accepted again (RFC 6238, 5.2).
   */
  readonly lastStep: number;
  /** The recovery codes are derived from it. New codes have a new one. */
  readonly recoveryNonce: string;
  /** Bit n is set while recovery code n can be used. */
  readonly recoveryCodes: number;
}

/** A second factor that no code has confirmed: only the session that has requested it can do so. */
export interface PendingFactor {
  readonly nonce: string;
  /** The id (jti) of the token of that session. */
  readonly session: string;
  /** Seconds since 1970. */
  readonly expires: number;
}

export const RECOVERY_CODES = 10;
/** The value of `recoveryCodes` while all can be used. */
export const ALL_RECOVERY_CODES = 2 ** RECOVERY_CODES - 1;

/** The number of recovery codes that can still be used. */
const recoveryCodesLeft = ({ recoveryCodes }: SecondFactor): number =>
  recoveryCodes.toString(2).replaceAll('0', '').length;

/** Which roles require a second factor, and from which day. */
export interface FactorRequirement {
  readonly roles: readonly Role[];
  /** A date (ISO 8601), which begins at midnight UTC. */
  readonly from: string;
}

/** The requirement of the stack, if it has one. */
export const openFactorRequirement = (): FactorRequirement | undefined =>
  process.env.FACTOR_REQUIRED_FROM
    ? {
        roles: requireEnv('FACTOR_REQUIRED_FOR').split(',') as Role[],
        from: process.env.FACTOR_REQUIRED_FROM,
      }
    : undefined;

/** Whether callers of an endpoint with this access need the second factor that a role requires. */
export const needsFactor = (access: Access): boolean =>
  access !== 'public' && access !== 'issued-token' && access !== 'enrolling';

/** The part of a user that decides. */
interface Holder {
  readonly authorities: readonly Role[];
  readonly secondFactor?: SecondFactor | boolean | undefined;
}

const appliesTo = ({ authorities }: Holder, { roles }: FactorRequirement): boolean =>
  authorities.some((role) => roles.includes(role));

/** The day from which the user needs a second factor; undefined if the user has or needs none. */
export const factorRequiredFrom = (
  user: Holder,
  requirement: FactorRequirement | undefined,
): string | undefined =>
  requirement && !user.secondFactor && appliesTo(user, requirement) ? requirement.from : undefined;

/** What users see of their second factor in their own account. */
export const factorView = (
  user: Holder & { readonly secondFactor?: SecondFactor | undefined },
  requirement: FactorRequirement | undefined,
) => ({
  secondFactor: user.secondFactor !== undefined,
  recoveryCodesLeft: user.secondFactor ? recoveryCodesLeft(user.secondFactor) : 0,
  secondFactorRequiredFrom: factorRequiredFrom(user, requirement) ?? null,
});

/** Whether the requirement has begun. `now` is in milliseconds since 1970. */
export const isInForce = ({ from }: FactorRequirement, now: number): boolean =>
  now >= Date.parse(from);

/**
 * Whether the user lacks a second factor that is required now. The sessions of a user with a factor
 * all have it: turning it on ends the others. `now` is in milliseconds since 1970.
 */
export function lacksFactor(
  user: Holder,
  requirement: FactorRequirement | undefined,
  now: number,
): boolean {
  return (
    requirement !== undefined &&
    isInForce(requirement, now) &&
    factorRequiredFrom(user, requirement) !== undefined
  );
}
