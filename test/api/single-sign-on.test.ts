import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { codeOf, stepAt } from '../../lib/second-factor/totp.ts';
import type { User } from '../../lib/users/user.ts';
import { findUser } from '../../lib/users/user-table.ts';
import { lastFailedAgo } from '../support/instance/attempts.ts';
import { startGatehouse, useGatehouse, useSetup } from '../support/instance/gatehouse.ts';
import { openMeanwhile } from '../support/instance/hold-transactions.ts';
import { itemsBesidesCounts, setUser } from '../support/instance/items.ts';
import { logInForm, testProvider } from '../support/instance/provider.ts';

/*
 * Log-ins with ID tokens of an identity provider, and what links them with accounts.
 * wrong-id-tokens.test.ts has tokens that are refused, issuer-keys.test.ts the keys.
 */

/** What happens before a session, or a change of identities, is committed. */
const meanwhile = openMeanwhile(({ functionName = '' }) => /identities|oauth2/.test(functionName));
const gatehouse = await useGatehouse({
  async intercept(call, forward) {
    await meanwhile.before(call);
    return forward();
  },
});
const { table } = gatehouse;
const setup = useSetup(gatehouse);
const provider = testProvider();
const { issuer } = provider.issuer;
const MFA = { amr: ['pwd', 'mfa'] };
let admin: string;

beforeAll(async () => {
  admin = await gatehouse.adminToken();
});

const post = (path: string, body: object, token = admin) =>
  gatehouse.call('POST', path, { token, body });
const logIn = (claims: object) =>
  gatehouse.call('POST', '/api/oauth2/token', { body: logInForm(provider, { ...claims }) });
const preview = async (claims: object) =>
  (await post('/api/issuers/preview', { issuer, claims })).body;
const account = async (token: string) =>
  (await gatehouse.call('GET', '/api/account', { token })).body;
const userOf = async (login: string) =>
  (await gatehouse.call('GET', `/api/users/${login}`, { token: admin })).body;
const messageOf = ({ status, body }: { status: number; body: { message?: string } }) => [
  status,
  body?.message ?? '',
];
const REFUSED = [400, 'error.invalidgrant'];
const UNKNOWN = [400, 'error.unknownidentity'];
const WITHOUT_FACTOR = [400, 'error.providerwithoutfactor'];
const TAKEN = [409, 'error.identitytaken'];

/** An account that is linked with a subject of its own. */
async function linkedAccount(subject: string, fields: Partial<User> = {}) {
  const identities = [{ issuer, subject }];
  const made = await setup.account({ authorities: ['ROLE_USER'], identities, ...fields });
  return { ...made, claims: { sub: subject, groups: ['users'] } };
}
/** Proves an identity and the password `pass`, unless these fields say otherwise. */
const linkOwn = (token: string, sub: string, fields: object = {}) => {
  const { assertion, code_verifier: codeVerifier } = logInForm(provider, { sub });
  const proof = { assertion, codeVerifier, currentPassword: 'pass', ...fields };
  return post('/api/account/identities', proof, token);
};

/** The newest entries about a user, each as its actor and its action. */
async function entriesAbout({ id }: { id: number }, size = 9): Promise<string[]> {
  const path = `/api/audits?target.equals=user/${id}&size=${size}`;
  const { body } = await gatehouse.call('GET', path, { token: admin });
  return body.map(({ actor, action }: Record<string, string>) => `${actor} ${action}`);
}
const subjectsTo = async ({ email }: { email: string }) =>
  (await gatehouse.mailsTo(email)).map(({ subject }) => subject);

it('the providers are listed for everybody, without what concerns only the service', async () => {
  const { body } = await gatehouse.call('GET', '/api/issuers');

  const { name, clientId, authorizationEndpoint, tokenEndpoint } = provider.issuer;
  expect(body).toEqual([
    { passwords: true, issuer, name, clientId, authorizationEndpoint, tokenEndpoint },
  ]);
});

