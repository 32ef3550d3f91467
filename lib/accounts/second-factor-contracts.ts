import * as v from 'valibot';
import type { Contract } from '../contract/contract.ts';

const shared = { tag: 'Second factor', entityName: 'userManagement' } as const;

const currentPassword = v.string('TypeMismatch');
const code = v.pipe(v.string('TypeMismatch'), v.minLength(1, 'NotBlank'));
const proof = v.object({ currentPassword, code });
const recoveryCodes = v.strictObject({ recoveryCodes: v.array(v.string()) });

/** POST /api/account/second-factor */
export const RequestFactor = {
  ...shared,
  summary: "Request a secret for the caller's second factor",
  access: 'enrolling',
  body: v.object({ currentPassword }),
  response: v.strictObject({ secret: v.string(), uri: v.string() }),
  failures: ['second-factor-on', 'wrong-password', 'too-many-attempts'],
} satisfies Contract;

/** POST /api/account/second-factor/confirm */
export const ConfirmFactor = {
  ...shared,
  summary: "Turn on the caller's second factor with a code under the requested secret",
  access: 'enrolling',
  body: v.object({ code }),
  response: recoveryCodes,
  failures: ['second-factor-off', 'wrong-code', 'too-many-attempts'],
} satisfies Contract;

/** POST /api/account/second-factor/disable */
export const DisableFactor = {
  ...shared,
  summary: "Turn off the caller's second factor",
  access: 'authenticated',
  body: proof,
  failures: ['second-factor-off', 'wrong-password', 'wrong-code', 'too-many-attempts'],
} satisfies Contract;

/** POST /api/account/second-factor/recovery-codes */
export const ReplaceRecoveryCodes = {
  ...shared,
  summary: "Replace the caller's recovery codes",
  access: 'authenticated',
  body: proof,
  response: recoveryCodes,
  failures: ['second-factor-off', 'wrong-password', 'wrong-code', 'too-many-attempts'],
} satisfies Contract;
