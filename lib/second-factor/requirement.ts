import type { Access, Role } from '../contract/contract.ts';
import { requireEnv } from '../runtime/env.ts';
import { recoveryCodesLeft, type SecondFactor } from './second-factor.ts';

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
