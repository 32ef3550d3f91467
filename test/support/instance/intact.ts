import assert from 'node:assert/strict';
import { OPERATOR } from '../../../infra/local/state/operator.ts';
import { VERIFIED_ATTRIBUTES } from '../../../lib/operations/integrity/find-defect.ts';
import { type Verification, verifyTable } from '../../../lib/operations/integrity/verify-table.ts';
import { openTableScanner, scannerClient } from '../../../lib/table/table-scanner.ts';
import type { Gatehouse } from './launch.ts';

async function verify({
  cloud: { endpoint, region, tableName },
}: Pick<Gatehouse, 'cloud'>): Promise<Verification> {
  const client = scannerClient({ endpoint, region, credentials: OPERATOR });
  try {
    return await verifyTable(openTableScanner(VERIFIED_ATTRIBUTES, tableName, client));
  } finally {
    client.destroy();
  }
}

/** Fails unless every invariant across items holds. */
export async function expectIntact(gatehouse: Pick<Gatehouse, 'cloud'>): Promise<void> {
  const { findings, undecided } = await verify(gatehouse);
  assert.deepEqual(
    [...findings.map(({ message }) => message), ...undecided],
    [],
    'findings of the verification',
  );
}
