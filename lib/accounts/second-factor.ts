import { Failure } from '../contract/failure.ts';
import type { Source } from '../contract/source.ts';
import { notified } from '../mail/outbox.ts';
import type { FactorSecrets } from '../second-factor/factor-secrets.ts';
import {
  confirmable,
  confirmedFactor,
  formatRecoveryCode,
  newPendingFactor,
  newRecoveryCodes,
} from '../second-factor/second-factor.ts';
import { base32, otpauthUri } from '../second-factor/totp.ts';
import { attemptBy } from '../throttle/login-throttle.ts';
import { issuer } from '../tokens/token.ts';
import type { AuthorizedCaller } from '../users/caller.ts';
import { factorChange } from '../users/credential-table.ts';
import { allSessionsEnded, sessionKept } from '../users/session-item.ts';
import type { SecondFactor } from '../users/user-factor.ts';
import { auditEventFor } from '../users/user-table.ts';
import { type Proof, type ProofServices, proveOwner, requireSamePassword } from './owner-proof.ts';

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
  { passwords, factorSecrets, throttle }: ProofServices,
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
  { factorSecrets, throttle }: Omit<ProofServices, 'passwords'>,
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
                  ...allSessionsEnded(callerUser),
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

/**
 * Turns off the second factor of the caller, and notifies the user by mail. Fails with
 * second-factor-off, with wrong-password, with wrong-code, and with too-many-attempts under the
 * same limits as a login.
 */
export function disableFactor(
  services: ProofServices,
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
  services: ProofServices,
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
  { throttle, ...services }: ProofServices,
  caller: AuthorizedCaller,
  source: Source,
  proof: Proof,
  change: {
    readonly action: 'secondFactor.disabled' | 'recoveryCodes.replaced';
    readonly changed: (factor: SecondFactor) => SecondFactor | undefined;
    readonly result: (secrets: FactorSecrets) => R;
  },
): Promise<R> {
  const user = await caller.findUser();
  if (!user.secondFactor) throw new Failure('second-factor-off');
  return throttle.attempt(attemptBy(caller, user, source), {
    async verify() {
      const proven = await proveOwner(services, user, proof);
      if ('failure' in proven) return proven;
      return (clearFailures) =>
        caller.change({
          decide({ callerUser, now }) {
            if (!callerUser.secondFactor) throw new Failure('second-factor-off');
            const after = proven.spend(callerUser, now) as SecondFactor;
            return {
              writes: [
                factorChange(callerUser, { secondFactor: change.changed(after) }),
                notified('secondFactorChanged', callerUser, now),
                ...clearFailures(now),
              ],
              result: change.result(proven.secrets as FactorSecrets),
              event: auditEventFor(change.action, callerUser, []),
            };
          },
        });
    },
  });
}
