import { randomBytes } from 'node:crypto';
import { ALL_RECOVERY_CODES, type PendingFactor, type SecondFactor } from '../users/user-factor.ts';
import type { FactorSecrets } from './factor-secrets.ts';
import { isEqual, stepOf } from './totp.ts';
import { appendedCode, asRecoveryCode, typedCode } from './typed-code.ts';

/** The time that somebody needs to read a secret into an authenticator. */
const PENDING_SECONDS = 15 * 60;

/** A factor that a session requests. `now` is in milliseconds since 1970. */
export const newPendingFactor = (session: string, now: number): PendingFactor => ({
  nonce: newNonce(),
  session,
  expires: Math.floor(now / 1000) + PENDING_SECONDS,
});

/** The requested factor that this session can still confirm, if any. */
export const confirmable = (
  pending: PendingFactor | undefined,
  session: string,
  now: number,
): PendingFactor | undefined =>
  pending?.session === session && now / 1000 < pending.expires ? pending : undefined;

/** The factor that is confirmed by its first code; undefined if that is wrong. */
export function confirmedFactor(
  { nonce }: PendingFactor,
  secrets: FactorSecrets,
  code: string,
  now: number,
): SecondFactor | undefined {
  const { key } = secrets;
  return factorAfter({ nonce, key, lastStep: 0, ...NO_RECOVERY_CODES }, secrets, code, now);
}

/** A nonce from which secrets are derived: 128 random bits. */
export const newNonce = (): string => randomBytes(16).toString('base64url');

/** New recovery codes for a factor. */
export const newRecoveryCodes = () => ({
  recoveryNonce: newNonce(),
  recoveryCodes: ALL_RECOVERY_CODES,
});

const NO_RECOVERY_CODES = { recoveryNonce: '', recoveryCodes: 0 };

/** A recovery code as people read and type it. */
export const formatRecoveryCode = (recoveryCode: string): string =>
  `${recoveryCode.slice(0, 4)}-${recoveryCode.slice(4)}`;

/** Whether a code has the form of a recovery code, of which nobody can guess one. */
export const isRecoveryForm = (code: string): boolean =>
  /^[A-Z2-7]{8}$/.test(asRecoveryCode(typedCode(code)));

/**
 * The factor after the code was used: the code of a time step, or a recovery code. Undefined if the
 * code is wrong or was used before.
 */
export function factorAfter(
  factor: SecondFactor,
  { totp, recoveryCodes }: FactorSecrets,
  code: string,
  now: number,
): SecondFactor | undefined {
  const typed = typedCode(code);
  const step = stepOf(totp, typed, now);
  if (step !== undefined) return step > factor.lastStep ? { ...factor, lastStep: step } : undefined;
  const recoveryCode = asRecoveryCode(typed);
  const used = recoveryCodes(factor.recoveryNonce).findIndex(
    (each, index) => (factor.recoveryCodes & (1 << index)) !== 0 && isEqual(each, recoveryCode),
  );
  if (used < 0) return undefined;
  return { ...factor, recoveryCodes: factor.recoveryCodes - (1 << used) };
}

/**
 * Separates the code of a user with a second factor from the password. Clients without a field for
 * the code append it to the password, as slapo-otp(5) of OpenLDAP and FreeIPA have it. A blank
 * before the code is part of the password, which may end with one. A client that knows the field
 * sends an empty code until its user has typed one. The code is empty if there is none.
 */
export function separateCode(
  password: string,
  code: string | null,
): { readonly password: string; readonly code: string } {
  if (code !== null) return { password, code: typedCode(code) };
  const appended = appendedCode(password);
  return {
    password: password.slice(0, password.length - appended.length),
    code: typedCode(appended),
  };
}
