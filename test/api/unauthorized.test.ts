import { beforeAll, describe, expect, it } from 'vitest';
import { ROLES } from '../../lib/contract/contract.ts';
import { commit } from '../../lib/table/change.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { set, type Write } from '../../lib/table/write.ts';
import type { User } from '../../lib/users/user.ts';
import { deletion, modification, passwordChange } from '../../lib/users/user-table.ts';
import {
  type ExampleRequest,
  PROTECTED,
  type PreparedRequest,
} from '../support/instance/example-requests.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { itemsOf } from '../support/instance/items.ts';
import { openSetup, type Setup } from '../support/instance/setup.ts';

/*
 * Every endpoint, called by every kind of unauthorized caller. The requests are valid, so that only
 * authorization can reject them, and a rejected request must leave every item of the table
 * unchanged.
 *
 * Covered: no token; each role that does not suffice; a token whose user has been demoted,
 * deactivated, deleted, replaced under the same id (after a restore), or given another password
 * since. What a contract requires is in the table of roles in docs/api.md, where a change shows.
 *
 * Not covered: malformed, foreign and expired tokens (token-refusal.test.ts); a right that is lost
 * between load and commit (stale-tokens.test.ts); the public endpoints, which anyone may call.
 */

const gatehouse = await useGatehouse();

/** Changes to a user after the token was issued, as the writes of the rules that make them. */
const LOSSES = {
  demoted: (user) => modification(user, { ...user, authorities: [] }, { voidsResetKeys: false }),
  deactivated: (user) =>
    modification(user, { ...user, activated: false }, { voidsResetKeys: true }),
  'given another password': (user) => [passwordChange(user, 'another')],
  deleted: deletion,
  replaced: ({ id }) => [set(entityKey('USER', id), { accountStamp: 'another' }, ALWAYS)],
} satisfies Record<string, (user: User) => Write[]>;
type Loss = keyof typeof LOSSES;
const ALWAYS = { condition: 'attribute_exists(pk)', onConditionFailed: 'retry' } as const;

let setup: Setup;
const tokens = new Map<string, string>();
beforeAll(async () => {
  setup = await openSetup(gatehouse);
  for (const role of ROLES) tokens.set(role, (await setup.account({ authorities: [role] })).token);
  for (const [loss, writesOf] of Object.entries(LOSSES)) {
    const { user, token } = await setup.account({ authorities: [...ROLES] });
    expect(await commit(gatehouse.table, writesOf(user)), loss).toBe('committed');
    tokens.set(loss, token);
  }
});

const send = ({ method, path, body }: PreparedRequest, token?: string) =>
  gatehouse.call(method, path, { token, body });

/** Items that count requests, including rejected ones. */
const isCount = (name: string): boolean => /^(ATTEMPTS|READS)#/.test(name);
const itemsBesidesCounts = async () =>
  [...(await itemsOf(gatehouse.cloud))].filter(([name]) => !isCount(name));

/**
 * The status for a token whose user has suffered this loss; undefined where the request is served.
 */
function rejectionOf({ route, access }: ExampleRequest, loss: Loss): 401 | 403 | undefined {
  if (typeof access === 'object' && access.rolesFrom === 'table') return 403;
  // Reads by the token are allowed until it expires.
  if (!route.includes('/api/account')) return undefined;
  if (loss === 'deleted' || loss === 'replaced') return 401;
  return loss === 'demoted' || route.startsWith('GET ') ? undefined : 403;
}

describe.each(PROTECTED)('$route', (example) => {
  const admitted = typeof example.access === 'object' ? example.access.anyRole : ROLES;

  it('rejects every unauthorized caller and changes nothing', async () => {
    const losses = Object.keys(LOSSES) as Loss[];
    const rejected = [
      ['without a token', 401],
      ...ROLES.filter((role) => !admitted.includes(role)).map((role) => [role, 403] as const),
      ...losses.map((loss) => [loss, rejectionOf(example, loss)] as const),
    ].filter(([, status]) => status !== undefined) as [string, number][];
    const { request } = await example.prepare(setup);
    await gatehouse.cloud.mailsHandedOver();
    const before = await itemsBesidesCounts();

    const statuses: [string, number][] = [];
    for (const [caller] of rejected)
      statuses.push([caller, (await send(request, tokens.get(caller))).status]);

    expect(statuses).toEqual(rejected);
    expect(await itemsBesidesCounts()).toEqual(before);
  });

  it('admits every sufficient role', async () => {
    const losses = (Object.keys(LOSSES) as Loss[]).filter(
      (loss) => rejectionOf(example, loss) === undefined,
    );
    for (const caller of [...admitted, ...losses]) {
      const { request } = await example.prepare(setup);

      expect([401, 403], caller).not.toContain((await send(request, tokens.get(caller))).status);
    }
  });
});
