import * as v from 'valibot';
import type { Contract } from '../contract/contract.ts';
import { bodyId, description, idInPath, name, noId, text, updatedId } from '../contract/fields.ts';
import { listQuery } from '../contract/list-query.ts';
import { integrators, moduleResponse } from './integration-contracts.ts';

const entityName = 'utmIntegrationConf';

/** In bytes of UTF-8. */
const VALUE_BYTES_MAX = 16_384;
/** Lower than for other lists because each value on a page costs a KMS decryption. */
const PAGE_SIZE_MAX = 100;

const common = {
  integration: v.object(
    {
      id: v.pipe(
        bodyId,
        v.check((id) => id !== undefined, 'NotNull'),
        v.transform((id) => id as number),
      ),
    },
    'TypeMismatch',
  ),
  confName: name(255),
  confValue: v.pipe(
    text(1, VALUE_BYTES_MAX),
    v.check((value) => Buffer.byteLength(value) <= VALUE_BYTES_MAX, 'Size'),
  ),
  confDescription: description,
};

const newParameter = v.object({ id: noId, ...common });
export type NewParameter = v.InferOutput<typeof newParameter>;

const parameterChange = v.object({ id: updatedId, ...common });
export type ParameterChange = v.InferOutput<typeof parameterChange>;

const parameterResponse = v.strictObject({
  id: v.number(),
  integration: v.strictObject({ id: v.number(), name: v.string(), module: moduleResponse }),
  confName: v.string(),
  confValue: v.string(),
  confDescription: v.nullable(v.string()),
});

/** POST /api/utm-integration-confs */
export const CreateParameter = {
  access: integrators,
  entityName,
  body: newParameter,
  response: parameterResponse,
  failures: ['id-not-wanted', 'unknown-id', 'too-many-parameters', 'parameters-too-large', 'parameter-ids-used-up'],
} satisfies Contract;

/** PUT /api/utm-integration-confs */
export const UpdateParameter = {
  access: integrators,
  entityName,
  body: parameterChange,
  response: parameterResponse,
  failures: ['no-id', 'unknown-id', 'version-changed', 'parameters-too-large'],
} satisfies Contract;

/** DELETE /api/utm-integration-confs/{id} */
export const DeleteParameter = {
  access: integrators,
  entityName,
  path: idInPath,
  failures: ['not-found', 'version-changed'],
} satisfies Contract;

/** GET /api/utm-integration-confs/{id} */
export const GetParameter = {
  access: integrators,
  entityName,
  path: idInPath,
  response: parameterResponse,
  failures: ['not-found'],
} satisfies Contract;

/** Leaves out confValue: values are secrets, and filtering or sorting by them would leak them. */
const query = listQuery(
  { id: 'number', confName: 'text', confDescription: 'text', integrationId: 'number' },
  { pageSizeMax: PAGE_SIZE_MAX },
);

/** GET /api/utm-integration-confs/count */
export const CountParameters = {
  access: integrators,
  entityName,
  query,
  response: v.number(),
  failures: ['read-budget-spent', 'parameter-list-too-long'],
} satisfies Contract;

/** GET /api/utm-integration-confs */
export const ListParameters = {
  access: integrators,
  entityName,
  query,
  response: v.array(parameterResponse),
  failures: ['read-budget-spent', 'parameter-list-too-long', 'page-too-deep', 'page-too-large'],
} satisfies Contract;
