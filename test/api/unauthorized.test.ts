import { beforeAll, describe, expect, it } from 'vitest';
import { ROLES, SCOPES, type Scope } from '../../lib/contract/contract.ts';
import {
  type ExampleRequest,
  PROTECTED,
  type PreparedRequest,
} from '../support/instance/example-requests.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { itemsBesidesCounts } from '../support/instance/items.ts';
import { RELEASE } from '../support/instance/run-variables.ts';
import { type Loss, makeTokensOfLost, openSetup, type Setup } from '../support/instance/setup.ts';

/*
 * Every endpoint, called by every kind of unauthorized caller. The requests are valid, so that only
 * authorization can reject them. A rejected request must leave every item of the table unchanged,
 * including the sequences of ids, and call no KMS key.
 *
 * Covered: no token; each role that does not suffice; a token whose session has ended, or whose
 * user has been demoted, deactivated, deleted, or given another password since. What a contract
 * requires is in the table of roles in docs/api.md, where a change shows. An API token with every
 * scope but the right one.
 *
 * Not covered: malformed, foreign and expired tokens (authentication.test.ts); a right that is lost
 * between load and commit (test/interleavings); the public endpoints, which anyone may call.
 */

let kmsCalls = 0;
const gatehouse = await useGatehouse({
  intercept({ service, functionName }, forward) {
    if (service === 'KMS' && functionName) kmsCalls++;
    return forward();
  },
});
let setup: Setup;
let tokens: Map<string, string>;
let losses: Loss[];
beforeAll(async () => {
  setup = await openSetup(gatehouse);
  tokens = await makeTokens();
});

/** Tokens of every role, and those whose users have suffered a loss since. */
async function makeTokens(): Promise<Map<string, string>> {
  const lost = await makeTokensOfLost(setup);
  losses = [...lost.keys()];
  const tokens = new Map<string, string>(lost);
  for (const role of ROLES) tokens.set(role, (await setup.account({ authorities: [role] })).token);
  return tokens;
}

/** The scopes that admit an API token to a route; none if it accepts sessions only. */
function scopesFor({ scope }: ExampleRequest): readonly Scope[] {
  if (!scope) return [];
  return [scope, ...SCOPES.filter((other) => other === scope.replace(':read', ':write'))];
}

const send = ({ method, path, body }: PreparedRequest, token?: string) =>
  gatehouse.call(method, path, { token, body });

/**
 * The status for a token whose user has suffered this loss; undefined where the request is served.
 */
function rejectionOf({ route, access }: ExampleRequest, loss: Loss): 401 | 403 | undefined {
  // Logging out succeeds as well when the session has ended.
  if (access === 'issued-token') return undefined;
  if (loss === 'demoted') return typeof access === 'string' ? undefined : 403;
  // The session of a deleted user can still read what requires no role.
  const isReadable = access === 'authenticated' && !route.includes('/api/account');
  return loss === 'deleted' && isReadable ? undefined : 401;
}

describe.each(PROTECTED)('$route', (example) => {
  const admitted = typeof example.access === 'object' ? example.access.anyRole : ROLES;

  it('rejects every unauthorized caller and changes nothing', async () => {
    const rejected = [
      ['without a token', 401],
      ...ROLES.filter((role) => !admitted.includes(role)).map((role) => [role, 403] as const),
      ...losses.map((loss) => [loss, rejectionOf(example, loss)] as const),
    ].filter(([, status]) => status !== undefined) as [string, number][];
    const { request } = await example.prepare(setup);
    await gatehouse.cloud.mailsHandedOver();
    // The cold start of a function may call KMS.
    await send(request);
    kmsCalls = 0;
    const before = await itemsBesidesCounts(gatehouse.cloud);

    const statuses: [string, number][] = [];
    for (const [caller] of rejected)
      statuses.push([caller, (await send(request, tokens.get(caller))).status]);

    expect(statuses).toEqual(rejected);
    expect(await itemsBesidesCounts(gatehouse.cloud)).toEqual(before);
    // Each version has a cold start of its own.
    if (!RELEASE) expect(kmsCalls).toBe(0);
  });

  // The release has no API tokens.
  it.skipIf(RELEASE)('admits API tokens by their scopes', async () => {
    const { scope, success } = example;
    const scopes = scopesFor(example);
    const others = SCOPES.filter((each) => !scopes.includes(each));
    const { request, user } = await example.prepare(setup);
    const owner = { id: Number(user.split('/')[1]) };
    const lacking = await setup.apiToken(owner, others);
    await gatehouse.cloud.mailsHandedOver();
    const before = await itemsBesidesCounts(gatehouse.cloud);

    const { status, headers, body } = await send(request, lacking.token);

    expect(status).toBe(403);
    if (scope) expect(body.detail).toBe(`The API token lacks the scope ${scope}`);
    expect(headers['www-authenticate']).toBe(
      `Bearer error="insufficient_scope"${scope ? `, scope="${scope}"` : ''}`,
    );
    expect(await itemsBesidesCounts(gatehouse.cloud)).toEqual(before);
    for (const each of scopes) {
      const admitted = await example.prepare(setup);
      const caller = { id: Number(admitted.user.split('/')[1]) };
      const { token } = await setup.apiToken(caller, [each]);
      expect((await send(admitted.request, token)).status, each).toBe(success);
    }
  });

  it('admits every sufficient role', async () => {
    const kept = losses.filter((loss) => rejectionOf(example, loss) === undefined);
    // A log-out ends the session with which it is called.
    const admittedTokens = example.access === 'issued-token' ? await makeTokens() : tokens;
    for (const caller of [...admitted, ...kept]) {
      const { request } = await example.prepare(setup);

      const { status } = await send(request, admittedTokens.get(caller));
      expect([401, 403], caller).not.toContain(status);
    }
  });
});
