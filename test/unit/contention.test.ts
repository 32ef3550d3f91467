import { expect, it } from 'vitest';
import { simulate } from '../support/model/contention.ts';

/* The simulation behind the conflict rates of docs/scale.md. */

const item = { rate: 10, holdMs: 10, loadMs: 10, versioned: false, seconds: 300, seed: 1 };

it('changes that never conflict take one transaction each', () => {
  expect(simulate({ ...item, rate: 0.01, seconds: 10_000 })).toMatchObject({
    rejectedFirst: 0,
    transactionsPerSuccess: 1,
    p50: 20,
    p99: 20,
    unavailable: 0,
  });
});

it('a change conflicts as often as a busy server rejects calls, more often with a version', () => {
  const load = (item.rate * item.holdMs) / 1000;

  // Erlang's loss formula for one server; retries add to the load.
  const { rejectedFirst } = simulate(item);
  expect(rejectedFirst).toBeGreaterThan((0.85 * load) / (1 + load));
  expect(rejectedFirst).toBeLessThan((1.35 * load) / (1 + load));
  expect(simulate({ ...item, versioned: true }).rejectedFirst).toBeGreaterThan(1.5 * rejectedFirst);
});

it('an item cannot change more often than its transactions fit into a second', () => {
  const { changes, unavailable } = simulate({ ...item, rate: 400, seconds: 20 });

  expect(unavailable).toBeGreaterThan(0.6);
  expect((changes * (1 - unavailable)) / 25).toBeLessThan(1000 / item.holdMs);
});
