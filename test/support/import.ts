import { KMSClient } from '@aws-sdk/client-kms';
import { OPERATOR } from '../../infra/local/state/operator.ts';
import { importRecords } from '../../lib/transfer/import-records.ts';
import type { Gatehouse } from './gatehouse.ts';

/** Imports records as `npm run import` does, which takes much less time than a request for each entity. */
export async function importInto({ cloud, table }: Gatehouse, records: readonly object[]): Promise<void> {
  const { endpoint, region, functions, pepperKeys } = cloud;
  const kms = new KMSClient({ endpoint, region, credentials: OPERATOR });
  const { VALUES_KEY = '' } =
    functions.find(({ name }) => name === 'POST /api/utm-integration-confs')?.environment ?? {};
  const lines = (async function* () {
    for (const record of records) yield Buffer.from(JSON.stringify(record));
  })();
  await importRecords({ table, pepperKeys, valuesKey: VALUES_KEY, kms }, lines, {
    apply: true,
    onRejected: (line, errors) => {
      throw new Error(`Record ${line} is rejected: ${JSON.stringify(errors)}`);
    },
    onProgress: () => undefined,
  });
  kms.destroy();
}
