import { expect, it, vi } from 'vitest';
import type { Integration, ModuleReport } from '../../lib/integrations/integration.ts';
import {
  confirmedCredential,
  isSecret,
  keysOfCredential,
  newClientId,
  newClientSecret,
} from '../../lib/modules/credential.ts';
import { needsAttention } from '../../lib/modules/module-state.ts';
import { recordReport } from '../../lib/modules/record-report.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { expiryOf } from '../../lib/tokens/secret.ts';
import { memoryTable, recordsIn } from '../support/doubles/memory-table.ts';
import { GATE, gate } from '../support/doubles/stored-items.ts';
import { freezeClock } from '../support/doubles/time.ts';

const NOW = Date.UTC(2026, 10, 26, 12);
const at = (days: number) => new Date(NOW + days * 86_400_000).toISOString();
const credential = (expires: string, createdDate = at(-300)) => ({
  clientId: 'module-5-a',
  createdDate,
  createdBy: 'admin',
  expires,
});
const flapping = (lastLeftOut: string) => ({
  running: 7,
  audited: { since: NOW, entries: 10, lastLeftOut: Date.parse(lastLeftOut) },
});
const current: Integration = {
  ...GATE,
  active: true,
  moduleRevision: 7,
  report: { running: 7 },
  seen: at(-1),
  credentials: [credential(at(31))],
};

it.each<[string, Partial<Integration>, boolean]>([
  ['runs what is wanted', {}, false],
  ['was seen a day and an hour ago', { seen: at(-25 / 24) }, false],
  ['was not seen for longer', { seen: at(-25.1 / 24) }, true],
  ['is behind', { report: { running: 6 } }, true],
  ['failed', { report: { running: 6, failed: 7 } }, true],
  ['failed before', { report: { running: 7, failed: 6 } }, false],
  ['has never said what it runs', { report: undefined }, true],
  ['was never seen', { seen: undefined, report: undefined }, false],
  ['flapped today', { report: flapping(at(-1 + 1e-6)) }, true],
  ['flapped a day ago', { report: flapping(at(-1)) }, false],
  ['loses its last credential soon', { credentials: [credential(at(30))] }, true],
  ['has a short credential', { credentials: [credential(at(8), at(-2))] }, false],
  ['has a short credential that ends', { credentials: [credential(at(3), at(-7))] }, true],
  ['loses one of two', { credentials: [credential(at(1)), credential(at(31))] }, false],
  ['has no credential', { credentials: undefined }, true],
  [
    'of an inactive integration failed',
    { active: false, report: { running: 1, failed: 7 } },
    false,
  ],
])('whether a module that %s needs attention', (_, attributes, expected) => {
  expect(needsAttention({ ...current, ...attributes }, NOW)).toBe(expected);
});

it('secrets and client ids have their forms, and each is another one', () => {
  const secrets = Array.from({ length: 1000 }, newClientSecret);

  expect(new Set(secrets).size).toBe(1000);
  for (const secret of secrets) {
    expect(secret).toMatch(/^ghm_[0-9A-Za-z]{49}$/);
    expect(isSecret(secret)).toBe(true);
  }
  expect(newClientId(17)).toMatch(/^module-17-[0-9A-Za-z]{12}$/);
  // Computed by another program: the CRC-32 of the 43 digits, in base 62.
  expect(isSecret('ghm_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg37cCQ0')).toBe(true);
});

it('a secret expires in the future, and at last after its longest life', () => {
  const outside = {
    fieldErrors: [{ field: 'expires', message: 'Size', reason: 'in the next 2 days' }],
  };

  for (const wanted of [at(0), at(2 + 1e-7)])
    expect(() => expiryOf(wanted, 2, NOW)).toThrow(expect.objectContaining(outside));
  for (const wanted of [at(2), undefined]) expect(expiryOf(wanted, 2, NOW)).toBe(Date.parse(at(2)));
});

it.each([
  ['before it ends', at(1e-6), 1, true],
  ['when its integration says that it ends', at(0), 1, false],
  ['when its own item says that it ends', at(1), 0, false],
])('a credential is confirmed until the end, %s: %s', (_, expires, seconds, isConfirmed) => {
  const listed = credential(expires);
  const other = { ...credential(at(9)), clientId: 'module-5-b' };
  const [integrationKey, key] = keysOfCredential(5, listed.clientId);
  const integration = { ...GATE, credentials: [other, listed] };
  const items = [
    { ...integrationKey, ...integration },
    { ...key, hash: 'h', expires: NOW / 1000 + seconds },
  ];

  expect(confirmedCredential(items, listed.clientId, NOW)).toEqual(
    isConfirmed ? { ...listed, hash: 'h', integration } : undefined,
  );
});

const HOUR_MS = 3_600_000;

it.each<[string, Partial<ModuleReport>, number, number]>([
  ['the fourth in a second', { since: NOW - 999, times: 3 }, 1, 0],
  ['the next after a second', { since: NOW - 1000, times: 3 }, 2, 1],
  ['the eleventh in an hour', { audited: { since: NOW - HOUR_MS + 1, entries: 10 } }, 2, 0],
  ['the next after an hour', { audited: { since: NOW - HOUR_MS, entries: 10 } }, 2, 1],
])('a report is recorded and audited by its time: %s', async (_, before, running, entries) => {
  freezeClock(NOW);
  vi.stubEnv('AUDIT_DAYS', '400');
  const integration = { ...current, report: { running: 1, ...before } };
  const table = memoryTable([gate(integration)]);
  const module = { clientId: 'module-5-a', integrationId: 5, source: '192.0.2.1', integration };

  await recordReport(table, { ...module, reload: async () => integration }, { running: 2 });

  expect(table.find(entityKey('INTEGRATION', 5))).toMatchObject({ report: { running } });
  expect(recordsIn(table)).toHaveLength(entries);
});
