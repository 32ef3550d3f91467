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
  const checks = new Checks(deployment, report);
  await checks.inSequence(() => checkPublicRoutes(checks));
  await checks.inSequence(() => checkChallenge(checks));
  const { origin, pastEdge } = inputs;
  if (pastEdge !== undefined) await checks.inSequence(() => checkEdge(checks, pastEdge));
  if (origin !== undefined) await checks.inSequence(() => checkOrigin(checks, origin));
  const token = await checks.inSequence(() =>
    checkLogin(checks, 'POST /api/authenticate', inputs.login, inputs.password),
  );
  // Without the role, every further check would fail for the same reason.
  if (token !== undefined && (await checks.inSequence(() => checkRole(checks, token)))) {
    // Leftovers of an earlier run would make the creation fail.
    await checks.inSequence(() =>
      checkNothingIsLeft(checks, token, 'nothing is left of an earlier run'),
    );
    const deleted = await checks.inSequence(() => checkUsers(checks, token, inputs.invitation));
    await checks.inSequence(() => checkIntegrations(checks, token));
    await checks.inSequence(() => checkAudits(checks, token, deleted));
    await checks.inSequence(() => checkNothingIsLeft(checks, token, 'nothing is left of this run'));
    await checks.inSequence(() => checks.otherReads(token));
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
      if (headers.get('www-authenticate') !== 'Bearer')
        throw new Unexpected(`the header WWW-Authenticate is ${headers.get('www-authenticate')}`);
    },
  );
}

async function checkRole(checks: Checks, token: string): Promise<boolean> {
  const { body } = await checks.succeeds('GET /api/account', { token });
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
    await checks.check(`${route} past the edge is rejected with 403`, () =>
      pastEdge.reject(route, 403),
    );
    await checks.check(
      `${route} past the edge is rejected with 403, even with the headers of the edge`,
      () => pastEdge.reject(route, 403, { headers: forged }),
    );
  }
}

/**
 * What a browser requires before a page of this origin may change anything and read the responses.
 */
async function checkOrigin(checks: Checks, origin: string): Promise<void> {
  const expectHeader = (headers: Headers, name: string, words: readonly string[]) => {
    const value = headers.get(name);
    const missing = words.find(
      (word) => !value?.toLowerCase().split(',').includes(word.toLowerCase()),
    );
    if (missing) throw new Unexpected(`the header ${name} is ${value}, without ${missing}`);
  };
  await checks.check(`pages of ${origin} may send changes`, async () => {
    const { headers } = await checks.deployment.send('OPTIONS /api/users', {
      headers: {
        Origin: origin,
        'Access-Control-Request-Method': 'PUT',
        'Access-Control-Request-Headers': 'authorization,content-type,if-match',
      },
    });
    expectHeader(headers, 'access-control-allow-origin', [origin]);
    expectHeader(headers, 'access-control-allow-methods', ['PUT', 'DELETE']);
    expectHeader(headers, 'access-control-allow-headers', [
      'authorization',
      'content-type',
      'if-match',
    ]);
  });
  await checks.check(`pages of ${origin} may read the headers of responses`, async () => {
    const { headers } = await checks.deployment.send('GET /api/health', {
      headers: { Origin: origin },
    });
    expectHeader(headers, 'access-control-allow-origin', [origin]);
    expectHeader(headers, 'access-control-expose-headers', [
      'authorization',
      'etag',
      'link',
      'x-total-count',
    ]);
  });
}

/**
 * The audit trail must contain the deletion of the user that the test has created, if it got that
 * far.
 */
async function checkAudits(
  checks: Checks,
  token: string,
  userId: number | undefined,
): Promise<void> {
  const { body } = await checks.succeeds('GET /api/audits', { token, query: '?size=100' });
  if (userId === undefined) return;
  await checks.check('the audit trail contains the deletion of the created user', async () => {
    const isDeletion = (entry: { action: string; target: string }) =>
      entry.action === 'user.deleted' && entry.target === `user/${userId}`;
    if (!body.some(isDeletion)) throw new Unexpected('there is no such entry');
  });
}

/** Deletes what this or an earlier failed run has left behind. */
async function checkNothingIsLeft(checks: Checks, token: string, name: string): Promise<void> {
  await checks.check(name, () => removeMarked(checks.deployment, token));
}
