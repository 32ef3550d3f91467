import { randomBytes } from 'node:crypto';
import type { Checks } from './checks.ts';
import { Unexpected } from './deployment.ts';
import { ADDRESSES, LOGINS, markedUser } from './marked.ts';

/** A real invitation: the address that receives it, and where its link comes from. */
export interface Invitation {
  readonly address: string;
  readonly askForLink: () => Promise<string>;
}

const newPassword = (): string => randomBytes(15).toString('base64url');

/** Logs in. Returns the token, which the header `Authorization` must contain too. */
export async function checkLogin(checks: Checks, name: string, username: string, password: string) {
  const logIn = async () => {
    const { headers, body } = await checks.deployment.succeed('POST /api/authenticate', {
      body: { username, password },
    });
    if (headers.get('authorization') !== `Bearer ${body.id_token}`)
      throw new Unexpected('the header Authorization does not contain the token');
    return body.id_token as string;
  };
  return checks.check(name, logIn, 'POST /api/authenticate');
}

/**
 * Creates the marked user, uses its account, changes it as its administrator, and deletes it.
 * Returns its id.
 */
export async function checkUsers(
  checks: Checks,
  invitation: Invitation | undefined,
): Promise<number> {
  const password = newPassword();
  const email = invitation?.address ?? ADDRESSES.first;
  const user = { ...markedUser, email, ...(!invitation && { password }) };
  const { body: created } = await checks.succeeds('POST /api/users', { body: user });
  await checks.succeeds('GET /api/users', { query: '?sort=id,desc&size=1' });
  await checks.succeeds('GET /api/users/authorities');
  const { headers } = await checks.succeeds('GET /api/users/{login}', {
    path: { login: LOGINS.first },
  });

  await checkResetKey(checks, invitation, password);
  await checkAccount(checks, password);

  const body = { ...created, login: LOGINS.renamed, firstName: 'Renamed' };
  await checks.rejects('PUT /api/users', 'an outdated If-Match with 412', 412, {
    body,
    headers: { 'If-Match': headers.get('etag') ?? '' },
  });
  await checks.succeeds('PUT /api/users', { body });
  await checks.succeeds('DELETE /api/users/{login}', { path: { login: LOGINS.renamed } });
  await checks.rejects('POST /api/authenticate', 'the deleted user with 401', 401, {
    body: { username: LOGINS.renamed, password },
  });
  return created.id;
}

/** Sets the password with the key of the invitation; without one, an unknown key is rejected. */
async function checkResetKey(
  checks: Checks,
  invitation: Invitation | undefined,
  newPassword: string,
): Promise<void> {
  const route = 'POST /api/account/reset-password/finish';
  if (!invitation) {
    const body = { key: 'gatehouse-smoke-unknown', newPassword };
    await checks.rejects(route, 'an unknown key with 400', 400, { body });
    return;
  }
  const link = await invitation.askForLink();
  const key = /[\w-]+$/.exec(link.trim())?.[0] ?? '';
  await checks.check(`the mail to ${invitation.address} has arrived`, async () => {
    if (key === '') throw new Unexpected('no link was given');
  });
  await checks.succeeds(route, { body: { key, newPassword } });
}

/**
 * The routes of the caller's own account, as the marked user. Its address and password are
 * different afterwards.
 */
async function checkAccount(checks: Checks, currentPassword: string): Promise<void> {
  const { first: username } = LOGINS;
  const token = await checkLogin(checks, 'a login of the created user', username, currentPassword);
  await checks.rejects('GET /api/users/authorities', 'a caller without the role with 403', 403, {
    token,
  });
  const email = ADDRESSES.changed;
  await checks.succeeds('POST /api/account', { token, body: { email, firstName: 'Smoke' } });
  await checks.succeeds('POST /api/account/reset-password/init', { body: { email } });
  const next = newPassword();
  const change = { currentPassword, newPassword: next };
  await checks.succeeds('POST /api/account/change-password', { token, body: change });
  await checks.rejects('POST /api/authenticate', 'the former password with 401', 401, {
    body: { username, password: currentPassword },
  });
  await checkLogin(checks, 'a login with the changed password', username, next);
}
