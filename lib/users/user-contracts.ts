import * as v from 'valibot';
import type { Access, Contract, Role } from '../contract/contract.ts';
import { ROLES } from '../contract/contract.ts';
import { filterableFields } from '../contract/entity-fields.ts';
import { listQuery } from '../contract/list-query.ts';
import { USER_FIELDS } from './user.ts';
import { loginInPath, newUser, userChange, userResponse } from './user-schema.ts';

const ADMIN: readonly Role[] = ['ROLE_ADMIN'];
const administrators = { anyRole: ADMIN, rolesFrom: 'table' } as const satisfies Access;
const entityName = 'userManagement';

const query = listQuery(filterableFields(USER_FIELDS));

/** POST /api/users */
export const CreateUser = {
  access: administrators,
  entityName,
  body: newUser,
  response: userResponse,
  failures: ['id-not-wanted', 'login-taken', 'email-taken'],
} satisfies Contract;

/** PUT /api/users */
export const UpdateUser = {
  access: administrators,
  entityName,
  body: userChange,
  response: userResponse,
  failures: ['no-id', 'unknown-id', 'login-taken', 'email-taken', 'last-administrator', 'version-changed'],
} satisfies Contract;

/** DELETE /api/users/{login} */
export const DeleteUser = {
  access: administrators,
  entityName,
  path: loginInPath,
  failures: ['not-found', 'last-administrator', 'version-changed'],
} satisfies Contract;

/** GET /api/users/{login} */
export const GetUser = {
  access: 'authenticated',
  entityName,
  path: loginInPath,
  response: userResponse,
  failures: ['not-found'],
} satisfies Contract;

/** GET /api/users */
export const ListUsers = {
  access: 'authenticated',
  entityName,
  query,
  response: v.array(userResponse),
  failures: ['read-budget-spent', 'list-too-long', 'page-too-deep', 'page-too-large'],
} satisfies Contract;

/** GET /api/users/authorities */
export const ListAuthorities = {
  access: { anyRole: ADMIN, rolesFrom: 'token' },
  entityName,
  response: v.array(v.picklist(ROLES)),
} satisfies Contract;
