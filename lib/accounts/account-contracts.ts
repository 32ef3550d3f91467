import * as v from 'valibot';
import { ALERT, type Contract } from '../contract/contract.ts';
import { password } from '../passwords/password-schema.ts';
import { email, ownAccountChange, userResponse } from '../users/user-schema.ts';

const key = v.pipe(v.string('TypeMismatch'), v.minLength(1, 'NotBlank'));

const shared = { tag: 'Account', entityName: 'userManagement' } as const;

const date = v.pipe(v.string(), v.isoDate());

/**
 * POST /api/authenticate. Accepts any string as a password: one that breaks the password rules is
 * simply wrong.
 */
export const Authenticate = {
  ...shared,
  tag: 'Tokens',
  kind: 'login',
  summary: 'Exchange a login and password for a token',
  access: 'public',
  body: v.object({
    username: v.pipe(v.string('TypeMismatch'), v.minLength(1, 'NotBlank')),
    password: v.string('TypeMismatch'),
    code: v.nullish(v.string('TypeMismatch'), null),
    rememberMe: v.nullish(v.boolean('TypeMismatch'), false),
  }),
  headers: ['Authorization'],
  response: v.strictObject({
    id_token: v.string(),
    secondFactorRequiredFrom: v.optional(date),
  }),
  failures: ['bad-credentials', 'code-required', 'too-many-attempts'],
} satisfies Contract;

/** GET /api/account */
export const GetAccount = {
  ...shared,
  summary: "Get the caller's own account",
  access: 'enrolling',
  scope: 'read',
  response: v.strictObject({
    ...userResponse.entries,
    secondFactor: v.boolean(),
    recoveryCodesLeft: v.pipe(v.number(), v.integer()),
    secondFactorRequiredFrom: v.nullable(date),
    /** The issuers of the identities that are linked. */
    identities: v.array(v.string()),
  }),
} satisfies Contract;

/** POST /api/account */
export const UpdateAccount = {
  ...shared,
  summary: "Update the caller's own account",
  access: 'authenticated',
  body: ownAccountChange,
  optionalHeaders: ALERT,
  failures: ['email-taken'],
} satisfies Contract;

/** POST /api/account/confirm-email */
export const ConfirmEmail = {
  ...shared,
  summary: 'Confirm a new e-mail address with a mailed key',
  access: 'public',
  body: v.object({ key }),
  failures: ['unknown-key', 'email-taken', 'too-many-attempts'],
} satisfies Contract;

/** POST /api/account/change-password */
export const ChangePassword = {
  ...shared,
  summary: "Change the caller's password",
  access: 'authenticated',
  body: v.object({ currentPassword: v.string('TypeMismatch'), newPassword: password }),
  failures: ['wrong-password', 'common-password', 'too-many-attempts'],
} satisfies Contract;

/**
 * POST /api/account/reset-password/init. Clients send the address as plain text; a JSON field is
 * accepted too.
 */
export const RequestReset = {
  ...shared,
  kind: 'reset',
  summary: 'Request a key by mail that resets a forgotten password',
  access: 'public',
  body: v.object({ email }),
  textAs: 'email',
  failures: ['too-many-attempts'],
} satisfies Contract;

/** POST /api/account/reset-password/finish */
export const FinishReset = {
  ...shared,
  kind: 'reset',
  summary: 'Set a new password with a mailed key',
  access: 'public',
  body: v.object({
    key,
    newPassword: password,
  }),
  failures: ['unknown-key', 'common-password', 'too-many-attempts'],
} satisfies Contract;

const ofFactor = { tag: 'Second factor', entityName: 'userManagement' } as const;

const currentPassword = v.string('TypeMismatch');
const code = v.pipe(v.string('TypeMismatch'), v.minLength(1, 'NotBlank'));
const proof = v.object({ currentPassword, code });
const recoveryCodes = v.strictObject({ recoveryCodes: v.array(v.string()) });

/** POST /api/account/second-factor */
export const RequestFactor = {
  ...ofFactor,
  summary: "Request a secret for the caller's second factor",
  access: 'enrolling',
  body: v.object({ currentPassword }),
  response: v.strictObject({ secret: v.string(), uri: v.string() }),
  failures: ['second-factor-on', 'wrong-password', 'too-many-attempts'],
} satisfies Contract;

/** POST /api/account/second-factor/confirm */
export const ConfirmFactor = {
  ...ofFactor,
  summary: "Turn on the caller's second factor with a code under the requested secret",
  access: 'enrolling',
  body: v.object({ code }),
  response: recoveryCodes,
  failures: ['second-factor-off', 'wrong-code', 'too-many-attempts'],
} satisfies Contract;

/** POST /api/account/second-factor/disable */
export const DisableFactor = {
  ...ofFactor,
  summary: "Turn off the caller's second factor",
  access: 'authenticated',
  body: proof,
  failures: ['second-factor-off', 'wrong-password', 'wrong-code', 'too-many-attempts'],
} satisfies Contract;

/** POST /api/account/second-factor/recovery-codes */
export const ReplaceRecoveryCodes = {
  ...ofFactor,
  summary: "Replace the caller's recovery codes",
  access: 'authenticated',
  body: proof,
  response: recoveryCodes,
  failures: ['second-factor-off', 'wrong-password', 'wrong-code', 'too-many-attempts'],
} satisfies Contract;
