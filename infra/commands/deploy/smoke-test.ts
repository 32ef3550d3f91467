import { EDGE_HEADERS } from '../../../lib/http/edge.ts';
import { routes } from '../../../routes.ts';
import { authenticator } from './authenticator.ts';
import { checkIntegrations, checkUsers, type Invitation, removeMarked } from './smoke-changes.ts';
import type { Checks } from './smoke-checks.ts';

/** What the operator has given. */
interface Inputs extends Invitation {
  readonly login: string;
  readonly password: string;
  /** The secret of the second factor of this user, in base32. */
  readonly factorSecret: string | undefined;
  /** An origin of `corsOrigins`. */
  readonly origin: string | undefined;
  /** The URL that leads past the edge. */
  readonly pastEdge: string | undefined;
}

/** Checks what a deployment can break, and removes what the checks have created. */
export async function smokeTest(checks: Checks, inputs: Inputs): Promise<void> {
  const { origin, pastEdge } = inputs;
  await checks.sequence(() => checkHeaders(checks));
  await checks.sequence(() => checkConsole(checks));
  if (pastEdge) await checks.sequence(() => checkEdge(checks, pastEdge));
  if (origin) await checks.sequence(() => checkOrigin(checks, origin));
  // Without the role, every further check would fail for the same reason.
  if (await checks.sequence(() => logIn(checks, inputs))) {
    // Leftovers of an earlier run would make the creation fail.
    await checks.sequence(() => removeMarked(checks));
    await checks.sequence(() => checkUsers(checks, inputs));
    await checks.sequence(() => checkIntegrations(checks));
    await checks.sequence(() => removeMarked(checks));
  }
  for (const { route, contract } of routes)
    if (/^GET [^{]*$/.test(route) && (checks.token || contract.access === 'public'))
      await checks.sequence(() => checks.step(route));
  if (checks.token) await checks.sequence(() => checks.step('POST /api/logout'));
}

/** What something in front of the service could rename, drop or answer itself. */
async function checkHeaders(checks: Checks): Promise<void> {
  await checks.step('HEAD /api/health');
  const { headers } = await checks.step('GET /api/account', { status: 401 });
  const challenge = headers.get('www-authenticate');
  checks.report(
    'the header WWW-Authenticate is Bearer',
    challenge !== 'Bearer' && `it is ${challenge ?? 'missing'}`,
  );
}

/** The page of the console and its files, as a browser loads them. */
async function checkConsole(checks: Checks): Promise<void> {
  const page = await checks.send('GET /console');
  // API Gateway itself responds in an environment without the console.
  if (page.status === 404 && page.body?.message === 'Not Found') return;
  const files = [...page.text.matchAll(/="(\/console\/assets\/[^"]+)"/g)].map(([, file]) => file);
  for (const path of ['/console', ...files]) {
    const { status, headers } = path === '/console' ? page : await checks.send(`GET ${path}`);
    const type = headers.get('content-type') ?? 'missing';
    const expected = { css: 'text/css', js: 'text/javascript' }[path?.split('.').at(-1) ?? ''];
    const policy = headers.get('content-security-policy') ?? '';
    checks.report(
      `GET ${path}`,
      (status !== 200 && `${status} instead of 200`) ||
        (!type.startsWith(expected ?? 'text/html') && `its type is ${type}`) ||
        (!policy.includes("trusted-types 'none'") && 'its policy is not the policy of the console'),
    );
  }
}

async function logIn(checks: Checks, inputs: Inputs): Promise<void> {
  const { login, password, factorSecret } = inputs;
  const code = factorSecret && authenticator(factorSecret).code();
  const { body } = await checks.step('POST /api/authenticate', {
    body: { username: login, password, code },
  });
  checks.token = body.id_token;
  const { authorities } = (await checks.step('GET /api/account')).body;
  checks.report(
    'the account has ROLE_ADMIN',
    !authorities.includes('ROLE_ADMIN') && `its roles are ${authorities.join(', ')}`,
  );
}

/** Only the edge may use the API, whatever a request states about itself. */
async function checkEdge(checks: Checks, url: string): Promise<void> {
  const headers = { [EDGE_HEADERS.clientAddress]: '203.0.113.1', [EDGE_HEADERS.secret]: 'guessed' };
  for (const route of ['GET /api/health', 'POST /api/authenticate'] as const)
    await checks.step(route, { name: `${route} past the edge`, url, status: 403, headers });
}

/** What a browser requires before a page of this origin may send changes and read responses. */
async function checkOrigin(checks: Checks, origin: string): Promise<void> {
  const name = 'access-control-allow-origin';
  const sent = {
    Origin: origin,
    'Access-Control-Request-Method': 'PUT',
    'Access-Control-Request-Headers': 'authorization',
  };
  for (const route of ['OPTIONS /api/users', 'GET /api/health']) {
    const { headers } = await checks.send(route, { headers: sent });
    const allowed = headers.get(name);
    checks.report(
      `${route} for a page of ${origin}`,
      allowed !== origin && `the header ${name} is ${allowed ?? 'missing'}`,
    );
  }
}
