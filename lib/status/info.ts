import * as v from 'valibot';
import type { Contract } from '../contract/contract.ts';

/** GET /management/info: what JHipster clients ask at every page load; without an answer they show an error each time. */
export const GetInfo = {
  access: 'public',
  entityName: 'userManagement',
  response: v.strictObject({ activeProfiles: v.array(v.string()) }),
} satisfies Contract;

/** Such a client hides the pages of a developer's server from all but those. */
export const info = { activeProfiles: ['prod'] };
