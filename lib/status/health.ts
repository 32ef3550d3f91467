import * as v from 'valibot';
import type { Contract } from '../contract/contract.ts';
import { rosterKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';

/** GET /api/health */
export const GetHealth = {
  access: 'public',
  entityName: 'userManagement',
  response: v.strictObject({ status: v.literal('UP') }),
} satisfies Contract;

/** Whether the service can do its work: the table answers. Fails as the table does. */
export async function health(table: Table): Promise<{ status: 'UP' }> {
  await table.get(rosterKey);
  return { status: 'UP' };
}
