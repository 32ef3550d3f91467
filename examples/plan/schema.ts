import { toJsonSchema } from '@valibot/to-json-schema';
import { CONVERSION } from '../../infra/api-document/schemas.ts';
import { MakePlan } from '../../lib/operations/plan/plan-contracts.ts';

/* Prints the schema by which editors complete and check the files of a plan. */

// Only one of the files needs to name the set.
const { required: _set, ...schema } = toJsonSchema(MakePlan.body, CONVERSION);
console.log(JSON.stringify(schema, null, 2));
