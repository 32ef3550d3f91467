import { Failure } from '../contract/failure.ts';
import type { Source } from '../contract/source.ts';
import { notified } from '../mail/outbox.ts';
import { openPasswords, type Passwords } from '../passwords/passwords.ts';
import {
  type DeriveFactorSecrets,
  type FactorSecrets,
  openFactorSecrets,
} from '../second-factor/factor-secrets.ts';
import {
  confirmable,
  confirmedFactor,
  factorAfter,
  formatRecoveryCode,
  newPendingFactor,
  newRecoveryCodes,
} from '../second-factor/second-factor.ts';
import { base32, otpauthUri } from '../second-factor/totp.ts';
import type { SecondFactor } from '../second-factor/user-factor.ts';
import type { Table } from '../table/table.ts';
import { attemptBy, type LoginThrottle, openLoginThrottle } from '../throttle/login-throttle.ts';
import { issuer } from '../tokens/token.ts';
import type { AuthorizedCaller } from '../users/caller.ts';
import { factorChange } from '../users/credential-table.ts';
import { allLogInsEnded, sessionKept } from '../users/session-item.ts';
import type { User } from '../users/user.ts';
import { auditEventFor } from '../users/user-table.ts';

interface Services {
  readonly passwords: Passwords;
  readonly factorSecrets: DeriveFactorSecrets;
  readonly throttle: LoginThrottle;
}

/** Opens what the requests about a second factor need, with the keys and settings of the stack. */
export const openFactorServices = (table: Table): Services => ({
  passwords: openPasswords(),
  factorSecrets: openFactorSecrets(),
  throttle: openLoginThrottle(table),
});

/** What an authenticator needs: the secret in base32, and the same in a URI for a QR code. */
interface Enrolment {
  readonly secret: string;
  readonly uri: string;
}

/**
 * Begins to turn on the second factor of the caller: a code under the returned secret confirms it.
 * Each request has another secret, and only the last one counts. Fails with second-factor-on, with
 * wrong-password, and with too-many-attempts under the same limits as a login.
 */
export async function requestFactor(
  { passwords, factorSecrets, throttle }: Services,
  caller: AuthorizedCaller,
  source: Source,
  currentPassword: string,
): Promise<Enrolment> {
  const user = await caller.findUser();
  if (user.secondFactor) throw new Failure('second-factor-on');
  return throttle.attempt(attemptBy(caller, user, source), {
    async verify() {
      if (!(await passwords.matches(currentPassword, user.passwordHash)))
        return { failure: 'wrong-password' };
      const pendingFactor = newPendingFactor(caller.jti, Date.now());
      const { totp } = await factorSecrets(user.id, pendingFactor);
      return async (clearFailures) => {
        const login = await caller.change({
          decide({ callerUser, now }) {
            if (callerUser.secondFactor) throw new Failure('second-factor-on');
            requireSamePassword(callerUser, user);
            return {
              writes: [factorChange(callerUser, { pendingFactor }), ...clearFailures(now)],
              result: callerUser.login,
              event: auditEventFor('secondFactor.requested', callerUser, []),
            };
          },
        });
        const secret = base32(totp);
        return { secret, uri: otpauthUri(issuer(), login, secret) };
      };
    },
  });
}

/**
 * Turns on the second factor whose secret the code proves, ends the caller's other sessions, and
 * notifies the user by mail. Returns the recovery codes. Fails with second-factor-off unless this
 * session has requested it a short time ago, with wrong-code, and with too-many-attempts under the
 * same limits as a login.
 */
