import * as v from 'valibot';
import type { Contract } from '../contract/contract.ts';

/** GET /api/openapi.json: the description of this API as an OpenAPI document. */
export const GetOpenApi = {
  tag: 'Status',
  summary: 'Get this API as an OpenAPI document',
  access: 'public',
  headers: ['Cache-Control'],
  response: v.looseObject({ openapi: v.string() }),
} satisfies Contract;
