import { beforeAll, describe, expect, it } from 'vitest';
import { commit } from '../../lib/table/change.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { EXISTS, set } from '../../lib/table/write.ts';
import { measureUnits } from '../support/costs/consumed-units.ts';
import { PROTECTED, type PreparedRequest } from '../support/instance/example-requests.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { itemsOf, setReads } from '../support/instance/items.ts';
import { decode } from '../support/instance/mint.ts';
import { makeTokensOfLost, openSetup, type Setup } from '../support/instance/setup.ts';

/*
 * A refused request costs at most UNITS_MAX read units for every caller and entity, so that
 * a token without rights cannot exhaust a partition. Every protected route, by every kind of
 * refused caller, on entities of the largest size; the rows come from routes.ts.
 */

const UNITS_MAX = 5;
const REFUSALS = [401, 403, 404, 412];

/** The route whose calls are counted: mails about earlier changes can be sent at the same time. */
let counted: string;
let units = 0;
const gatehouse = await useGatehouse({
  async intercept(call, forward) {
    const { response, readUnits } = await measureUnits(call, forward);
    if (call.functionName === counted) units += readUnits;
    return response;
  },
});

/** The bytes that make an item as large as one with the longest texts. */
const PADDING = new Map([
  ['USER', 3300],
  ['INTEGRATION', 6100],
  ['CONF', 21_500],
]);

let setup: Setup;
beforeAll(async () => {
  setup = await openSetup(gatehouse);
});

async function enlargeItems(): Promise<void> {
  for (const { pk, sk } of (await itemsOf(gatehouse.cloud)).values()) {
    const bytes = PADDING.get(pk);
    if (bytes)
      await commit(gatehouse.table, [set({ pk, sk }, { padding: 'x'.repeat(bytes) }, EXISTS)]);
  }
}

/**
 * The request as it is, the request with an If-Match that does not match, and the request for an
 * entity that does not exist.
 */
const variantsOf = (request: PreparedRequest) => [
  request,
  { ...request, headers: { 'If-Match': '"0-stale"' } },
  {
    ...request,
    path: request.path
      .replace(/\/(\d+)(?=\/|$)/, '/999000001')
      .replace(/(\/users\/)\w[\w-]*/, '$1nobody'),
  },
];

describe.each(PROTECTED)('$route', ({ route, access, prepare }) => {
  it(`reads at most ${UNITS_MAX} units for a refused caller`, async () => {
    const { request } = await prepare(setup);
    // A log-out ends their sessions.
    const tokens = await makeTokensOfLost(setup);
    await enlargeItems();
    counted = route;

    const refusals: { caller: string; status: number; read: number }[] = [];
    for (const [caller, token] of tokens) {
      // The counter of its read budget exists.
      await setReads(gatehouse.table, Number(decode(token.split('.')[1]).sub), 1);
      for (const { method, path, ...variant } of variantsOf(request)) {
        units = 0;
        const { status } = await gatehouse.call(method, path, { ...variant, token });
        if (REFUSALS.includes(status)) refusals.push({ caller, status, read: units });
      }
    }

    expect(refusals.filter(({ read }) => read > UNITS_MAX)).toEqual([]);
    if (typeof access === 'object') expect(refusals).toHaveLength(3 * tokens.size);
  });
});

it('a user takes one read unit, even with the longest texts', async () => {
  const globes = (length: number) => '\u{1f310}'.repeat(length);
  const { user } = await gatehouse.makeCaller(`${'u'.repeat(50)}`, {
    email: `${globes(242)}@example.com`,
    firstName: globes(50),
    lastName: globes(50),
    imageUrl: globes(256),
    langKey: globes(10),
    password: 'a password',
    authorities: ['ROLE_ADMIN', 'ROLE_USER', 'ROLE_ANALYST'],
  });
  const consumed: number[] = [];

  await gatehouse.table.getAll([entityKey('USER', user.id)], (units) => consumed.push(units));

  expect(consumed).toEqual([1]);
});