describe('the only administrator', () => {
  it('keeps the role that the groups no longer grant, and is told so by mail', async () => {
    await linkOwn(admin, 'only', { currentPassword: 'admin' });

    const first = await logIn({ sub: 'only', groups: ['analysts'] });
    const second = await logIn({ sub: 'only', groups: [] });
    const kept = await account(second.body.access_token);
    const third = await logIn({ sub: 'only', groups: ['admins'] });

    expect([first, second, third].map(({ status }) => status)).toEqual([200, 200, 200]);
    const user = await account(first.body.access_token);
    expect([kept.authorities, user.authorities]).toEqual([['ROLE_ADMIN'], ['ROLE_ADMIN']]);
    const entries = ['identity-provider roles.kept', 'admin session.started'];
    const each = ['identity-provider user.updated', ...entries];
    const expected = [...each, ...each, 'admin session.started'];
    expect((await entriesAbout(user, 7)).sort()).toEqual(expected.sort());
    expect(await subjectsTo(user)).toContain('You remain an administrator');
  });
});

describe('a log-in of an unknown identity', () => {
  it('creates an account with the roles of its groups, and finds it again', async () => {
    const claims = { sub: 'anna', preferred_username: 'anna', groups: ['users', 'staff'] };
    const names = { given_name: ' An\u0000na ', family_name: 'x'.repeat(60) };

    const first = await logIn({
      ...claims,
      ...names,
      email: 'anna@example.com',
      email_verified: true,
    });
    const again = await logIn({ ...claims, preferred_username: 'renamed', email: 'new@a.example' });

    expect(first).toMatchObject({ status: 200, body: { token_type: 'Bearer' } });
    const anna = await account(again.body.access_token);
    expect(anna).toMatchObject({
      login: 'anna',
      firstName: 'Anna',
      lastName: 'x'.repeat(50),
      email: 'anna@example.com',
      activated: true,
      langKey: 'en',
      authorities: ['ROLE_USER'],
      createdBy: 'identity-provider',
    });
    expect(await userOf('anna')).toMatchObject({ identities: [{ issuer, subject: 'anna' }] });
    expect(await account(again.body.access_token)).toMatchObject({ identities: [issuer] });
    expect((await entriesAbout(anna)).sort()).toEqual([
      'anna session.started',
      'anna session.started',
      'identity-provider user.created',
    ]);
  });

  it('finds the account that another one creates at the same time', async () => {
    const claims = { sub: 'twice', preferred_username: 'twice', groups: ['users'] };

    const received = await meanwhile.during(
      () => logIn(claims),
      () => logIn(claims),
    );

    expect(received.status).toBe(200);
    expect((await account(received.body.access_token)).login).toBe('twice');
  });

  it.each<[string, object]>([
    ['no groups', { groups: undefined }],
    ['no group that grants a role', { groups: ['staff', 'Users', 'ROLE_USER'] }],
    ['groups that are no list of texts', { groups: [['users'], { users: true }] }],
    ['no login', { preferred_username: undefined }],
    ['a login that is no text', { preferred_username: ['stranger'] }],
    ['an invalid login', { preferred_username: 'a/b' }],
    ['a login that collides with a path', { preferred_username: 'authorities' }],
    ['a login that is too long', { preferred_username: 'x'.repeat(51) }],
    ['a login that the service writes', { preferred_username: 'identity-provider' }],
    ['the login of somebody else', { preferred_username: 'admin' }],
  ])('creates none with %s, and says the same each time', async (_, claims) => {
    const before = await itemsBesidesCounts(gatehouse.cloud);
    const usual = { sub: 'stranger', preferred_username: 'stranger', groups: ['users'] };
    const address = { email: 'admin@example.com', email_verified: true };
    const stated = { ...usual, ...address, ...claims };

    const received = await logIn(stated);

    expect(messageOf(received)).toEqual(UNKNOWN);
    expect(received.body.error).toBe('invalid_grant');
    expect(received.body.error_description).toBe(
      'The provider knows you, but no account is linked with that identity',
    );
    expect(await preview(stated)).toMatchObject({ account: null, created: false });
    expect(await itemsBesidesCounts(gatehouse.cloud)).toEqual(before);
  });

  it.each<[string, object, boolean]>([
    ['verified', { email_verified: true }, true],
    ['verified, as a text', { email_verified: 'true' }, true],
    ['verified by Entra ID', { xms_edov: true }, true],
    ['verified by Entra ID, as a number', { xms_edov: '1' }, true],
    ['unverified', { email_verified: false }, false],
    ['unverified, as a text', { email_verified: 'false' }, false],
    ['not said to be verified', {}, false],
    ['verified, but taken', { email: 'USER@example.com', email_verified: true }, false],
    ['verified, but invalid', { email: 'a b@example.com', email_verified: true }, false],
    ['verified, but no text', { email: ['a@example.com'], email_verified: true }, false],
  ])('takes its address only if it is usable: %s', async (name, claims, isTaken) => {
    const login = name.replaceAll(/\W/g, '');
    const email = `${login}@example.com`;
    const taken = await userOf('user');
    const names = { given_name: ' ', family_name: 7 };
    const usual = { sub: login, preferred_username: login, groups: ['users'], email };

    const { body } = await logIn({ ...usual, ...names, ...claims });

    const created = await account(body.access_token);
    expect(created).toMatchObject({ login, firstName: null, lastName: null });
    expect(created.email).toBe(isTaken ? email : `user-${created.id}@invalid`);
    expect(await userOf('user')).toEqual(taken);
  });

  it('is not opened by mail: the provider may require more than a mailbox', async () => {
    const claims = { sub: 'mailed', preferred_username: 'mailed', groups: ['users'] };
    const email = 'mailed@example.com';
    await logIn({ ...claims, email, email_verified: true });
    const user = await userOf('mailed');
    const change = { ...user, activated: false };

    await gatehouse.call('POST', '/api/account/reset-password/init', { body: { email } });
    await gatehouse.call('PUT', '/api/users', { token: admin, body: change });
    await gatehouse.call('PUT', '/api/users', { token: admin, body: user });

    const invited = await post('/api/users/mailed/invite', {});

    expect(await subjectsTo(user)).toEqual([]);
    expect(messageOf(invited)).toEqual([400, 'error.notinvitable']);
  });

  it('is not opened with an invitation that was mailed before the link', async () => {
    const login = 'invited-before';
    const { user } = await setup.account({ login, passwordHash: undefined });
    await post(`/api/users/${login}/invite`, {});
    const key = await gatehouse.keyMailedTo(user.email);
    await post(`/api/users/${login}/identities`, { issuer, subject: login });

    const body = { key, newPassword: 'my first' };
    const { status } = await gatehouse.call('POST', '/api/account/reset-password/finish', { body });

    expect([key, status]).toEqual([expect.stringMatching(/^[\w-]{43}$/), 400]);
  });
});

