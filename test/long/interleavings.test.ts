import { expect, it } from 'vitest';
import { runShare, type Share } from '../interleavings/runs.ts';

/* Every schedule of every scenario. */

const SHARES: readonly Share[] = [
  { group: 'specialCases', faults: 1 },
  { group: 'pairsAboutUsers', faults: 1 },
  { group: 'pairsOfAdministrators', faults: 1 },
  { group: 'pairsAboutTokens', faults: 1 },
  { group: 'pairsAboutIntegrations', faults: 1 },
  { group: 'pairsAboutPlans', faults: 1 },
  { group: 'pairsAboutIdentities', faults: 1 },
  { group: 'pairsOfLinkedAdministrators', faults: 1 },
  { group: 'triplesAboutIdentities', faults: 1 },
  { group: 'recreations', faults: 1 },
  { group: 'triplesOfAdministrators', faults: 1 },
  { group: 'triplesAboutUsers', faults: 0 },
  { group: 'triplesAboutIntegrations', faults: 0 },
];

/** The longest share takes minutes on a quiet machine. */
const TIMEOUT_MS = 60 * 60_000;

let all = 0;

const title = 'no schedule of $group with $faults faults breaks a rule';
it.each(SHARES)(title, { timeout: TIMEOUT_MS }, async (share) => {
  const { reports, incomplete, scenarios, states } = await runShare(share);

  console.log(`${share.group}: ${scenarios} scenarios, ${states} states`);
  expect(reports).toEqual([]);
  expect(incomplete).toBe(0);
  all += states;
});

it('at least a million states were seen', () => {
  expect(all).toBeGreaterThan(1_000_000);
});
