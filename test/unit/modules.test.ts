import { expect, it } from 'vitest';
import type { Integration } from '../../lib/integrations/integration.ts';
import { isSecret, newClientId, newClientSecret } from '../../lib/modules/credential.ts';
import { needsAttention } from '../../lib/modules/module-state.ts';
import { expiryOf } from '../../lib/tokens/secret.ts';
import { GATE } from '../support/doubles/stored-items.ts';

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