it('the first log-in of an environment can be one with an ID token', async () => {
  const first = await startGatehouse();
  onTestFinished(() => first.stop());
  const body = () => logInForm(provider, { sub: 'a', preferred_username: 'a', groups: ['users'] });
  const tryLogIn = () => first.call('POST', '/api/oauth2/token', { body: body() });

  // Until the keys of the provider have been fetched.
  await expect.poll(async () => (await tryLogIn()).status).toBe(200);

  const { access_token: token } = (await tryLogIn()).body;
  expect((await first.call('GET', '/api/account', { token })).status).toBe(200);
});

describe('a log-in of a known identity', () => {
  it('grants and takes roles, and records who did it', async () => {
    const claims = { sub: 'ben', preferred_username: 'ben' };
    await logIn({ ...claims, groups: ['users', 'admins'] });

    const fewer = await logIn({ ...claims, groups: 'analysts' });
    const none = await logIn(claims);

    expect(none.status).toBe(200);
    const ben = await account(fewer.body.access_token);
    expect(ben).toMatchObject({ authorities: [], lastModifiedBy: 'identity-provider' });
    const token = none.body.access_token;
    const sessions = await gatehouse.call('GET', '/api/account/sessions', { token });
    expect(sessions.body[0].tokenDate).toBe((await userOf('ben')).lastLogin);
    const path = `/api/audits?target.equals=user/${ben.id}&action.equals=user.updated`;
    const { body: entries } = await gatehouse.call('GET', path, { token: admin });
    expect(entries).toMatchObject([
      { actor: 'identity-provider', changes: [{ removed: ['ROLE_ANALYST'] }] },
      {
        actor: 'identity-provider',
        changes: [{ added: ['ROLE_ANALYST'], removed: ['ROLE_ADMIN', 'ROLE_USER'] }],
      },
    ]);
  });

  it('is refused for a deactivated account', async () => {
    const { claims } = await linkedAccount('asleep', { activated: false });

    const refused = await logIn(claims);

    expect(messageOf(refused)).toEqual(REFUSED);
    expect((await gatehouse.lineOf(refused)).reason).toBe('deactivated');
  });

  it.each<[string, User['identities']]>([
    ['has been unlinked', undefined],
    ['is linked with another issuer', [{ issuer: `${issuer}/`, subject: 'moved' }]],
    ['is linked with another subject', [{ issuer, subject: 'other' }]],
  ])('is unknown if the account that is read next %s', async (_, identities) => {
    const { user, claims } = await linkedAccount('moved');

    await setUser(table, user.id, { identities });
    const received = await logIn(claims);

    await setUser(table, user.id, { identities: user.identities });
    await gatehouse.call('DELETE', `/api/users/${user.login}`, { token: admin });
    expect(messageOf(received)).toEqual(UNKNOWN);
  });

  it('starts a session that says with which provider it began, as the trail does', async () => {
    const { user, token, claims } = await linkedAccount('sessions');

    const { body } = await logIn({ ...claims, ...MFA });

    const path = '/api/account/sessions';
    const list = await gatehouse.call('GET', path, { token: body.access_token });
    const ofProvider = list.body.find(({ current }: { current: boolean }) => current);
    expect(ofProvider).toMatchObject({ issuer, secondFactor: true, remembered: false });
    expect((await userOf(user.login)).lastLogin).toBe(ofProvider.tokenDate);
    const others = await gatehouse.call('GET', path, { token });
    expect(others.body.find(({ current }: { current: boolean }) => current).issuer).toBe(null);
    const about = `target.equals=user/${user.id}&action.equals=session.started`;
    const audits = await gatehouse.call('GET', `/api/audits?${about}`, { token: admin });
    expect(audits.body).toMatchObject([
      {
        changes: [{ field: 'issuer', to: issuer }],
        session: ofProvider.series,
        source: ofProvider.ipAddress,
      },
    ]);
  });

  it.each([undefined, [], ['pwd'], 'mfa', ['MFA'], { mfa: true }])(
    'with a second factor of its own needs one at the provider: amr %j is none',
    async (amr) => {
      const { user, claims } = await linkedAccount(`factor-${JSON.stringify(amr)}`);
      await setup.secondFactor(user);

      const without = await logIn({ ...claims, amr });
      const having = await logIn({ ...claims, ...MFA });

      expect(messageOf(without)).toEqual(WITHOUT_FACTOR);
      expect(having.status).toBe(200);
    },
  );
});

