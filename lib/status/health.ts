import * as v from 'valibot';
import type { Contract } from '../contract/contract.ts';
import { rosterKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';

/** GET /api/health: whether the service works, for monitoring without a token. */
export const GetHealth = {
  summary: 'Check whether the service works',
  access: 'public',
  entityName: 'userManagement',
  response: v.strictObject({ status: v.literal('UP') }),
} satisfies Contract;

/** Reports UP if the table can be read; otherwise throws the SDK error. */
export async function health(table: Table): Promise<{ status: 'UP' }> {
  await table.get(rosterKey);
  return { status: 'UP' };
}
