import { expect, it } from 'vitest';
import { mapConcurrently } from '../../lib/runtime/settle-all.ts';
import { routes } from '../../routes.ts';
import { BUDGETS } from '../support/costs/call-budgets.ts';
import { everyRequest, openCallObserver, WITH_PASSWORD } from '../support/costs/request-calls.ts';
import { type Change, openSetup } from '../support/instance/changes.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';

/*
 * What a request costs in a warm function: the AWS calls, how many of them follow each other
 * (sequential round trips, which a user waits for), and the capacity units for items of up to 1 KB.
 * A change that costs more, or less, shows the row before and after.
 */

const observer = openCallObserver();
const gatehouse = await useGatehouse({ intercept: observer.intercept });

it('every route makes exactly its calls', { timeout: 60_000 }, async () => {
  const setup = await openSetup(gatehouse);
  const requests = await everyRequest(setup);
  const measureOnce = async (name: string, factor = 1): Promise<string> => {
    const { roundTrips, reads, writes, calls } = await observer.callsOf(
      setup,
      requests.get(name) as Change,
      factor,
    );
    return `${roundTrips} | ${reads} + ${writes} | ${calls}`;
  };
  const measure = async (name: string): Promise<[string, string]> => {
    let measured = await measureOnce(name);
    // On a busy machine, concurrent calls may still not overlap.
    for (const factor of [2, 4])
      if (measured !== BUDGETS[name]) measured = await measureOnce(name, factor);
    return [name, measured];
  };
  // The observer tells the calls of concurrent requests apart by their routes.
  const costs = await mapConcurrently(
    [...requests.keys()].filter((name) => name !== WITH_PASSWORD),
    6,
    measure,
  );
  costs.push(await measure(WITH_PASSWORD));

  expect(Object.fromEntries(costs)).toEqual(BUDGETS);
  expect(Object.keys(BUDGETS)).toEqual(expect.arrayContaining(routes.map(({ route }) => route)));
});
