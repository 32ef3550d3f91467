import * as v from 'valibot';
import { auditEntryResponse } from '../../audit/audit-contracts.ts';
import type { Contract } from '../../contract/contract.ts';
import { count, responseTime } from '../../contract/fields.ts';
import { userForAdministrators } from '../../users/user-schema.ts';
import { COUNT_NAMES } from './count-overview.ts';

const shared = { tag: 'Status', access: { anyRole: ['ROLE_ADMIN'] } } as const;

/** GET /api/overview */
export const GetOverview = {
  ...shared,
  summary: 'Get what needs attention and what has happened',
  scope: 'read',
  response: v.strictObject({
    countedAt: v.nullable(responseTime),
    counts: v.nullable(v.strictObject(v.entriesFromList(COUNT_NAMES, count))),
    days: v.nullable(v.array(v.strictObject({ day: v.string(), logins: count, changes: count }))),
    administrators: v.array(
      v.strictObject({
        ...v.pick(userForAdministrators, ['login']).entries,
        secondFactor: v.boolean(),
        lastLogin: v.nullable(responseTime),
      }),
    ),
    latest: v.array(auditEntryResponse),
  }),
  failures: ['read-budget-spent'],
} satisfies Contract;

/** POST /api/overview/count */
export const CountOverview = {
  ...shared,
  summary: 'Count now what the overview shows',
  scope: 'write',
  failures: ['read-budget-spent', 'list-too-long', 'audit-list-too-long'],
} satisfies Contract;
