import * as v from 'valibot';
import type { Contract, ModuleContract } from '../contract/contract.ts';
import { type FieldUse, filterableFields } from '../contract/entity-fields.ts';
import { count, idInPath, limited, line, responseTime } from '../contract/fields.ts';
import { listQuery } from '../contract/list-query.ts';
import { integrationResponse, integrators } from '../integrations/integration-contracts.ts';
import { parameterResponse } from '../integrations/parameter-contracts.ts';
import { MODULE_STATE_FIELDS, PROGRESS } from './module-state.ts';

const shared = { tag: 'Modules', entityName: 'utmIntegration' } as const;

const number = v.pipe(
  v.number('TypeMismatch'),
  v.safeInteger('TypeMismatch'),
  limited({ min: 0 }, (value) => value >= 0, 'Size'),
);

const moduleState = v.strictObject({
  progress: v.picklist(PROGRESS),
  wanted: count,
  running: v.nullable(count),
  failed: v.nullable(count),
  reason: v.nullable(v.string()),
  lastSeen: v.nullable(responseTime),
  flapping: v.boolean(),
});

/** The fields of a listed module, in response order, and how lists filter and sort by them. */
export const MODULE_FIELDS = {
  id: { filter: 'number' },
  name: { filter: 'text' },
  active: { filter: 'boolean' },
  ...MODULE_STATE_FIELDS,
  credentials: { filter: 'number' },
  credentialsExpire: { filter: 'date' },
} as const satisfies Record<string, FieldUse>;

/** GET /api/modules */
export const ListModules = {
  ...shared,
  summary: 'List what the modules of all integrations run, and when their credentials expire',
  access: integrators,
  scope: 'read',
  query: listQuery(filterableFields(MODULE_FIELDS), { others: [] }),
  headers: ['Link'],
  optionalHeaders: ['X-Total-Count'],
  response: v.array(
    v.strictObject({
      ...v.pick(integrationResponse, ['id', 'name', 'active']).entries,
      ...moduleState.entries,
      credentials: count,
      credentialsExpire: v.nullable(responseTime),
    }),
  ),
  failures: ['read-budget-spent', 'list-too-long', 'page-too-deep', 'page-too-large'],
} satisfies Contract;

/** GET /api/utm-integrations/{id}/module */
export const ReadModule = {
  ...shared,
  summary: 'Get what the module of an integration is wanted to run, as of one moment',
  access: { ...integrators, module: true },
  scope: 'read',
  path: idInPath,
  optionalHeaders: ['ETag'],
  response: v.strictObject({
    integration: v.omit(integrationResponse, ['module']),
    parameters: v.array(v.omit(parameterResponse, ['integration'])),
    module: moduleState,
  }),
  // `invalid`: the header Gatehouse-Running is malformed.
  failures: ['invalid', 'not-found', 'version-changed', 'read-budget-spent'],
} satisfies ModuleContract;

/** POST /api/utm-integrations/{id}/module/report */
export const ReportModule = {
  ...shared,
  summary: 'Report what a module runs, and why it could not apply a configuration',
  access: { anyRole: [], module: true } as const,
  path: idInPath,
  body: v.object({
    running: number,
    failed: v.nullish(number),
    reason: v.nullish(line(0, 200)),
  }),
  response: moduleState,
} satisfies ModuleContract;
export type Report = v.InferOutput<typeof ReportModule.body>;
