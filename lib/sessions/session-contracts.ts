import * as v from 'valibot';
import type { Contract } from '../contract/contract.ts';
import { responseTime, seriesInPath } from '../contract/fields.ts';
import { loginInPath } from '../users/user-schema.ts';

const shared = { tag: 'Sessions', entityName: 'userManagement' } as const;
const administrators = { anyRole: ['ROLE_ADMIN'] } as const;

const seriesOfUserInPath = v.object({ ...loginInPath.entries, ...seriesInPath.entries });

const sessions = v.array(
  v.strictObject({
    series: v.string(),
    tokenDate: responseTime,
    ipAddress: v.string(),
    userAgent: v.string(),
    remembered: v.boolean(),
    secondFactor: v.boolean(),
    issuer: v.nullable(v.string()),
    expires: responseTime,
    current: v.boolean(),
  }),
);

/** POST /api/logout. Also with a token whose session has ended already. */
export const LogOut = {
  ...shared,
  summary: "End the caller's session, if it has not ended",
  access: 'issued-token',
} satisfies Contract;

/** GET /api/account/sessions */
export const ListSessions = {
  ...shared,
  summary: "List the caller's sessions, the latest first",
  access: 'authenticated',
  scope: 'read',
  response: sessions,
  failures: ['read-budget-spent'],
} satisfies Contract;

/** POST /api/account/end-other-sessions */
export const EndOtherSessions = {
  ...shared,
  summary: "End the caller's other sessions",
  access: 'authenticated',
} satisfies Contract;

/** POST /api/account/sessions/{series}/end */
export const EndSession = {
  ...shared,
  summary: "End one of the caller's sessions",
  access: 'authenticated',
  scope: 'write',
  path: seriesInPath,
} satisfies Contract;

/** GET /api/users/{login}/sessions */
export const ListUserSessions = {
  ...shared,
  summary: 'List the sessions of a user, the latest first',
  access: administrators,
  scope: 'read',
  path: loginInPath,
  response: sessions,
  failures: ['read-budget-spent'],
} satisfies Contract;

/** POST /api/users/{login}/end-sessions */
export const EndUserSessions = {
  ...shared,
  summary: 'End all sessions of a user',
  access: administrators,
  scope: 'write',
  path: loginInPath,
} satisfies Contract;

/** POST /api/users/{login}/sessions/{series}/end */
export const EndUserSession = {
  ...shared,
  summary: 'End a session of a user',
  access: administrators,
  scope: 'write',
  path: seriesOfUserInPath,
} satisfies Contract;
