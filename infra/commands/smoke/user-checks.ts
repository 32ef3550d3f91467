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
  return checks.check(
    name,
    async () => {
      const { headers, body } = await checks.deployment.succeed('POST /api/authenticate', {
        body: { username, password },
      });
      if (headers.get('authorization') !== `Bearer ${body.id_token}`)
        throw new Unexpected('the header Authorization does not contain the token');
      return body.id_token as string;
    },
    'POST /api/authenticate',
  );
}

/**
 * Creates the marked user, uses its account, changes it as its administrator, and deletes it.
 * Returns its id.
 */
export async function checkUsers(
  checks: Checks,
  token: string,
  invitation: Invitation | undefined,
): Promise<number> {
  const password = newPassword();
  const email = invitation?.address ?? ADDRESSES.first;
  const user = { ...markedUser, email, ...(!invitation && { password }) };
  const { body: created } = await checks.succeeds('POST /api/users', { token, body: user });
  await checks.succeeds('GET /api/users', { token, query: '?sort=id,desc&size=1' });
  await checks.succeeds('GET /api/users/authorities', { token });
  const path = { login: LOGINS.first };
  const { headers } = await checks.succeeds('GET /api/users/{login}', { token, path });

  if (invitation) await checkInvitation(checks, invitation, password);
  else await checkResetKey(checks, password);
  await checkAccount(checks, password);

  const change = { ...created, login: LOGINS.renamed, firstName: 'Renamed' };
  await checks.rejects('PUT /api/users', 'an outdated If-Match with 412', 412, {
    token,
    body: change,
    headers: { 'If-Match': headers.get('etag') ?? '' },
  });
  await checks.succeeds('PUT /api/users', { token, body: change });
  await checks.succeeds('DELETE /api/users/{login}', { token, path: { login: LOGINS.renamed } });
  const formerLogin = { username: LOGINS.renamed, password };
  await checks.rejects('POST /api/authenticate', 'the deleted user with 401', 401, {
    body: formerLogin,
  });
  return created.id;
}

async function checkInvitation(
  checks: Checks,
  { address, askForLink }: Invitation,
  password: string,
): Promise<void> {
  const link = await askForLink();
  const key = /[\w-]+$/.exec(link.trim())?.[0] ?? '';
  await checks.check(`the mail to ${address} has arrived`, async () => {
    if (key === '') throw new Unexpected('no link was given');
  });
  await checks.succeeds('POST /api/account/reset-password/finish', {
    body: { key, newPassword: password },
  });
}

async function checkResetKey(checks: Checks, password: string): Promise<void> {
  const body = { key: 'gatehouse-smoke-unknown', newPassword: password };
  await checks.rejects('POST /api/account/reset-password/finish', 'an unknown key with 400', 400, {
    body,
  });
}

/**
 * The routes of the caller's own account, as the marked user. Its address and password are
 * different afterwards.
 */
async function checkAccount(checks: Checks, password: string): Promise<void> {
  const token = await checkLogin(checks, 'a login of the created user', LOGINS.first, password);
  await checks.rejects('GET /api/users/authorities', 'a caller without the role with 403', 403, {
    token,
  });
  await checks.succeeds('POST /api/account', {
    token,
    body: { email: ADDRESSES.changed, firstName: 'Smoke' },
  });
  await checks.succeeds('POST /api/account/reset-password/init', {
    body: { email: ADDRESSES.changed },
  });
  const next = newPassword();
  const change = { currentPassword: password, newPassword: next };
  await checks.succeeds('POST /api/account/change-password', { token, body: change });
  const formerLogin = { username: LOGINS.first, password };
  await checks.rejects('POST /api/authenticate', 'the former password with 401', 401, {
    body: formerLogin,
  });
  await checkLogin(checks, 'a login with the changed password', LOGINS.first, next);
}
