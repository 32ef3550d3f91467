import { EDGE_HEADERS } from '../../../lib/http/edge.ts';
import { Checks } from './checks.ts';
import { type Deployment, Unexpected } from './deployment.ts';
import { checkIntegrations } from './integration-checks.ts';
import { removeMarked } from './marked.ts';
import { checkLogin, checkUsers, type Invitation } from './user-checks.ts';

/** What the operator has given. */
interface Inputs {
  readonly login: string;
  readonly password: string;
  readonly invitation: Invitation | undefined;
  /** An origin of `corsOrigins`. */
  readonly origin: string | undefined;
  /** The API at the URL that leads past its edge. */
  readonly pastEdge: Deployment | undefined;
}

/** Checks a deployment, and removes what the checks have created. */
export async function smokeTest(
  deployment: Deployment,
  inputs: Inputs,
  report: Report,
): Promise<void> {
  const { login, password, invitation, origin, pastEdge } = inputs;
  const checks = new Checks(deployment, report);
  const removesMarked = (name: string) => () => checks.check(name, () => removeMarked(deployment));
  await checks.inSequence(() => checkPublicRoutes(checks));
  await checks.inSequence(() => checkChallenge(checks));
  if (pastEdge) await checks.inSequence(() => checkEdge(checks, pastEdge));
  if (origin) await checks.inSequence(() => checkOrigin(checks, origin));
  const isAdministrator = await checks.inSequence(async () => {
    deployment.token = await checkLogin(checks, 'POST /api/authenticate', login, password);
    return checkRole(checks);
  });
  // Without the role, every further check would fail for the same reason.
  if (isAdministrator) {
    // Leftovers of an earlier run would make the creation fail.
    await checks.inSequence(removesMarked('nothing is left of an earlier run'));
    const deleted = await checks.inSequence(() => checkUsers(checks, invitation));
    await checks.inSequence(() => checkIntegrations(checks));
    await checks.inSequence(() => checkAudits(checks, deleted));
    await checks.inSequence(removesMarked('nothing is left of this run'));
    await checks.inSequence(() => checks.otherReads());
  }
  checks.reportUnchecked();
}

type Report = ConstructorParameters<typeof Checks>[1];

async function checkPublicRoutes(checks: Checks): Promise<void> {
  await checks.succeeds('GET /api/health');
  await checks.check('HEAD /api/health', () =>
    checks.deployment.succeedEmpty('HEAD /api/health', 200),
  );
  await checks.succeeds('GET /management/info');
  await checks.succeeds('GET /api/openapi.json');
  await checks.succeeds('GET /.well-known/jwks.json');
}

async function checkChallenge(checks: Checks): Promise<void> {
  await checks.check(
    'a request without a token is rejected with 401 and WWW-Authenticate',
    async () => {
      const { headers } = await checks.deployment.reject('GET /api/account', 401);
      const challenge = headers.get('www-authenticate');
      if (challenge !== 'Bearer')
        throw new Unexpected(`the header WWW-Authenticate is ${challenge}`);
    },
  );
}

async function checkRole(checks: Checks): Promise<boolean> {
  const { body } = await checks.succeeds('GET /api/account');
  return checks.check('the account has ROLE_ADMIN', async () => {
    if (!body.authorities.includes('ROLE_ADMIN'))
      throw new Unexpected(`its roles are ${body.authorities.join(', ')}`);
    return true;
  });
}

/** Only the edge may use the API, and only the edge may state the address of a client. */
async function checkEdge(checks: Checks, pastEdge: Deployment): Promise<void> {
  const forged = { [EDGE_HEADERS.clientAddress]: '203.0.113.1', [EDGE_HEADERS.secret]: 'guessed' };
  for (const route of ['GET /api/health', 'POST /api/authenticate'] as const) {
    const name = `${route} past the edge is rejected with 403`;
    await checks.check(name, () => pastEdge.reject(route, 403));
    await checks.check(`${name}, even with the headers of the edge`, () =>
      pastEdge.reject(route, 403, { headers: forged }),
    );
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
      const headers = { Origin: origin, ...sent };
      const received = await checks.deployment.send(route, { headers });
      for (const [header, words] of Object.entries({ 'allow-origin': [origin], ...expected })) {
        const name = `access-control-${header}`;
        const value = received.headers.get(name);
        const found = value?.toLowerCase().split(',') ?? [];
        const missing = words.find((word) => !found.includes(word.toLowerCase()));
        if (missing) throw new Unexpected(`the header ${name} is ${value}, without ${missing}`);
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

/**
 * The audit trail must contain the deletion of the user that the test has created, if it got that
 * far.
 */
async function checkAudits(checks: Checks, userId: number | undefined): Promise<void> {
  const { body } = await checks.succeeds('GET /api/audits', { query: '?size=100' });
  if (userId === undefined) return;
  await checks.check('the audit trail contains the deletion of the created user', async () => {
    const isDeletion = (entry: { action: string; target: string }) =>
      entry.action === 'user.deleted' && entry.target === `user/${userId}`;
    if (!body.some(isDeletion)) throw new Unexpected('there is no such entry');
  });
}
