import { ROLES } from '../lib/contract/contract.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { ListAuthorities } from '../lib/users/user-contracts.ts';

/** GET /api/users/authorities: the roles that a user can hold. */
export const handler = endpoint(ListAuthorities, async () => ok(ROLES));
