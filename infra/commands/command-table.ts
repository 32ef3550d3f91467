import { scannerClient } from '../../lib/table/table-scanner.ts';
import type { TableConnection } from '../local/aws/local-table.ts';
import { requireAwsEnvironment } from './require-aws-environment.ts';

/**
 * Opens the table of a command: a deployed one by its name, or the local one of STATE_DIR without a
 * name.
 */
export async function openCommandTable(name: string | undefined): Promise<TableConnection> {
  if (name === undefined) {
    // Only here: a deployed table needs no engine.
    const { openLocalTable } = await import('../local/aws/local-table.ts');
    return openLocalTable(process.env.STATE_DIR || '.local');
  }
  requireAwsEnvironment();
  const client = scannerClient();
  return { tableName: name, client, close: async () => client.destroy() };
}
