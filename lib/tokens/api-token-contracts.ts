import * as v from 'valibot';
import { type Contract, SCOPES } from '../contract/contract.ts';
import {
  instant,
  name,
  oneOf,
  optionalText,
  responseTime,
  seriesInPath,
} from '../contract/fields.ts';
import { loginInPath } from '../users/user-schema.ts';

const shared = { tag: 'Tokens', entityName: 'userManagement' } as const;
const administrators = { anyRole: ['ROLE_ADMIN'] } as const;

const newToken = v.object({
  name: name(50),
  scopes: v.pipe(
    v.array(oneOf(SCOPES), 'TypeMismatch'),
    v.minLength(1, 'NotBlank'),
    v.transform((scopes) => SCOPES.filter((scope) => scopes.includes(scope))),
  ),
  /** By default, and at most, `tokens.daysMaximum` from now. */
  expires: optionalText(instant, undefined),
});
export type NewToken = v.InferOutput<typeof newToken>;

const token = {
  series: v.string(),
  name: v.string(),
  scopes: v.array(v.picklist(SCOPES)),
  createdDate: responseTime,
  expires: responseTime,
};
const tokens = v.array(
  v.strictObject({
    ...token,
    lastUsed: v.nullable(responseTime),
    lastAddress: v.nullable(v.string()),
  }),
);

/** POST /api/account/tokens */
export const CreateToken = {
  ...shared,
  summary: 'Create an API token, which is shown only now',
  access: 'authenticated',
  body: newToken,
  status: 201,
  response: v.strictObject({ ...token, token: v.string() }),
  failures: ['too-many-tokens'],
} satisfies Contract;

/** GET /api/account/tokens */
export const ListTokens = {
  ...shared,
  summary: "List the caller's API tokens",
  access: 'authenticated',
  response: tokens,
  failures: ['read-budget-spent'],
} satisfies Contract;

/** POST /api/account/tokens/{series}/delete */
export const DeleteToken = {
  ...shared,
  summary: "Delete one of the caller's API tokens, which ends it",
  access: 'authenticated',
  path: seriesInPath,
  failures: ['not-found'],
} satisfies Contract;

/** GET /api/users/{login}/tokens */
export const ListUserTokens = {
  ...shared,
  summary: 'List the API tokens of a user',
  access: administrators,
  path: loginInPath,
  response: tokens,
  failures: ['not-found', 'read-budget-spent'],
} satisfies Contract;

/** POST /api/users/{login}/tokens/{series}/delete */
export const DeleteUserToken = {
  ...shared,
  summary: 'Delete an API token of a user, which ends it',
  access: administrators,
  path: v.object({ ...loginInPath.entries, ...seriesInPath.entries }),
  failures: ['not-found'],
} satisfies Contract;