describe('users link their own account', () => {
  it('with their password, which the trail and a mail record', async () => {
    const { user, token } = await setup.account({ authorities: ['ROLE_USER'] });

    const { status } = await linkOwn(token, 'mine');

    const { body } = await logIn({ sub: 'mine', groups: ['users'] });
    expect(status).toBe(200);
    expect(await account(body.access_token)).toMatchObject({ login: user.login });
    expect(await entriesAbout(user)).toContain(`${user.login} identity.linked`);
    expect(await subjectsTo(user)).toEqual(['The log-in with your company account has changed']);
    expect((await account(token)).login).toBe(user.login);
  });

  it('with a code if they have a second factor, once', async () => {
    const { user, token } = await setup.account({ authorities: ['ROLE_USER'] });
    const { secrets } = await setup.secondFactor(user);
    const code = codeOf(secrets.totp, stepAt(Date.now()));

    const without = await linkOwn(token, 'coded');
    const wrong = await linkOwn(token, 'coded', { code: '000000' });
    const right = await linkOwn(token, 'coded', { code });
    const again = await linkOwn(token, 'coded-2', { code });

    const WRONG = [400, 'error.wrongcode'];
    expect([without, wrong, right, again].map(messageOf)).toEqual([WRONG, WRONG, [200, ''], WRONG]);
  });

  it('not with a code that is used before the change is committed', async () => {
    const { user, token } = await setup.account({ authorities: ['ROLE_USER'] });
    const { secrets } = await setup.secondFactor(user);
    const code = codeOf(secrets.totp, stepAt(Date.now()));
    const { secondFactor } = (await findUser(table, user.id)) as Required<User>;

    const received = await meanwhile.during(
      () => linkOwn(token, 'spent', { code }),
      () =>
        setUser(table, user.id, {
          secondFactor: { ...secondFactor, lastStep: stepAt(Date.now()) + 1 },
        }),
    );

    expect(messageOf(received)).toEqual([400, 'error.wrongcode']);
  });

  it('not with a wrong password, a wrong token or one that was used', async () => {
    const { user, token } = await setup.account({ authorities: ['ROLE_USER'] });
    const { user: former, claims } = await linkedAccount('used');
    const form = logInForm(provider, claims);
    const { assertion, code_verifier: codeVerifier } = form;
    await gatehouse.call('POST', '/api/oauth2/token', { body: form });
    await post(`/api/users/${former.login}/identities/delete`, { issuer });
    const foreign = logInForm(provider, { sub: 'x', iss: `${issuer}/` }).assertion;

    const received = [
      await linkOwn(token, 'x', { currentPassword: 'wrong' }),
      await linkOwn(token, 'x', { codeVerifier: 'x'.repeat(43) }),
      await linkOwn(token, 'x', { assertion: 'x.y.z' }),
      await linkOwn(token, 'x', { assertion, codeVerifier }),
      await linkOwn(token, 'x', { assertion: foreign, currentPassword: 'wrong' }),
    ];

    const wrongPassword = [400, 'error.http.400'];
    expect(received.map(messageOf)).toEqual([wrongPassword, ...Array(4).fill(REFUSED)]);
    expect((await gatehouse.lineOf(received[4] as (typeof received)[0])).reason).toBe('issuer');
    expect(await userOf(user.login)).not.toHaveProperty('identities');
  });

  it('under the same limits as a log-in', async () => {
    const { token } = await setup.account({ authorities: ['ROLE_USER'] });
    const wrong = { currentPassword: 'wrong' };
    for (let attempt = 0; attempt < 10; attempt++) await linkOwn(token, 'guessed', wrong);
    await lastFailedAgo(gatehouse, -60);

    const { status, headers } = await linkOwn(token, 'guessed');

    expect([status, Number(headers['retry-after']) > 0]).toEqual([429, true]);
  });

  it('neither with an identity of somebody else nor with a second one of a provider', async () => {
    await linkedAccount('theirs');
    const { token } = await setup.account({ authorities: ['ROLE_USER'] });

    const taken = await linkOwn(token, 'theirs');
    const first = await linkOwn(token, 'first');
    const second = await linkOwn(token, 'second');

    expect([taken, first, second].map(messageOf)).toEqual([TAKEN, [200, ''], TAKEN]);
  });
});

