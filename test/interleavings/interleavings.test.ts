import { expect, it } from 'vitest';
import { runShare, type Share } from './runs.ts';

/* A sample of what test/long/interleavings.test.ts explores. */

const SHARES: readonly Share[] = [
  { group: 'specialCases', faults: 0 },
  { group: 'pairsAboutUsers', faults: 0, every: 3 },
  { group: 'pairsOfAdministrators', faults: 0, every: 7 },
  { group: 'pairsOfAdministrators', faults: 1, every: 97 },
  { group: 'pairsAboutTokens', faults: 0, every: 5 },
  { group: 'pairsAboutIntegrations', faults: 0, every: 7 },
  { group: 'pairsAboutPlans', faults: 0, every: 9 },
  { group: 'pairsAboutIdentities', faults: 0, every: 17 },
  { group: 'pairsOfLinkedAdministrators', faults: 0, every: 7 },
  { group: 'recreations', faults: 0, every: 3 },
  { group: 'triplesOfAdministrators', faults: 0, every: 17 },
  { group: 'triplesAboutUsers', faults: 0, every: 499 },
];

it.each(SHARES)('no schedule of $group with $faults faults breaks a rule', async (share) => {
  const { reports, incomplete, states } = await runShare(share);

  expect(reports).toEqual([]);
  expect({ incomplete, isAny: states > 0 }).toEqual({ incomplete: 0, isAny: true });
});
