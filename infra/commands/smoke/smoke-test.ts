import { EDGE_HEADERS } from '../../../lib/http/edge.ts';
import { checkIntegrations, checkUsers, removeMarked } from './changes.ts';
import { type Checks, Unexpected } from './checks.ts';

/** What the operator has given. */
export interface Inputs {
  readonly login: string;
  readonly password: string;
  /** The address that an invitation is sent to. */
  readonly mail: string | undefined;
  /** The link in the invitation. */
  readonly askForLink: () => Promise<string>;
  /** An origin of `corsOrigins`. */
  readonly origin: string | undefined;
  /** The URL that leads past the edge. */
  readonly pastEdge: string | undefined;
}

/** Checks a deployment, and removes what the checks have created. */
export async function smokeTest(checks: Checks, inputs: Inputs): Promise<void> {
  const { origin, pastEdge } = inputs;
  const remove = (name: string) =>
    checks.sequence(() => checks.check(name, () => removeMarked(checks)));
  await checks.otherReads();
  await checks.sequence(() => checks.step('HEAD /api/health'));
  await checks.sequence(() => checkChallenge(checks));
  if (pastEdge) await checks.sequence(() => checkEdge(checks, pastEdge));
  if (origin) await checks.sequence(() => checkOrigin(checks, origin));
  // Without the role, every further check would fail for the same reason.
  if (await checks.sequence(() => logIn(checks, inputs))) {
    // Leftovers of an earlier run would make the creation fail.
    await remove('nothing is left of an earlier run');
    const deleted = await checks.sequence(() => checkUsers(checks, inputs));
    await checks.sequence(() => checkIntegrations(checks));
    await checks.sequence(() => checkAudits(checks, deleted));
    await remove('nothing is left of this run');
    await checks.otherReads();
  }
  await checks.everyRouteWasChecked();
}

async function checkChallenge(checks: Checks): Promise<void> {
  const { headers } = await checks.step('GET /api/account', {
    name: 'a request without a token is rejected with 401',
    status: 401,
  });
  const challenge = headers.get('www-authenticate');
  checks.report(
    'the header WWW-Authenticate is Bearer',
    challenge !== 'Bearer' && `it is ${challenge ?? 'missing'}`,
  );
}

/** Returns true after the login of an administrator. */
async function logIn(checks: Checks, { login, password }: Inputs): Promise<true> {
  const { headers, body } = await checks.step('POST /api/authenticate', {
    body: { username: login, password },
  });
  checks.report(
    'the header Authorization contains the token',
    headers.get('authorization') !== `Bearer ${body.id_token}` && 'it contains something else',
  );
  checks.token = body.id_token;
  const { authorities } = (await checks.step('GET /api/account')).body;
  checks.report(
    'the account has ROLE_ADMIN',
    !authorities.includes('ROLE_ADMIN') && `its roles are ${authorities.join(', ')}`,
  );
  return true;
}

/** Only the edge may use the API, and only the edge may state the address of a client. */
async function checkEdge(checks: Checks, url: string): Promise<void> {
  const forged = { [EDGE_HEADERS.clientAddress]: '203.0.113.1', [EDGE_HEADERS.secret]: 'guessed' };
  for (const route of ['GET /api/health', 'POST /api/authenticate'] as const) {
    const name = `${route} past the edge is rejected with 403`;
    await checks.step(route, { name, url, status: 403 });
    await checks.step(route, {
      name: `${name}, even with the headers of the edge`,
      url,
      status: 403,
      headers: forged,
    });
  }
}

/**
 * What a browser requires before a page of this origin may change anything and read the responses.
 */
async function checkOrigin(checks: Checks, origin: string): Promise<void> {
  const check = (
    what: string,
    route: string,
    sent: Record<string, string>,
    expected: Record<string, readonly string[]>,
  ) =>
    checks.check(`pages of ${origin} may ${what}`, async () => {
      const { headers } = await checks.send(route, { headers: { Origin: origin, ...sent } });
      for (const [header, words] of Object.entries({ 'allow-origin': [origin], ...expected })) {
        const name = `access-control-${header}`;
        const found = headers.get(name)?.toLowerCase().split(/, */) ?? [];
        const missing = words.find((word) => !found.includes(word.toLowerCase()));
        if (missing) throw new Unexpected(`the header ${name} lacks ${missing}`);
      }
    });
  const sentHeaders = ['authorization', 'content-type', 'if-match'];
  const preflight = {
    'Access-Control-Request-Method': 'PUT',
    'Access-Control-Request-Headers': sentHeaders.join(),
  };
  await check('send changes', 'OPTIONS /api/users', preflight, {
    'allow-methods': ['PUT', 'DELETE'],
    'allow-headers': sentHeaders,
  });
  const exposed = ['authorization', 'etag', 'link', 'x-total-count'];
  await check(
    'read the headers of responses',
    'GET /api/health',
    {},
    { 'expose-headers': exposed },
  );
}

/** The deletion of the user that the test has created must be recorded, if it got that far. */
async function checkAudits(checks: Checks, userId: number | undefined): Promise<void> {
  const { body } = await checks.step('GET /api/audits', { query: '?size=100' });
  if (userId === undefined) return;
  const isDeletion = (entry: { action: string; target: string }) =>
    entry.action === 'user.deleted' && entry.target === `user/${userId}`;
  checks.report(
    'the audit trail contains the deletion of the created user',
    !body.some(isDeletion) && 'it is not among the newest 100 entries',
  );
}
