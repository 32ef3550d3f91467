import { expect, it } from 'vitest';
import { simulate } from '../support/model/contention.ts';

const item = { rate: 10, holdMs: 10, loadMs: 10, versioned: false, seconds: 300, seed: 1 };

it('the same seed gives the same result, another seed a similar one', () => {
  const result = simulate(item);
  const other = simulate({ ...item, seed: 2 });

  expect(simulate(item)).toEqual(result);
  expect(other).not.toEqual(result);
  expect(other.rejectedFirst).toBeCloseTo(result.rejectedFirst, 1);
});

it('changes that never conflict take one transaction each', () => {
  expect(simulate({ ...item, rate: 0.01, seconds: 10_000 })).toMatchObject({
    rejectedFirst: 0,
    transactionsPerSuccess: 1,
    p50: 20,
    p99: 20,
    unavailable: 0,
  });
});

it.each([5, 10, 25])(
  'at %i changes per second, a change conflicts with another with the probability of a busy server',
  (rate) => {
    const load = (rate * item.holdMs) / 1000;

    // Erlang's loss formula for one server; retries add to the load.
    const { rejectedFirst } = simulate({ ...item, rate, seconds: 600 });
    expect(rejectedFirst).toBeGreaterThan((0.85 * load) / (1 + load));
    expect(rejectedFirst).toBeLessThan((1.35 * load) / (1 + load));
  },
);

it('an item cannot change more often than its transactions fit into a second', () => {
  const { changes, unavailable } = simulate({ ...item, rate: 400, seconds: 20 });

  expect(unavailable).toBeGreaterThan(0.6);
  expect((changes * (1 - unavailable)) / 25).toBeLessThan(1000 / item.holdMs);
});

it('a condition on the version of the item makes conflicts more frequent', () => {
  const { rejectedFirst } = simulate(item);

  expect(simulate({ ...item, versioned: true }).rejectedFirst).toBeGreaterThan(1.5 * rejectedFirst);
});

it('no change is lost: each one succeeds or fails with 503', () => {
  for (const rate of [5, 100]) {
    const { changes, unavailable, transactionsPerSuccess } = simulate({
      ...item,
      rate,
      seconds: 60,
    });

    expect(changes).toBeGreaterThan(0.8 * rate * 60);
    expect(changes).toBeLessThan(1.2 * rate * 60);
    expect(unavailable).toBeLessThan(0.2);
    expect(transactionsPerSuccess).toBeGreaterThan(1);
  }
});
