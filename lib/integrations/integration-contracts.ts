import * as v from 'valibot';
import type { Access, Contract } from '../contract/contract.ts';
import { filterableFields } from '../contract/entity-fields.ts';
import { description, idInPath, name, noId, updatedId } from '../contract/fields.ts';
import { listQuery } from '../contract/list-query.ts';
import { type EditableIntegrationField, INTEGRATION_FIELDS, INTEGRATION_TYPES } from './integration.ts';

const entityName = 'utmIntegration';

/** The access required to change integrations and to read or change their parameters. */
export const integrators = { anyRole: ['ROLE_ADMIN', 'ROLE_USER'], rolesFrom: 'table' } as const satisfies Access;

/** Requires a schema for exactly the fields listed in integration.ts: any other field would be dropped silently. */
type Fields = Record<EditableIntegrationField | 'id', v.GenericSchema<unknown, unknown>>;

const common = {
  name: name(255),
  shortName: name(255),
  description,
  integrationType: v.picklist(INTEGRATION_TYPES, 'Pattern'),
};

const newIntegration = v.object({
  id: noId,
  ...common,
  active: v.nullish(v.boolean('TypeMismatch'), true),
} satisfies Fields);
export type NewIntegration = v.InferOutput<typeof newIntegration>;

const integrationChange = v.object({
  id: updatedId,
  ...common,
  active: v.boolean('TypeMismatch'),
} satisfies Fields);
export type IntegrationChange = v.InferOutput<typeof integrationChange>;

export const moduleResponse = v.nullable(v.strictObject({ needsRestart: v.boolean(), changes: v.number() }));

const integrationResponse = v.strictObject({
  id: v.number(),
  name: v.string(),
  shortName: v.string(),
  description: v.nullable(v.string()),
  integrationType: v.picklist(INTEGRATION_TYPES),
  active: v.boolean(),
  module: moduleResponse,
});

/** POST /api/utm-integrations */
export const CreateIntegration = {
  access: integrators,
  entityName,
  body: newIntegration,
  response: integrationResponse,
  failures: ['id-not-wanted'],
} satisfies Contract;

/** PUT /api/utm-integrations */
export const UpdateIntegration = {
  access: integrators,
  entityName,
  body: integrationChange,
  response: integrationResponse,
  failures: ['no-id', 'unknown-id', 'version-changed'],
} satisfies Contract;

/** DELETE /api/utm-integrations/{id} */
export const DeleteIntegration = {
  access: integrators,
  entityName,
  path: idInPath,
  failures: ['not-found', 'version-changed'],
} satisfies Contract;

/** POST /api/utm-integrations/{id}/module/restarted. Clients can send back the module object that they read. */
export const ReportRestart = {
  access: integrators,
  entityName,
  path: idInPath,
  body: v.object({ changes: v.pipe(v.number('TypeMismatch'), v.safeInteger('TypeMismatch'), v.minValue(0, 'Size')) }),
  response: integrationResponse,
  failures: ['not-found'],
} satisfies Contract;

/** GET /api/utm-integrations/{id} */
export const GetIntegration = {
  access: 'authenticated',
  entityName,
  path: idInPath,
  response: integrationResponse,
  failures: ['not-found'],
} satisfies Contract;

const query = listQuery(filterableFields(INTEGRATION_FIELDS));

/** GET /api/utm-integrations/count */
export const CountIntegrations = {
  access: 'authenticated',
  entityName,
  query,
  response: v.number(),
  failures: ['read-budget-spent', 'list-too-long'],
} satisfies Contract;

/** GET /api/utm-integrations */
export const ListIntegrations = {
  access: 'authenticated',
  entityName,
  query,
  response: v.array(integrationResponse),
  failures: ['read-budget-spent', 'list-too-long', 'page-too-deep', 'page-too-large'],
} satisfies Contract;
