import { beforeAll, describe, expect, it } from 'vitest';
import { ROLES, type Role } from '../../lib/contract/contract.ts';
import { commit } from '../../lib/table/change.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { set, type Write } from '../../lib/table/write.ts';
import type { User } from '../../lib/users/user.ts';
import { deletion, modification, passwordChange } from '../../lib/users/user-table.ts';
import { type Route, routes } from '../../routes.ts';
import { openSetup, type Setup } from '../support/instance/changes.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { itemsOf } from '../support/instance/items.ts';
import { methodAndPath } from '../support/instance/method-and-path.ts';
import { PUBLIC_ROUTES } from '../support/instance/public-routes.ts';

/*
 * Every endpoint, called by every kind of unauthorized caller. The requests are valid, so that only
 * authorization can reject them, and a rejected request must leave every item of the table
 * unchanged.
 *
 * Covered: no token; each role that does not suffice; a token whose user has been demoted,
 * deactivated, deleted, replaced under the same id (after a restore), or given another password
 * since. The requirements of each endpoint are repeated here deliberately, so that the test fails
 * if a contract opens an endpoint by mistake.
 *
 * Not covered: malformed, foreign and expired tokens (token-refusal.test.ts); a right that is lost
 * between load and commit (stale-tokens.test.ts); the public endpoints, which anyone may call.
 */

const gatehouse = await useGatehouse();

/**
 * The callers that an endpoint admits: by the roles in the token or in the table, or all, on their
 * own account.
 */
interface Row {
  readonly anyRole?: readonly Role[];
  readonly rolesFrom: 'token' | 'table' | 'own account';
  readonly body?: object;
  readonly query?: string;
}
const ADMIN: Pick<Row, 'anyRole' | 'rolesFrom'> = { anyRole: ['ROLE_ADMIN'], rolesFrom: 'table' };
const INTEGRATOR: Pick<Row, 'anyRole' | 'rolesFrom'> = {
  anyRole: ['ROLE_ADMIN', 'ROLE_USER'],
  rolesFrom: 'table',
};
const TOKEN: Row = { rolesFrom: 'token' };
const integration = { name: 'Tap', shortName: 'tap', integrationType: 'API', active: true };
const parameter = { integration: { id: 1 }, confName: 'Key', confValue: 'value' };

const ROWS: Partial<Record<Route['route'], Row>> = {
  'GET /api/account': { rolesFrom: 'own account' },
  'POST /api/account': { rolesFrom: 'own account', body: { firstName: 'Mallory' } },
  'POST /api/account/change-password': {
    rolesFrom: 'own account',
    body: { currentPassword: 'pass', newPassword: 'pass' },
  },
  'POST /api/users': { ...ADMIN, body: { login: 'mallory', email: 'mallory@example.com' } },
  'PUT /api/users': { ...ADMIN, body: { id: 1, login: 'mallory', email: 'mallory@example.com' } },
  'GET /api/users': TOKEN,
  'GET /api/users/authorities': { anyRole: ['ROLE_ADMIN'], rolesFrom: 'token' },
  'GET /api/users/{login}': TOKEN,
  'DELETE /api/users/{login}': ADMIN,
  'POST /api/utm-integrations': { ...INTEGRATOR, body: integration },
  'PUT /api/utm-integrations': { ...INTEGRATOR, body: { id: 1, ...integration } },
  'GET /api/utm-integrations': TOKEN,
  'GET /api/utm-integrations/count': TOKEN,
  'GET /api/utm-integrations/{id}': TOKEN,
  'DELETE /api/utm-integrations/{id}': INTEGRATOR,
  'POST /api/utm-integrations/{id}/module/restarted': { ...INTEGRATOR, body: { changes: 0 } },
  'POST /api/utm-integration-confs': { ...INTEGRATOR, body: parameter },
  'PUT /api/utm-integration-confs': { ...INTEGRATOR, body: { id: 1_000_001, ...parameter } },
  'GET /api/utm-integration-confs': INTEGRATOR,
  'GET /api/utm-integration-confs/count': INTEGRATOR,
  'GET /api/utm-integration-confs/{id}': INTEGRATOR,
  'DELETE /api/utm-integration-confs/{id}': INTEGRATOR,
  'GET /api/audits': ADMIN,
};

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

function send(route: string, { body, query = '' }: Row, token?: string) {
  const [method, path] = methodAndPath(route, { login: 'admin', id: 1 });
  return gatehouse.call(method, path + query, { token, body });
}

/** Items that count requests, including rejected ones. */
const isCount = (name: string): boolean => /^(ATTEMPTS|READS)#/.test(name);
const itemsBesidesCounts = async () =>
  [...(await itemsOf(gatehouse.cloud))].filter(([name]) => !isCount(name));

/**
 * The status for a token whose user has suffered this loss; undefined where the request is served.
 */
function rejectionOf(route: string, { rolesFrom }: Row, loss: Loss): 401 | 403 | undefined {
  if (rolesFrom === 'table') return 403;
  // Reads by the token are allowed until it expires.
  if (rolesFrom === 'token') return undefined;
  if (loss === 'deleted' || loss === 'replaced') return 401;
  return loss === 'demoted' || route.startsWith('GET ') ? undefined : 403;
}

it('every endpoint is tested', () => {
  expect([...Object.keys(ROWS), ...PUBLIC_ROUTES].sort()).toEqual(
    routes.map(({ route }) => route).sort(),
  );
});

describe.each(Object.entries(ROWS) as [string, Row][])('%s', (route, row) => {
  it('rejects every unauthorized caller and changes nothing', async () => {
    const losses = Object.keys(LOSSES) as Loss[];
    const expected: Record<string, number | undefined> = {
      'without a token': 401,
      ...Object.fromEntries(
        ROLES.filter((role) => row.anyRole && !row.anyRole.includes(role)).map((role) => [
          role,
          403,
        ]),
      ),
      ...Object.fromEntries(losses.map((loss) => [loss, rejectionOf(route, row, loss)])),
    };
    await gatehouse.cloud.mailsHandedOver();
    const before = await itemsBesidesCounts();

    const rejected = Object.entries(expected).filter(([, status]) => status !== undefined);
    const statuses: [string, number][] = [];
    for (const [caller] of rejected)
      statuses.push([caller, (await send(route, row, tokens.get(caller))).status]);

    expect(statuses).toEqual(rejected);
    expect(await itemsBesidesCounts()).toEqual(before);
    for (const [caller] of Object.entries(expected).filter(([, status]) => status === undefined)) {
      expect([401, 403], caller).not.toContain((await send(route, row, tokens.get(caller))).status);
    }
  });

  it('admits every sufficient role', async () => {
    for (const role of row.anyRole ?? ROLES) {
      // The entity does not exist, so that nothing changes for the other endpoints.
      const [method, path] = methodAndPath(route, { login: 'unknown', id: 999 });
      const body = row.body && { ...row.body, ...('id' in row.body && { id: 999_000_001 }) };
      const { status } = await gatehouse.call(method, path + (row.query ?? ''), {
        token: tokens.get(role),
        body,
      });

      expect([401, 403], role).not.toContain(status);
    }
  });
});
