import { KMSClient } from '@aws-sdk/client-kms';
import { expect, it } from 'vitest';
import type { Item } from '../../lib/table/table.ts';
import { exportRecords } from '../../lib/transfer/export-records.ts';
import { INTACT_ITEMS } from '../support/intact-items.ts';
import { memoryTable } from '../support/memory-table.ts';

const ADVICE = '`npm run verify` lists everything that is damaged.';

it.each([
  ['USER', { email: undefined }, 'USER / 0000000000000001 has missing or invalid attributes: email.'],
  ['INTEGRATION', { active: 1 }, 'INTEGRATION / 0000000000000004 has missing or invalid attributes: active.'],
  ['CONF', { confName: 7 }, 'CONF / 0000000004000007 has missing or invalid attributes: confName.'],
])('an export ends at a damaged item: %s', async (kind, damage, message) => {
  const first = INTACT_ITEMS.find(({ pk }) => pk === kind);
  const items = INTACT_ITEMS.map((item) => (item === first ? ({ ...item, ...damage } as Item) : item));
  const kms = new KMSClient({ region: 'eu-central-1' });

  const all = async () => {
    for await (const _ of exportRecords(memoryTable(items), 'values-key', kms));
  };

  await expect(all()).rejects.toThrow(new Error(`${message} ${ADVICE}`));
});