describe('an administrator', () => {
  const link = (login: string, subject: string) =>
    post(`/api/users/${login}/identities`, { issuer, subject });
  const unlink = (login: string) => post(`/api/users/${login}/identities/delete`, { issuer });

  it('links a user with an identity, and unlinks them, which ends all access', async () => {
    const { user, token } = await setup.account({ authorities: ['ROLE_USER'] });
    const { login } = user;
    const linked = await link(login, 'linked');
    const { body } = await logIn({ sub: 'linked', groups: ['users'] });
    const { token: apiToken } = await setup.apiToken(user);
    const tokens = [token, body.access_token, apiToken];
    const statuses = () =>
      Promise.all(
        tokens.map(
          async (each) => (await gatehouse.call('GET', '/api/users', { token: each })).status,
        ),
      );
    const before = await statuses();

    const unlinked = await unlink(login);

    expect([linked.status, unlinked.status, before]).toEqual([200, 200, [200, 200, 200]]);
    expect(await statuses()).toEqual([401, 401, 401]);
    expect(messageOf(await logIn({ sub: 'linked', groups: ['users'] }))).toEqual(UNKNOWN);
    expect(await userOf(login)).not.toHaveProperty('identities');
    expect((await unlink(login)).status).toBe(404);
    const about = `target.equals=user/${user.id}&action.in=identity.linked,identity.unlinked`;
    const { body: entries } = await gatehouse.call('GET', `/api/audits?${about}`, { token: admin });
    const changes = (key: 'from' | 'to') => [
      { field: 'issuer', [key]: issuer },
      { field: 'subject', [key]: 'linked' },
    ];
    expect(entries).toMatchObject([
      { actor: 'admin', changes: changes('from') },
      { actor: 'admin', changes: changes('to') },
    ]);
    expect(await subjectsTo(user)).toHaveLength(2);
  });

  it('ends sessions again that are ended while the user is unlinked', async () => {
    const { user } = await linkedAccount('ended');

    await meanwhile.during(
      () => unlink(user.login),
      () => setUser(table, user.id, { sessionEndings: 7 }),
    );

    expect((await findUser(table, user.id))?.sessionEndings).toBe(8);
  });

  it('frees an identity by deleting its user', async () => {
    const { user } = await linkedAccount('freed');
    const { user: next } = await setup.account({ authorities: ['ROLE_USER'] });

    await gatehouse.call('DELETE', `/api/users/${user.login}`, { token: admin });

    expect((await link(next.login, 'freed')).status).toBe(200);
  });

  it('cannot link what is taken, an unknown user or an unknown provider', async () => {
    const { user } = await linkedAccount('one');
    const { user: free } = await setup.account({ authorities: ['ROLE_USER'] });
    const unknown = { issuer: `${issuer}/`, subject: 'x' };

    expect(messageOf(await link(free.login, 'one'))).toEqual(TAKEN);
    expect(messageOf(await link(user.login, 'two'))).toEqual(TAKEN);
    expect((await link('nobody', 'two')).status).toBe(404);
    // With a stolen token, somebody else could link themselves.
    expect((await link('admin', 'three')).status).toBe(403);
    expect((await post(`/api/users/${free.login}/identities`, unknown)).status).toBe(400);
    expect((await unlink('nobody')).status).toBe(404);
  });
});

