import { randomUUID } from 'node:crypto';
import {
  EXAMPLES,
  type Example,
  type ExampleValues,
  fillExample,
} from '../../../infra/api-document/examples.ts';
import { auditPartition } from '../../../lib/audit/audit-entry.ts';
import { type Access, type Scope, scopeOf } from '../../../lib/contract/contract.ts';
import { PARTITION } from '../../../lib/operations/item-kinds.ts';
import { codeOf, stepAt } from '../../../lib/second-factor/totp.ts';
import { commit } from '../../../lib/table/change.ts';
import { integrationIdOf, parameterId } from '../../../lib/table/keys.ts';
import type { Item } from '../../../lib/table/table.ts';
import { newConfirmationKey, newResetKey } from '../../../lib/users/mailed-keys.ts';
import type { User } from '../../../lib/users/user.ts';
import { type Route, routes } from '../../../routes.ts';
import { methodAndPath } from './api-document.ts';
import type { Received, Sent } from './launch.ts';
import { decode } from './mint.ts';
import { logInForm, testProvider } from './provider.ts';
import type { Setup } from './setup.ts';

/*
 * The example of every route as a request that succeeds, any number of times: by a caller of its
 * own, and on entities of its own.
 */

export interface ExampleRequest {
  readonly route: Route['route'];
  readonly access: Access;
  readonly scope: Scope | undefined;
  readonly success: number;
  /** Whether the response hides if there was a change: such a route writes no audit entry. */
  readonly hidesOutcome: boolean;
  prepare(setup: Setup): Promise<Prepared>;
}

export interface PreparedRequest extends Pick<Sent, 'token' | 'body' | 'headers'> {
  readonly method: string;
  readonly path: string;
}

/** A request whose prerequisites exist. */
export interface Prepared {
  /** `<pk>/<sk>` of the caller or, without a token, of the user whom the request concerns. */
  readonly user: string;
  /** The same of an item in each of its transactions; `*` is any end of a partition key. */
  readonly item: string;
  readonly request: PreparedRequest;
  send(): Promise<Received>;
  countChanges(): Promise<number>;
}

interface Variant {
  readonly fieldsOf?: (setup: Setup) => Promise<Partial<User>>;
  readonly bodyOf?: (user: User) => object;
  /** Whether it requires the digest of a plan. */
  readonly isPlanned?: boolean;
}

const LOGIN = 'POST /api/authenticate';
/** None makes a transaction: one only signs. */
const READS_BY_POST: readonly string[] = [
  'POST /api/issuers/preview',
  'POST /api/oauth2/token',
  'POST /api/plan',
];
const RESET = 'POST /api/account/reset-password/init';
const logIn = ({ login }: User) => ({ username: login, password: 'pass' });

export const REQUESTS: readonly ExampleRequest[] = routes.map((row) =>
  requestTo(row, row.route === LOGIN ? { bodyOf: logIn } : {}),
);
/** The creation that hashes a password and sends no mail. */
export const CREATION_WITH_PASSWORD = variantOf('POST /api/users', {
  bodyOf: () => ({ password: 'pass' }),
});
/** The log-in that replaces an outdated hash. */
const RENEWAL = variantOf(LOGIN, {
  bodyOf: logIn,
  fieldsOf: async (setup) => ({ passwordHash: await setup.outdatedHash() }),
});
/** The application that has something to change, in one transaction that calls KMS. */
const APPLICATION = variantOf('POST /api/apply', {
  bodyOf: ({ login }) => ({
    integrations: [
      {
        name: `Tap of ${login}`,
        shortName: 'tap',
        integrationType: 'API',
        parameters: [{ confName: 'host', confValue: 'a.example' }],
      },
    ],
  }),
  isPlanned: true,
});
/** The log-in of a person who has the roles of the groups. */
export const LOG_IN_WITH_ID_TOKEN = variantOf('POST /api/oauth2/token', {
  fieldsOf: async () => ({
    authorities: ['ROLE_USER'],
    identities: [{ issuer: testProvider().issuer.issuer, subject: randomUUID() }],
  }),
  bodyOf: ({ identities: [{ subject } = {}] = [] }) => ({
    // In place of the module's.
    client_id: testProvider().issuer.clientId,
    ...logInForm(testProvider(), { sub: subject, groups: ['users'] }),
  }),
});
const isForModulesOnly = ({ access }: Pick<ExampleRequest, 'access'>): boolean =>
  typeof access === 'object' && access.anyRole.length === 0;
export const OF_MODULES = REQUESTS.filter(isForModulesOnly);
export const PROTECTED = REQUESTS.filter(
  (request) => request.access !== 'public' && !isForModulesOnly(request),
);
export const READS = REQUESTS.filter(
  ({ route }) => route.startsWith('GET ') || READS_BY_POST.includes(route),
);
export const CHANGES = REQUESTS.filter(
  (request) => !READS.includes(request) && !isForModulesOnly(request),
).map(
  (request) => [RENEWAL, APPLICATION].find((variant) => variant.route === request.route) ?? request,
);

function variantOf(route: Route['route'], variant: Variant): ExampleRequest {
  return requestTo(routes.find((row) => row.route === route) as Route, variant);
}

