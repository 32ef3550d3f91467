import * as v from 'valibot';
import type { Contract } from '../contract.ts';
import { bodyId, description, idInPath, name, noId, text, updatedId } from '../fields.ts';
import { listQuery } from '../list-query.ts';
import { integrators, moduleAnswer } from './integration-contracts.ts';

const about = 'utmIntegrationConf';

/** The largest value, in bytes of UTF-8. */
const LARGEST_VALUE = 16_384;
/** Every value on a page costs a decryption. */
const LARGEST_PAGE = 100;

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
    text(1, LARGEST_VALUE),
    v.check((value) => Buffer.byteLength(value) <= LARGEST_VALUE, 'Size'),
  ),
  confDescription: description,
};

const newParameter = v.object({ id: noId, ...common });
export type NewParameter = v.InferOutput<typeof newParameter>;

const parameterChange = v.object({ id: updatedId, ...common });
export type ParameterChange = v.InferOutput<typeof parameterChange>;

const parameterAnswer = v.strictObject({
  id: v.number(),
  integration: v.strictObject({ id: v.number(), name: v.string(), module: moduleAnswer }),
  confName: v.string(),
  confValue: v.string(),
  confDescription: v.nullable(v.string()),
});

/** POST /api/utm-integration-confs */
export const CreateParameter = {
  access: integrators,
  about,
  body: newParameter,
  answer: parameterAnswer,
  failures: ['id-not-wanted', 'unknown-id', 'too-many-parameters', 'parameters-too-large', 'parameter-ids-used-up'],
} satisfies Contract;

/** PUT /api/utm-integration-confs */
export const UpdateParameter = {
  access: integrators,
  about,
  body: parameterChange,
  answer: parameterAnswer,
  failures: ['no-id', 'unknown-id', 'version-changed', 'parameters-too-large'],
} satisfies Contract;

/** DELETE /api/utm-integration-confs/{id} */
export const DeleteParameter = {
  access: integrators,
  about,
  path: idInPath,
  failures: ['not-found', 'version-changed'],
} satisfies Contract;

/** GET /api/utm-integration-confs/{id} */
export const GetParameter = {
  access: integrators,
  about,
  path: idInPath,
  answer: parameterAnswer,
  failures: ['not-found'],
} satisfies Contract;

/** Values are secrets: nobody finds one by filters, or learns of it from an order. */
const query = listQuery(
  { id: 'number', confName: 'text', confDescription: 'text', integrationId: 'number' },
  { largestPage: LARGEST_PAGE },
);

/** GET /api/utm-integration-confs/count */
export const CountParameters = {
  access: integrators,
  about,
  query,
  answer: v.number(),
  failures: ['read-budget-spent', 'parameter-list-too-long'],
} satisfies Contract;

/** GET /api/utm-integration-confs */
export const ListParameters = {
  access: integrators,
  about,
  query,
  answer: v.array(parameterAnswer),
  failures: ['read-budget-spent', 'parameter-list-too-long', 'page-too-deep', 'page-too-large'],
} satisfies Contract;