describe('the preview of a log-in', () => {
  const CLAIMS = { sub: 'p', preferred_username: 'preview', groups: ['users', 'x'] };

  it('shows what the claims would do, and does nothing', async () => {
    // Once the mails of the tests before are sent.
    await gatehouse.mailsTo('p@example.com');
    const before = await itemsBesidesCounts(gatehouse.cloud);
    const address = { email: 'p@example.com', email_verified: true };

    expect(await preview({ ...CLAIMS, ...address, ...MFA })).toEqual({
      roles: ['ROLE_USER'],
      account: null,
      created: true,
      login: 'preview',
      email: 'p@example.com',
      secondFactor: true,
    });
    expect(await itemsBesidesCounts(gatehouse.cloud)).toEqual(before);
  });

  it('shows no address that somebody else has, and no account without a subject', async () => {
    const { email } = await userOf('user');

    const taken = await preview({ ...CLAIMS, email, email_verified: true });
    expect(taken).toMatchObject({ created: true, email: null });
    expect(await preview({ ...CLAIMS, sub: undefined })).toMatchObject({ created: false });
  });

  it('shows the account that is linked', async () => {
    const { user } = await linkedAccount('known');

    expect(await preview({ ...CLAIMS, sub: 'known' })).toMatchObject({
      account: user.login,
      created: false,
    });
  });

  it('shows the roles of groups alone, whatever the claim is called', async () => {
    const groups = ['analysts', 'staff'];

    const { body } = await post('/api/issuers/preview', { issuer, groups });

    expect(body).toMatchObject({ roles: ['ROLE_ANALYST'], account: null, created: false });
  });

  it('is refused for an unknown provider, and for groups that the token lacks', async () => {
    const unknown = { issuer: 'https://login.example.com', claims: CLAIMS };
    const elsewhere = { issuer, claims: { ...CLAIMS, groups: undefined, hasgroups: true } };

    const bodies = [unknown, elsewhere];
    const received = await Promise.all(bodies.map((body) => post('/api/issuers/preview', body)));

    expect(received.map(messageOf)).toEqual([[400, 'error.validation'], REFUSED]);
    expect(received[0]?.body.fieldErrors).toEqual([
      {
        objectName: 'user',
        field: 'issuer',
        message: 'Pattern',
        reason: 'an issuer in the setting issuers',
      },
    ]);
  });
});
