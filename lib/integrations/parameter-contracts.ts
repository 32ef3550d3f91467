import * as v from 'valibot';
import { ALERT, type Contract } from '../contract/contract.ts';
import { filterableFields } from '../contract/entity-fields.ts';
import {
  bodyId,
  count,
  description,
  idInPath,
  limited,
  name,
  noId,
  requiredId,
  responseId,
  updatedId,
  wellFormed,
} from '../contract/fields.ts';
import { listQuery } from '../contract/list-query.ts';
import { integrators, moduleResponse } from './integration-contracts.ts';
import { PARAMETER_FIELDS } from './parameter.ts';

const shared = { tag: 'Parameters', entityName: 'utmIntegrationConf' } as const;

const VALUE_LENGTH = { min: 1, max: 16_384, unit: 'bytes' } as const;
/** Lower than for other lists because each value on a page costs a KMS decryption. */
const PAGE_SIZE_MAX = 100;

/** The fields that a creation and a change have in common. */
export const parameterFields = {
  integration: v.object(
    {
      id: v.pipe(
        bodyId,
        requiredId,
        v.check((id) => id !== undefined, 'NotNull'),
        v.transform((id) => id as number),
      ),
    },
    'TypeMismatch',
  ),
  confName: name(255),
  confValue: v.pipe(
    v.string('TypeMismatch'),
    limited(VALUE_LENGTH, (value) => value !== '', 'NotBlank'),
    limited(VALUE_LENGTH, (value) => Buffer.byteLength(value) <= VALUE_LENGTH.max, 'Size'),
    wellFormed,
  ),
  confDescription: description,
  /** Whether people can only write the value; an update without it keeps it. */
  secret: v.optional(v.boolean('TypeMismatch')),
};

const newParameter = v.object({ id: noId, ...parameterFields });
export type NewParameter = v.InferOutput<typeof newParameter>;

const parameterChange = v.object({ id: updatedId, ...parameterFields });
export type ParameterChange = v.InferOutput<typeof parameterChange>;

export const parameterResponse = v.strictObject({
  id: responseId,
  integration: v.strictObject({ id: responseId, name: v.string(), module: moduleResponse }),
  confName: v.string(),
  confValue: v.string(),
  confDescription: v.nullable(v.string()),
  secret: v.optional(v.literal(true)),
  /** Only of a secret whose value files refer to. */
  secretVersion: v.optional(v.strictObject({ name: v.string(), version: count })),
});

/** POST /api/utm-integration-confs */
export const CreateParameter = {
  ...shared,
  summary: 'Add a parameter to an integration',
  access: integrators,
  scope: 'write',
  body: newParameter,
  status: 201,
  headers: ['Location', 'ETag', ...ALERT],
  response: parameterResponse,
  failures: [
    'id-not-wanted',
    'unknown-id',
    'too-many-parameters',
    'parameters-too-large',
    'parameter-ids-used-up',
  ],
} satisfies Contract;

/** PUT /api/utm-integration-confs */
export const UpdateParameter = {
  ...shared,
  summary: 'Update a parameter and flag its module for restart',
  access: integrators,
  scope: 'write',
  body: parameterChange,
  headers: ['ETag', ...ALERT],
  response: parameterResponse,
  failures: ['no-id', 'unknown-id', 'version-changed', 'parameters-too-large', 'read-budget-spent'],
} satisfies Contract;

/** DELETE /api/utm-integration-confs/{id} */
export const DeleteParameter = {
  ...shared,
  summary: 'Delete a parameter',
  access: integrators,
  scope: 'write',
  path: idInPath,
  headers: ALERT,
  failures: ['not-found', 'version-changed', 'read-budget-spent'],
} satisfies Contract;

/** GET /api/utm-integration-confs/{id} */
export const GetParameter = {
  ...shared,
  summary: 'Get a parameter with its value',
  access: integrators,
  scope: 'read',
  path: idInPath,
  headers: ['ETag'],
  response: parameterResponse,
  failures: ['not-found', 'version-changed', 'read-budget-spent'],
} satisfies Contract;

const query = listQuery(
  { ...filterableFields(PARAMETER_FIELDS), integrationId: 'number' },
  { pageSizeMax: PAGE_SIZE_MAX, others: Object.keys(PARAMETER_FIELDS) },
);

/** GET /api/utm-integration-confs/count */
export const CountParameters = {
  ...shared,
  summary: 'Count parameters',
  access: integrators,
  scope: 'read',
  query,
  response: count,
  failures: ['read-budget-spent', 'parameter-list-too-long'],
} satisfies Contract;

/** GET /api/utm-integration-confs */
export const ListParameters = {
  ...shared,
  summary: 'List parameters with their values',
  access: integrators,
  scope: 'read',
  query,
  headers: ['Link'],
  optionalHeaders: ['X-Total-Count'],
  response: v.array(parameterResponse),
  failures: ['read-budget-spent', 'parameter-list-too-long', 'page-too-deep', 'page-too-large'],
} satisfies Contract;