function requestTo({ route, contract, permissions }: Route, variant: Variant): ExampleRequest {
  // A module that polls makes changes, but no person does who reads the same.
  const isAudited = !route.startsWith('GET ') && permissions.put?.includes(PARTITION.audit);
  return {
    route,
    access: contract.access,
    scope: scopeOf(contract),
    success: contract.status ?? 200,
    hidesOutcome: isAudited !== true,
    async prepare(setup) {
      const { user, token, item } = await setup.account(await variant.fieldsOf?.(setup));
      const example = EXAMPLES[route] as Example;
      const { moduleToken, ...values } = await valuesOf(setup, example, {
        caller: user,
        session: String(decode(token.split('.')[1]).jti),
        opensValues: permissions.keys?.includes('unseal'),
        isModule: isForModulesOnly(contract),
      });
      const id = route.includes('-confs') ? values.parameterId : values.integrationId;
      const params = { ...fillExample(example.path, values), ...(id && { id }) };
      const [method, path] = methodAndPath(route, params);
      const query = fillQuery(example.query, values);
      const filled = fillExample(example.body, values);
      const body = filled && { ...filled, ...variant.bodyOf?.(user) };
      const plan =
        variant.isPlanned && (await setup.gatehouse.call('POST', '/api/plan', { token, body }));
      const request = {
        method,
        path: path + query,
        token: contract.access === 'public' ? undefined : (moduleToken ?? token),
        body,
        ...(plan && { headers: { 'If-Match': `"${plan.body.digest}"` } }),
      };
      const preparedAt = Date.now();
      return {
        user: item,
        item: route === RESET ? `${PARTITION.resetMail}*` : item,
        request,
        send: () => setup.gatehouse.call(method, request.path, { ...request, mayCrash: true }),
        countChanges: () =>
          route === RESET
            ? countResets(setup, user, preparedAt)
            : countTransactions(setup, preparedAt, ({ actorId }) => actorId === user.id),
      };
    },
  };
}

/** Only the filter by integration: others would find what other tests have stored. */
const fillQuery = (query: Example['query'] = {}, { integrationId = 0 }: ExampleValues) =>
  query['integrationId.equals'] ? `?integrationId.equals=${integrationId}` : '';

const OF_OTHERS: readonly string[] = [
  'user',
  'invitee',
  'session',
  'token',
  'factor',
  'identity',
] satisfies Example['needs'][];

/** Makes what an example needs. Returns the values of its placeholders. */
async function valuesOf(
  setup: Setup,
  { needs }: Example,
  {
    caller,
    session,
    opensValues = false,
    isModule,
  }: {
    caller: User;
    session: string;
    opensValues?: boolean | undefined;
    isModule: boolean;
  },
): Promise<ExampleValues & { moduleToken?: string }> {
  const fresh = `new-${caller.login}`;
  const values = {
    password: 'pass',
    ownEmail: `${fresh}@example.com`,
    newEmail: `${fresh}@example.com`,
    expires: new Date(Date.now() + 86_400_000).toISOString(),
    foreignEmail: caller.email,
    shownLogin: fresh,
    issuer: testProvider().issuer.issuer,
    subject: fresh,
  };
  if (needs === 'idToken') {
    const { assertion, code_verifier: codeVerifier } = logInForm(testProvider(), { sub: fresh });
    return { ...values, assertion, codeVerifier };
  }
  if (needs && OF_OTHERS.includes(needs)) {
    const { user } = await setup.account({
      authorities: ['ROLE_USER'],
      ...(needs === 'invitee' && { passwordHash: undefined }),
      ...(needs === 'identity' && { identities: [{ issuer: values.issuer, subject: fresh }] }),
    });
    const { id: userId, login, email: shownEmail } = user;
    if (needs === 'factor') await setup.secondFactor(user);
    const series = await seriesOf(setup, needs, user);
    return { ...values, userId, login, shownLogin: login, shownEmail, series };
  }
  if (needs === 'ownSession' || needs === 'ownToken')
    return { ...values, series: await seriesOf(setup, needs, caller) };
  if (needs === 'pendingFactor' || needs === 'ownFactor') {
    const pendingIn = needs === 'pendingFactor' ? session : undefined;
    const { secrets } = await setup.secondFactor(caller, pendingIn);
    return { ...values, code: codeOf(secrets.totp, stepAt(Date.now())) };
  }
  if (needs === 'resetKey' || needs === 'confirmationKey') {
    const { key, write } =
      needs === 'resetKey'
        ? newResetKey(caller, Date.now())
        : newConfirmationKey(caller, values.newEmail, Date.now());
    await commit(setup.gatehouse.table, [write]);
    return { ...values, key };
  }
  if (needs === undefined) return values;
  const parameter = opensValues
    ? await setup.openParameter()
    : parameterId(await setup.integration(2), 1);
  const integrationId = integrationIdOf(parameter);
  if (needs !== 'credential') return { ...values, parameterId: parameter, integrationId };
  const { token, ...credential } = await setup.module(integrationId);
  return { ...values, ...credential, integrationId, ...(isModule && { moduleToken: token }) };
}

/** The series of a new session or API token of the user, if the example needs one. */
async function seriesOf(setup: Setup, needs: Example['needs'], user: User): Promise<string> {
  if (needs === 'session' || needs === 'ownSession') return setup.session(user);
  if (needs === 'token' || needs === 'ownToken') return (await setup.apiToken(user)).series;
  return 'none';
}

/** Every change of data is one transaction. Its entries in the trail have new ids and one time. */
async function countTransactions(
  { gatehouse }: Setup,
  since: number,
  isMeant: (entry: Item) => boolean,
): Promise<number> {
  const months = new Set(
    [since, Date.now()].map((time) => new Date(time).toISOString().slice(0, 7)),
  );
  const entries = await Promise.all(
    [...months].map((month) => gatehouse.table.query(auditPartition(month))),
  );
  return new Set(
    entries
      .flat()
      .filter(isMeant)
      .map(({ time }) => time),
  ).size;
}

/** A reset has no caller. It is written once to the trail, but its mail can arrive twice. */
async function countResets(setup: Setup, { id }: User, since: number): Promise<number> {
  await setup.gatehouse.cloud.mailsHandedOver();
  return countTransactions(setup, since, ({ target }) => target === `user/${id}`);
}
