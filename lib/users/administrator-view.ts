import type { FieldUse } from '../contract/entity-fields.ts';
import type { SecondFactor } from '../second-factor/user-factor.ts';
import { MAILED_KEY_SECONDS } from './mailed-keys.ts';
import { type User, userView } from './user.ts';

/* What only administrators see of a user. */

export const USER_STATES = [
  'deactivated',
  'invited',
  'invitationExpired',
  'neverLoggedIn',
  'active',
] as const;

/**
 * The state of a user, and until when their invitation is valid. A log-in or a new password uses it
 * up. `now` is in milliseconds since 1970.
 */
export function standingOf(
  { activated, invitedAt, lastLogin = '' }: Pick<User, 'activated' | 'invitedAt' | 'lastLogin'>,
  now: number,
): { state: (typeof USER_STATES)[number]; invitedUntil: string | null } {
  if (!activated) return { state: 'deactivated', invitedUntil: null };
  if (invitedAt === undefined || lastLogin > invitedAt)
    return { state: lastLogin ? 'active' : 'neverLoggedIn', invitedUntil: null };
  const until = Date.parse(invitedAt) + MAILED_KEY_SECONDS * 1000;
  const state = now < until ? 'invited' : 'invitationExpired';
  return { state, invitedUntil: new Date(until).toISOString() };
}

/** How lists filter and sort by it. */
export const ADMINISTRATOR_FIELDS = {
  lastLogin: { filter: 'date' },
  secondFactor: { filter: 'boolean' },
  state: { filter: { oneOf: USER_STATES } },
} as const satisfies Record<string, FieldUse>;

/** The representation of a user for administrators. */
export const administratorView = (
  user: Omit<User, 'secondFactor'> & { readonly secondFactor?: SecondFactor | boolean | undefined },
) => ({
  ...userView(user),
  lastLogin: user.lastLogin ?? null,
  secondFactor: Boolean(user.secondFactor),
  ...standingOf(user, Date.now()),
});
