import * as v from 'valibot';
import type { Contract } from '../contract/contract.ts';

/**
 * GET /management/info: JHipster clients request it on every page load and show an error if it
 * fails.
 */
export const GetInfo = {
  tag: 'Status',
  summary: 'Get the profile that JHipster clients request',
  access: 'public',
  response: v.strictObject({ activeProfiles: v.array(v.string()) }),
} satisfies Contract;

/** With the profile `prod` a JHipster client hides the pages that only a development server has. */
export const info = { activeProfiles: ['prod'] };
