import * as v from 'valibot';
import { type Access, ALERT, type Contract, ROLES, type Role } from '../contract/contract.ts';
import { loginInPath, newUser, userChange, userForAdministrators } from './user-schema.ts';

const ADMIN: readonly Role[] = ['ROLE_ADMIN'];
const administrators = { anyRole: ADMIN } as const satisfies Access;
const shared = { tag: 'Users', entityName: 'userManagement' } as const;

/** POST /api/users */
export const CreateUser = {
  ...shared,
  summary: 'Create a user',
  access: administrators,
  scope: 'write',
  body: newUser,
  status: 201,
  headers: ['Location', 'ETag', ...ALERT],
  response: userForAdministrators,
  failures: ['id-not-wanted', 'common-password', 'login-taken', 'email-taken'],
} satisfies Contract;

/** PUT /api/users */
export const UpdateUser = {
  ...shared,
  summary: 'Update a user',
  access: administrators,
  scope: 'write',
  body: userChange,
  headers: ['ETag', ...ALERT],
  response: userForAdministrators,
  failures: [
    'no-id',
    'unknown-id',
    'login-taken',
    'email-taken',
    'confirmation-required',
    'last-administrator',
    'version-changed',
  ],
} satisfies Contract;

/** DELETE /api/users/{login} */
export const DeleteUser = {
  ...shared,
  summary: 'Delete a user',
  access: administrators,
  scope: 'write',
  path: loginInPath,
  headers: ALERT,
  failures: ['not-found', 'last-administrator', 'version-changed'],
} satisfies Contract;

/** POST /api/users/{login}/second-factor/remove */
export const RemoveSecondFactor = {
  ...shared,
  tag: 'Second factor',
  summary: 'Remove the second factor of another user and end all their sessions',
  access: administrators,
  path: loginInPath,
  failures: ['not-found'],
} satisfies Contract;

/** POST /api/users/{login}/invite */
export const InviteUser = {
  ...shared,
  summary: 'Invite a user who has no password again, by mail',
  access: administrators,
  scope: 'write',
  path: loginInPath,
  failures: ['not-found', 'not-invitable', 'too-many-mails'],
} satisfies Contract;

/** GET /api/users/{login} */
export const GetUser = {
  ...shared,
  summary: 'Get a user',
  access: 'authenticated',
  scope: 'read',
  path: loginInPath,
  headers: ['ETag'],
  response: userForAdministrators,
  failures: ['not-found', 'version-changed'],
} satisfies Contract;

/** GET /api/users/authorities */
export const ListAuthorities = {
  ...shared,
  summary: 'List the roles that a user can hold',
  access: administrators,
  scope: 'read',
  response: v.array(v.picklist(ROLES)),
} satisfies Contract;
