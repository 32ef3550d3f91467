import { Failure } from '../contract/failure.ts';
import { openPasswords, type Passwords } from '../passwords/passwords.ts';
import {
  type DeriveFactorSecrets,
  type FactorSecrets,
  openFactorSecrets,
} from '../second-factor/factor-secrets.ts';
import { factorAfter } from '../second-factor/second-factor.ts';
import type { Table } from '../table/table.ts';
import { type LoginThrottle, openLoginThrottle } from '../throttle/login-throttle.ts';
import type { Rejected } from '../throttle/run-attempt.ts';
import type { User } from '../users/user.ts';
import type { SecondFactor } from '../users/user-factor.ts';

/* The password, and a code, with which the user of a session proves to own the account. */

export interface ProofServices {
  readonly passwords: Passwords;
  readonly factorSecrets: DeriveFactorSecrets;
  readonly throttle: LoginThrottle;
}

/** Opens what a proof needs, with the keys and settings of the stack. */
export const openProof = (table: Table): ProofServices => ({
  passwords: openPasswords(),
  factorSecrets: openFactorSecrets(),
  throttle: openLoginThrottle(table),
});

export interface Proof {
  readonly currentPassword: string;
  /** Ignored for a user without a second factor. */
  readonly code: string;
}

interface Proven {
  /** Undefined without a second factor. */
  readonly secrets: FactorSecrets | undefined;
  /**
   * Returns the second factor as the code leaves it, in the transaction of what was to be proven;
   * undefined without one. Fails with wrong-password or wrong-code if a concurrent request has
   * changed the password, used the code, or replaced the factor.
   */
  spend(callerUser: User, now: number): SecondFactor | undefined;
}

/** Verifies a proof. Its failures are wrong-password and wrong-code. */
export async function proveOwner(
  { passwords, factorSecrets }: Pick<ProofServices, 'passwords' | 'factorSecrets'>,
  user: User,
  { currentPassword, code }: Proof,
): Promise<Proven | Rejected> {
  if (!(await passwords.matches(currentPassword, user.passwordHash)))
    return { failure: 'wrong-password' };
  const { secondFactor: factor } = user;
  const secrets = factor && (await factorSecrets(user.id, factor));
  if (factor && secrets && !factorAfter(factor, secrets, code, Date.now()))
    return { failure: 'wrong-code', codeRejectedOf: user };
  return {
    secrets,
    spend(callerUser, now) {
      requireSamePassword(callerUser, user);
      const { secondFactor: current } = callerUser;
      if (!current) return undefined;
      const isSame = current.nonce === factor?.nonce;
      const after = isSame && secrets && factorAfter(current, secrets, code, now);
      if (!after) throw new Failure('wrong-code');
      return after;
    },
  };
}

/** Fails with wrong-password if a concurrent request has changed the password that was verified. */
export function requireSamePassword(callerUser: User, verified: User): void {
  if (callerUser.passwordChanges !== verified.passwordChanges) throw new Failure('wrong-password');
}
