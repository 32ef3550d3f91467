import * as v from 'valibot';
import { type Access, ALERT, type Contract } from '../contract/contract.ts';
import { filterableFields } from '../contract/entity-fields.ts';
import {
  count,
  description,
  idInPath,
  limited,
  name,
  noId,
  oneOf,
  responseId,
  updatedId,
} from '../contract/fields.ts';
import { listQuery } from '../contract/list-query.ts';
import {
  type EditableIntegrationField,
  INTEGRATION_FIELDS,
  INTEGRATION_TYPES,
} from './integration.ts';

const shared = { tag: 'Integrations', entityName: 'utmIntegration' } as const;

/** The access required to change integrations and to read or change their parameters. */
export const integrators = { anyRole: ['ROLE_ADMIN', 'ROLE_USER'] } as const satisfies Access;

/**
 * Requires a schema for exactly the fields listed in integration.ts: any other field would be
 * dropped silently.
 */
type Fields = Record<EditableIntegrationField | 'id', v.GenericSchema<unknown, unknown>>;

/** The fields that a creation and a change have in common. */
export const integrationFields = {
  name: name(255),
  shortName: name(255),
  description,
  integrationType: oneOf(INTEGRATION_TYPES),
};

const newIntegration = v.object({
  id: noId,
  ...integrationFields,
  active: v.nullish(v.boolean('TypeMismatch'), true),
} satisfies Fields);
export type NewIntegration = v.InferOutput<typeof newIntegration>;

const integrationChange = v.object({
  id: updatedId,
  ...integrationFields,
  active: v.boolean('TypeMismatch'),
} satisfies Fields);
export type IntegrationChange = v.InferOutput<typeof integrationChange>;

export const moduleResponse = v.nullable(
  v.strictObject({ needsRestart: v.boolean(), changes: count }),
);

export const integrationResponse = v.strictObject({
  id: responseId,
  name: v.string(),
  shortName: v.string(),
  description: v.nullable(v.string()),
  integrationType: v.picklist(INTEGRATION_TYPES),
  active: v.boolean(),
  module: moduleResponse,
  /** Only of an integration that a set of files manages. */
  managedBy: v.optional(v.string()),
});

/** POST /api/utm-integrations */
export const CreateIntegration = {
  ...shared,
  summary: 'Create an integration',
  access: integrators,
  scope: 'write',
  body: newIntegration,
  status: 201,
  headers: ['Location', 'ETag', ...ALERT],
  response: integrationResponse,
  failures: ['id-not-wanted'],
} satisfies Contract;

/** PUT /api/utm-integrations */
export const UpdateIntegration = {
  ...shared,
  summary: 'Update an integration',
  access: integrators,
  scope: 'write',
  body: integrationChange,
  headers: ['ETag', ...ALERT],
  response: integrationResponse,
  failures: ['no-id', 'unknown-id', 'version-changed'],
} satisfies Contract;

/** DELETE /api/utm-integrations/{id} */
export const DeleteIntegration = {
  ...shared,
  summary: 'Delete an integration with its parameters',
  access: integrators,
  scope: 'write',
  path: idInPath,
  headers: ALERT,
  failures: ['not-found', 'version-changed', 'read-budget-spent'],
} satisfies Contract;

/**
 * POST /api/utm-integrations/{id}/module/restarted. Clients can send back the module object that
 * they read.
 */
export const ReportRestart = {
  ...shared,
  summary: 'Report that a module has restarted',
  access: integrators,
  scope: 'write',
  path: idInPath,
  body: v.object({
    changes: v.pipe(
      v.number('TypeMismatch'),
      v.safeInteger('TypeMismatch'),
      limited({ min: 0 }, (value) => value >= 0, 'Size'),
    ),
  }),
  headers: ['ETag', ...ALERT],
  response: integrationResponse,
  failures: ['not-found'],
} satisfies Contract;

/** GET /api/utm-integrations/{id} */
export const GetIntegration = {
  ...shared,
  summary: 'Get an integration',
  access: 'authenticated',
  scope: 'read',
  path: idInPath,
  headers: ['ETag'],
  response: integrationResponse,
  failures: ['not-found', 'version-changed'],
} satisfies Contract;

const query = listQuery(filterableFields(INTEGRATION_FIELDS), {
  others: Object.keys(INTEGRATION_FIELDS),
});

/** GET /api/utm-integrations/count */
export const CountIntegrations = {
  ...shared,
  summary: 'Count integrations',
  access: 'authenticated',
  scope: 'read',
  query,
  response: count,
  failures: ['read-budget-spent', 'list-too-long'],
} satisfies Contract;

/** GET /api/utm-integrations */
export const ListIntegrations = {
  ...shared,
  summary: 'List integrations',
  access: 'authenticated',
  scope: 'read',
  query,
  headers: ['Link'],
  optionalHeaders: ['X-Total-Count'],
  response: v.array(integrationResponse),
  failures: ['read-budget-spent', 'list-too-long', 'page-too-deep', 'page-too-large'],
} satisfies Contract;
