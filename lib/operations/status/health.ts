import * as v from 'valibot';
import type { Contract } from '../../contract/contract.ts';
import { Failure } from '../../contract/failure.ts';
import { formatKey } from '../../table/format.ts';
import type { Table } from '../../table/table.ts';

/** GET /api/health: whether the service works, for monitoring without a token. */
export const GetHealth = {
  tag: 'Status',
  summary: 'Check whether the service works',
  access: 'public',
  response: v.strictObject({ status: v.literal('UP') }),
} satisfies Contract;

/**
 * Reports UP if the table can be read. Fails with unavailable if it does not exist, as during a
 * restore, and otherwise as reads of the table do: a missing permission is a defect of the
 * deployment.
 */
export async function health(table: Table): Promise<{ status: 'UP' }> {
  await table.get(formatKey).catch((cause: Error) => {
    throw cause.name === 'ResourceNotFoundException'
      ? new Failure('unavailable', { cause })
      : cause;
  });
  return { status: 'UP' };
}
