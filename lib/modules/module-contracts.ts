import * as v from 'valibot';
import type { Access, ModuleContract } from '../contract/contract.ts';
import { count, idInPath, line, responseId } from '../contract/fields.ts';
import { limited } from '../contract/limits.ts';
import { INTEGRATION_TYPES } from '../integrations/integration.ts';

const about = { tag: 'Modules', entityName: 'utmIntegration', path: idInPath } as const;

const number = v.pipe(
  v.number('TypeMismatch'),
  v.safeInteger('TypeMismatch'),
  limited({ min: 0 }, (value) => value >= 0, 'Size'),
);

const moduleState = v.strictObject({
  wanted: count,
  running: v.nullable(count),
  failed: v.nullable(count),
  reason: v.nullable(v.string()),
  lastSeen: v.nullable(v.pipe(v.string(), v.isoTimestamp())),
});

/** GET /api/utm-integrations/{id}/module */
export const ReadModule = {
  ...about,
  summary: 'Get what the module of an integration is wanted to run, as of one moment',
  access: { anyRole: ['ROLE_ADMIN', 'ROLE_USER'], module: true } satisfies Access,
  headers: ['ETag'],
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
  access: { anyRole: [], module: true } satisfies Access,
  body: v.object({
    running: number,
    failed: v.nullish(number),
    reason: v.nullish(line(200)),
  }),
  response: moduleState,
} satisfies ModuleContract;
export type Report = v.InferOutput<typeof ReportModule.body>;
