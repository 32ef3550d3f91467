import * as v from 'valibot';
import type { Contract } from '../../contract/contract.ts';

/**
 * GET /management/info: JHipster clients request it on every page load and show an error if it
 * fails.
 */
export const GetInfo = {
  tag: 'Status',
  summary: 'Get the version, and the profile that JHipster clients request',
  access: 'public',
  response: v.strictObject({
    activeProfiles: v.array(v.string()),
    build: v.strictObject({
      version: v.string(),
      commit: v.optional(v.string()),
      time: v.optional(v.string()),
    }),
  }),
} satisfies Contract;

/**
 * What a function was built of: the release, and the commit of a clone with its time.
 * `-dirty` follows a commit whose files were changed.
 */
export type Build = v.InferOutput<(typeof GetInfo)['response']>['build'];

/** With the profile `prod` a JHipster client hides the pages that only a development server has. */
export const infoOf = (build: Build) => ({ activeProfiles: ['prod'], build });

/** GET /api/openapi.json: the description of this API as an OpenAPI document. */
export const GetOpenApi = {
  tag: 'Status',
  summary: 'Get this API as an OpenAPI document',
  access: 'public',
  headers: ['Cache-Control'],
  response: v.looseObject({ openapi: v.string() }),
} satisfies Contract;

/** GET /console and GET /console/{path+}: the files of the console. */
export const GetConsole = {
  summary: 'Get the console or one of its files',
  access: 'public',
  failures: ['not-found'],
} satisfies Contract;
