import * as v from 'valibot';
import type { Access, Contract, ModuleContract } from '../contract/contract.ts';
import { type FieldUse, filterableFields } from '../contract/entity-fields.ts';
import { count, idInPath, line, responseId } from '../contract/fields.ts';
import { limited } from '../contract/limits.ts';
import { listQuery } from '../contract/list-query.ts';
import { INTEGRATION_TYPES } from '../integrations/integration.ts';

const about = { tag: 'Modules', entityName: 'utmIntegration', path: idInPath } as const;

const number = v.pipe(
  v.number('TypeMismatch'),
  v.safeInteger('TypeMismatch'),
  limited({ min: 0 }, (value) => value >= 0, 'Size'),
);

/** What a module does, seen from what is wanted of it. */
const PROGRESS = ['unseen', 'failed', 'behind', 'current'] as const;
export type ModuleProgress = (typeof PROGRESS)[number];

const moduleState = v.strictObject({
  progress: v.picklist(PROGRESS),
  wanted: count,
  running: v.nullable(count),
  failed: v.nullable(count),
  reason: v.nullable(v.string()),
  lastSeen: v.nullable(v.pipe(v.string(), v.isoTimestamp())),
});

/** The fields of a listed module, in response order, and how lists filter and sort by them. */
export const MODULE_FIELDS = {
  id: { filter: 'number' },
  name: { filter: 'text' },
  active: { filter: 'boolean' },
  progress: { filter: { oneOf: PROGRESS } },
  wanted: { filter: 'number' },
  running: { filter: 'number' },
  failed: { filter: 'number' },
  reason: { filter: 'text' },
  lastSeen: { filter: 'date' },
  credentials: { filter: 'number' },
  credentialsExpire: { filter: 'date' },
} as const satisfies Record<string, FieldUse>;

/** GET /api/modules */
export const ListModules = {
  tag: 'Modules',
  entityName: 'utmIntegration',
  summary: 'List what the modules of all integrations run, and when their credentials expire',
  access: { anyRole: ['ROLE_ADMIN', 'ROLE_USER'] } satisfies Access,
  query: listQuery(filterableFields(MODULE_FIELDS), { others: [] }),
  headers: ['Link'],
  optionalHeaders: ['X-Total-Count'],
  response: v.array(
    v.strictObject({
      id: responseId,
      name: v.string(),
      active: v.boolean(),
      progress: v.picklist(PROGRESS),
      wanted: count,
      running: v.nullable(count),
      failed: v.nullable(count),
      reason: v.nullable(v.string()),
      lastSeen: v.nullable(v.pipe(v.string(), v.isoTimestamp())),
      credentials: count,
      credentialsExpire: v.nullable(v.pipe(v.string(), v.isoTimestamp())),
    }),
  ),
  failures: ['read-budget-spent', 'list-too-long', 'page-too-deep', 'page-too-large'],
} satisfies Contract;

/** GET /api/utm-integrations/{id}/module */
export const ReadModule = {
  ...about,
  summary: 'Get what the module of an integration is wanted to run, as of one moment',
  access: { anyRole: ['ROLE_ADMIN', 'ROLE_USER'], module: true } satisfies Access,
  optionalHeaders: ['ETag'],
  response: v.strictObject({
    integration: v.strictObject({
      id: responseId,
      name: v.string(),
      shortName: v.string(),
      description: v.nullable(v.string()),
      integrationType: v.picklist(INTEGRATION_TYPES),
      active: v.boolean(),
    }),
    parameters: v.array(
      v.strictObject({
        id: responseId,
        confName: v.string(),
        confValue: v.string(),
        confDescription: v.nullable(v.string()),
        secret: v.optional(v.literal(true)),
      }),
    ),
    module: moduleState,
  }),
  // For the header Gatehouse-Running.
  failures: ['invalid', 'not-found', 'version-changed', 'read-budget-spent'],
} satisfies ModuleContract;

/** POST /api/utm-integrations/{id}/module/report */
export const ReportModule = {
  ...about,
  summary: 'Report what a module runs, and why it could not apply a configuration',
  access: { anyRole: [], module: true } as const satisfies Access,
  body: v.object({
    running: number,
    failed: v.nullish(number),
    reason: v.nullish(line(200)),
  }),
  response: moduleState,
} satisfies ModuleContract;
export type Report = v.InferOutput<typeof ReportModule.body>;