export async function confirmFactor(
  { factorSecrets, throttle }: Omit<Services, 'passwords'>,
  caller: AuthorizedCaller,
  source: Source,
  code: string,
): Promise<readonly string[]> {
  const user = await caller.findUser();
  const pending = confirmable(user.pendingFactor, caller.jti, Date.now());
  if (!pending) throw new Failure('second-factor-off');
  return throttle.attempt(attemptBy(caller, user, source), {
    async verify() {
      const secrets = await factorSecrets(user.id, pending);
      const confirmed = confirmedFactor(pending, secrets, code, Date.now());
      if (!confirmed) return { failure: 'wrong-code' };
      const factor: SecondFactor = { ...confirmed, ...newRecoveryCodes() };
      return (clearFailures) =>
        caller.change({
          decide({ callerUser, now }) {
            const current = confirmable(callerUser.pendingFactor, caller.jti, now);
            if (!current) throw new Failure('second-factor-off');
            // Another request has replaced the secret.
            if (current.nonce !== pending.nonce) throw new Failure('wrong-code');
            return {
              writes: [
                factorChange(callerUser, {
                  secondFactor: factor,
                  pendingFactor: undefined,
                  ...allLogInsEnded(callerUser),
                }),
                sessionKept(caller, callerUser, 'sessionEndings'),
                notified('secondFactorChanged', callerUser, now),
                ...clearFailures(now),
              ],
              result: secrets.recoveryCodes(factor.recoveryNonce).map(formatRecoveryCode),
              event: auditEventFor('secondFactor.enabled', callerUser, []),
            };
          },
        });
    },
  });
}

/** The password and a code of a user who changes the second factor. */
interface Proof {
  readonly currentPassword: string;
  readonly code: string;
}

/**
 * Turns off the second factor of the caller, and notifies the user by mail. Fails with
 * second-factor-off, with wrong-password, with wrong-code, and with too-many-attempts under the
 * same limits as a login.
 */
export function disableFactor(
  services: Services,
  caller: AuthorizedCaller,
  source: Source,
  proof: Proof,
): Promise<void> {
  return changeFactor(services, caller, source, proof, {
    action: 'secondFactor.disabled',
    changed: () => undefined,
    result: () => undefined,
  });
}

/**
 * Replaces the recovery codes of the caller, of which only the new ones are accepted then. Notifies
 * the user by mail, and fails as `disableFactor` does.
 */
export function replaceRecoveryCodes(
  services: Services,
  caller: AuthorizedCaller,
  source: Source,
  proof: Proof,
): Promise<readonly string[]> {
  const recovery = newRecoveryCodes();
  return changeFactor(services, caller, source, proof, {
    action: 'recoveryCodes.replaced',
    changed: (factor) => ({ ...factor, ...recovery }),
    result: ({ recoveryCodes }) => recoveryCodes(recovery.recoveryNonce).map(formatRecoveryCode),
  });
}

async function changeFactor<R>(
  { passwords, factorSecrets, throttle }: Services,
  caller: AuthorizedCaller,
  source: Source,
  { currentPassword, code }: Proof,
  change: {
    readonly action: 'secondFactor.disabled' | 'recoveryCodes.replaced';
    readonly changed: (factor: SecondFactor) => SecondFactor | undefined;
    readonly result: (secrets: FactorSecrets) => R;
  },
): Promise<R> {
  const user = await caller.findUser();
  const { secondFactor } = user;
  if (!secondFactor) throw new Failure('second-factor-off');
  return throttle.attempt(attemptBy(caller, user, source), {
    async verify() {
      if (!(await passwords.matches(currentPassword, user.passwordHash)))
        return { failure: 'wrong-password' };
      const secrets = await factorSecrets(user.id, secondFactor);
      if (!factorAfter(secondFactor, secrets, code, Date.now()))
        return { failure: 'wrong-code', codeRejectedOf: user };
      return (clearFailures) =>
        caller.change({
          decide({ callerUser, now }) {
            const { secondFactor: current } = callerUser;
            if (!current) throw new Failure('second-factor-off');
            requireSamePassword(callerUser, user);
            const isSame = current.nonce === secondFactor.nonce;
            const after = isSame && factorAfter(current, secrets, code, now);
            // A concurrent request has used the code, or changed the factor.
            if (!after) throw new Failure('wrong-code');
            return {
              writes: [
                factorChange(callerUser, { secondFactor: change.changed(after) }),
                notified('secondFactorChanged', callerUser, now),
                ...clearFailures(now),
              ],
              result: change.result(secrets),
              event: auditEventFor(change.action, callerUser, []),
            };
          },
        });
    },
  });
}

/** Fails with wrong-password if a concurrent request has changed the password that was verified. */
function requireSamePassword(callerUser: User, verified: User): void {
  if (callerUser.passwordChanges !== verified.passwordChanges) throw new Failure('wrong-password');
}
