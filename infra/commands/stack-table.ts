import { KMSClient } from '@aws-sdk/client-kms';
import { openTable, type Table } from '../../lib/table/table.ts';
import { PATIENT_SETTINGS, scannerClient } from '../../lib/table/table-scanner.ts';
import { OPERATOR } from '../local/state/operator.ts';
import { runningTable } from '../local/state/state.ts';
import { requireAwsEnvironment } from './require-aws-environment.ts';
import { tagsOf } from './table-tags.ts';

/** The table of a stack and the ARNs of the KMS keys that protect what it stores. */
interface StackTable {
  readonly name: string;
  readonly table: Table;
  /** The first one is that of new hashes. */
  readonly pepperKeys: readonly string[];
  readonly valuesKey: string;
  readonly kms: KMSClient;
}

/**
 * Opens the table with this name with the operator's AWS credentials; without a name, that of the
 * local service, which must be running because the keys are in it. The stack records the keys in
 * tags of the table.
 */
export async function openStackTable(name: string | undefined): Promise<StackTable> {
  const running = name === undefined ? runningService() : undefined;
  if (!running) requireAwsEnvironment();
  const settings = running && {
    endpoint: running.endpoint,
    region: running.region,
    credentials: OPERATOR,
  };
  const tableName = name ?? running?.tableName ?? '';
  const client = scannerClient(settings);
  const tags = await tagsOf(client, tableName);
  const keyIn = (tag: string): string => {
    const key = tags[tag];
    if (!key)
      throw new Error(`${tableName} lacks the tag ${tag}. Deploy its stack again, or add the tag.`);
    return key;
  };
  return {
    name: tableName,
    table: openTable(tableName, client),
    pepperKeys: keyIn('gatehouse:pepper-key').split(' '),
    valuesKey: keyIn('gatehouse:values-key'),
    kms: new KMSClient({ ...PATIENT_SETTINGS, ...settings }),
  };
}

function runningService() {
  const folder = process.env.STATE_DIR || '.local';
  const running = runningTable(folder);
  if (running) return running;
  throw new Error(
    `No service runs on STATE_DIR=${folder}. Start it with \`npm start\`, or name a table with --table.`,
  );
}
