import * as v from 'valibot';
import type { Contract } from '../contract/contract.ts';
import { password } from '../passwords/password-schema.ts';
import { email, ownAccountChange, userResponse } from '../users/user-schema.ts';

const entityName = 'userManagement';

/** POST /api/authenticate. Accepts any string as a password: one that breaks the password rules is simply wrong. */
export const Authenticate = {
  access: 'public',
  entityName,
  body: v.object({
    username: v.pipe(v.string('TypeMismatch'), v.minLength(1, 'NotBlank')),
    password: v.string('TypeMismatch'),
    rememberMe: v.nullish(v.boolean('TypeMismatch'), false),
  }),
  response: v.strictObject({ id_token: v.string() }),
  failures: ['bad-credentials', 'too-many-attempts'],
} satisfies Contract;

/** GET /api/account */
export const GetAccount = { access: 'authenticated', entityName, response: userResponse } satisfies Contract;

/** POST /api/account */
export const UpdateAccount = {
  access: 'authenticated',
  entityName,
  body: ownAccountChange,
  failures: ['email-taken'],
} satisfies Contract;

/** POST /api/account/change-password */
export const ChangePassword = {
  access: 'authenticated',
  entityName,
  body: v.object({ currentPassword: v.string('TypeMismatch'), newPassword: password }),
  failures: ['wrong-password', 'too-many-attempts'],
} satisfies Contract;

/** POST /api/account/reset-password/init. Clients send the address as plain text; a JSON field is accepted too. */
export const RequestReset = {
  access: 'public',
  entityName,
  body: v.object({ email }),
  textAs: 'email',
  failures: ['too-many-attempts'],
} satisfies Contract;

/** POST /api/account/reset-password/finish */
export const FinishReset = {
  access: 'public',
  entityName,
  body: v.object({ key: v.pipe(v.string('TypeMismatch'), v.minLength(1, 'NotBlank')), newPassword: password }),
  failures: ['unknown-key', 'too-many-attempts'],
} satisfies Contract;
