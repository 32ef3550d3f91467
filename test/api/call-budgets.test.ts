import { expect, it } from 'vitest';
import { mapConcurrently } from '../../lib/runtime/settle-all.ts';
import { type Budget, budgetDocument, isDocumented } from '../support/costs/call-budgets.ts';
import { openCallObserver } from '../support/costs/request-calls.ts';
import {
  CREATION_WITH_PASSWORD,
  type ExampleRequest,
  REQUESTS,
} from '../support/instance/example-requests.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { openSetup } from '../support/instance/setup.ts';

/* What a request costs in a warm function. docs/calls.md shows what has changed. */

const observer = openCallObserver();
const gatehouse = await useGatehouse({ intercept: observer.intercept });

it('every request makes exactly the calls in docs/calls.md; -u updates it', async () => {
  const setup = await openSetup(gatehouse);
  const measure = async (request: ExampleRequest, name: string = request.route) => {
    const trials: Budget[] = [];
    // On a busy machine, concurrent calls may not overlap, and the other requests can conflict.
    for (const factor of [1, 2, 4]) {
      const budget = await observer.callsOf(setup, request, factor);
      if (isDocumented(name, budget)) return [name, budget] as const;
      trials.push(budget);
    }
    const cheapest = trials.toSorted(
      (a, b) => a.writes + a.reads - b.writes - b.reads || a.roundTrips - b.roundTrips,
    );
    return [name, cheapest[0] as Budget] as const;
  };
  // The observer tells the calls of concurrent requests apart by their routes.
  const measured = await mapConcurrently(REQUESTS, 6, (request) => measure(request));
  measured.push(
    await measure(CREATION_WITH_PASSWORD, `${CREATION_WITH_PASSWORD.route} with a password`),
  );

  const budgets = new Map<string, Budget>(measured);
  await expect(budgetDocument(budgets)).toMatchFileSnapshot('../../docs/calls.md');
});
