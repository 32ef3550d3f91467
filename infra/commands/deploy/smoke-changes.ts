import { randomBytes } from 'node:crypto';
import { authenticator } from './authenticator.ts';
import type { Checks } from './smoke-checks.ts';

/*
 * Calls the routes that smoke-checks.ts leaves out, on a user and an integration that the test
 * creates: each function starts, and has the permissions for the request. A mark makes both
 * recognizable, so that the next run can remove what an interrupted one has left.
 */

const MARK = 'Created by npm run admin -- smoke';

/** The login of the marked user, and the name of the marked integration. */
const NAME = 'gatehouse-smoke';
const RENAMED = 'gatehouse-smoke-renamed';
const UNKNOWN_KEY = 'gatehouse-smoke-unknown';

/** The mailbox simulator of SES accepts these, even in the sandbox, and delivers nothing. */
const simulated = (name: string): string => `success+${name}@simulator.amazonses.com`;

/** Of 64 characters, which is the highest minimum of passwords. */
const random = (): string => randomBytes(48).toString('base64url');

/** Deletes marked users and integrations, and nothing without the mark. */
export async function removeMarked(checks: Checks): Promise<void> {
  for (const login of [NAME, RENAMED]) {
    const path = { login };
    const { body } = await checks.send('GET /api/users/{login}', { path });
    if (body?.lastName === MARK) await checks.step('DELETE /api/users/{login}', { path });
  }
  // Leftovers are among the newest; the maximum of a page.
  const query = '?sort=id,desc&size=2000';
  const { body } = await checks.step('GET /api/utm-integrations', { query });
  for (const { id, name, description } of body)
    if (name === NAME && description === MARK)
      await checks.step('DELETE /api/utm-integrations/{id}', { path: { id } });
}

/** An address that is invited, if there is one, and how to get the link from its mail. */
export interface Invitation {
  readonly mail: string | undefined;
  readonly askForLink: () => Promise<string>;
}

/** Creates the marked user, uses its account, changes it as its administrator, and deletes it. */
export async function checkUsers(checks: Checks, { mail, askForLink }: Invitation): Promise<void> {
  const password = random();
  const email = mail ?? simulated(NAME);
  const user = { login: NAME, lastName: MARK, email, authorities: ['ROLE_USER'] };
  const { body: created } = await checks.step('POST /api/users', {
    body: mail ? user : { ...user, password },
  });
  const { headers } = await checks.step('GET /api/users/{login}', { path: { login: NAME } });
  const finish = 'POST /api/account/reset-password/finish';
  if (mail) {
    const [key] = /[\w-]+$/.exec((await askForLink()).trim()) ?? [];
    checks.report(`the mail to ${mail} has arrived`, !key && 'no link was given');
    await checks.step(finish, { body: { key, newPassword: password } });
  } else {
    const body = { key: UNKNOWN_KEY, newPassword: password };
    await checks.step(finish, { status: 400, body });
  }
  await checkAccount(checks, password);
  const changed = { ...created, login: RENAMED, firstName: 'Changed' };
  const outdated = { 'If-Match': headers.get('etag') ?? '' };
  await checks.step('PUT /api/users', { status: 412, body: changed, headers: outdated });
  await checks.step('PUT /api/users', { body: changed });
  await checks.step('DELETE /api/users/{login}', { path: { login: RENAMED } });
}

/** Uses the account of the marked user: its second factor, address, password and sessions. */
async function checkAccount(checks: Checks, currentPassword: string): Promise<void> {
  const logIn = async (password: string, code?: string): Promise<string> => {
    const body = { username: NAME, password, code };
    return (await checks.step('POST /api/authenticate', { body })).body.id_token;
  };
  const token = await logIn(currentPassword);
  const factor = '/api/account/second-factor';
  const turnOn = async (): Promise<string[]> => {
    const requested = await checks.step(`POST ${factor}`, { token, body: { currentPassword } });
    const body = { code: authenticator(requested.body.secret).code() };
    return (await checks.step(`POST ${factor}/confirm`, { token, body })).body.recoveryCodes;
  };
  // First, because the roles of the user may require it.
  const [code] = await turnOn();
  await checks.step(`POST ${factor}/disable`, { token, body: { currentPassword, code } });
  const [other] = await turnOn();
  const renewed = await checks.step(`POST ${factor}/recovery-codes`, {
    token,
    body: { currentPassword, code: other },
  });
  const codes: string[] = renewed.body.recoveryCodes;

  const email = simulated(`${NAME}-changed`);
  await checks.step('POST /api/account', { token, body: { email, firstName: 'Smoke' } });
  await checks.step('POST /api/account/reset-password/init', { body: { email } });
  await checks.step('POST /api/account/confirm-email', { status: 400, body: { key: UNKNOWN_KEY } });
  const newPassword = random();
  const passwords = { currentPassword, newPassword };
  await checks.step('POST /api/account/change-password', { token, body: passwords });

  await logIn(newPassword, codes.pop());
  const { body: own } = await checks.step('GET /api/account/sessions', { token });
  const [{ series }] = own;
  await checks.step('POST /api/account/sessions/{series}/end', { token, path: { series } });
  await checks.step('POST /api/account/end-other-sessions', { token });
  const path = { login: NAME };
  const { body: sessions } = await checks.step('GET /api/users/{login}/sessions', { path });
  const session = { ...path, series: sessions[0].series };
  await checks.step('POST /api/users/{login}/sessions/{series}/end', { path: session });
  await checks.step('POST /api/users/{login}/end-sessions', { path });
  await checks.step('POST /api/users/{login}/second-factor/remove', { path });
}

/** Creates the marked integration with two parameters, changes them, and deletes them. */
export async function checkIntegrations(checks: Checks): Promise<void> {
  const integration = { name: NAME, shortName: 'smoke', integrationType: 'API', active: false };
  const { body: created } = await checks.step('POST /api/utm-integrations', {
    body: { ...integration, description: MARK },
  });
  const path = { id: created.id as number };
  await checks.step('GET /api/utm-integrations/{id}', { path });
  await checks.step('PUT /api/utm-integrations', { body: { ...created, shortName: 'changed' } });
  await checkParameters(checks, path);
  const restarted = 'POST /api/utm-integrations/{id}/module/restarted';
  await checks.step(restarted, { path, body: { changes: 1 } });
  await checkModule(checks, path);
  // Also deletes the remaining parameter.
  await checks.step('DELETE /api/utm-integrations/{id}', { path });
}

async function checkParameters(checks: Checks, integration: { id: number }): Promise<void> {
  const create = 'POST /api/utm-integration-confs';
  const confs = 'GET /api/utm-integration-confs';
  const body = { integration, confName: 'kept', confValue: 'first' };
  const { id } = (await checks.step(create, { body })).body;
  const other = (await checks.step(create, { body: { ...body, confName: 'deleted' } })).body;
  const confValue = random();
  await checks.step('PUT /api/utm-integration-confs', { body: { ...body, id, confValue } });
  const { body: read } = await checks.step(`${confs}/{id}`, { path: { id } });
  const isOther = read.confValue !== confValue;
  checks.report('a value is decrypted as it was sent', isOther && 'it differs');
  const query = `?integrationId.equals=${integration.id}`;
  await checks.step(confs, { query });
  await checks.step(`${confs}/count`, { query });
  await checks.step('DELETE /api/utm-integration-confs/{id}', { path: { id: other.id } });
}

/** Lets a module of the marked integration authenticate itself, poll and report. */
async function checkModule(checks: Checks, path: { id: number }): Promise<void> {
  const credentials = '/api/utm-integrations/{id}/credentials';
  const { body: credential } = await checks.step(`POST ${credentials}`, { path, body: {} });
  const { clientId, clientSecret: client_secret } = credential;
  const { body: exchanged } = await checks.step('POST /api/oauth2/token', {
    body: { grant_type: 'client_credentials', client_id: clientId, client_secret },
  });
  const token: string = exchanged.access_token;
  const poll = 'GET /api/utm-integrations/{id}/module';
  const etag = (await checks.step(poll, { token, path })).headers.get('etag') ?? '';
  await checks.step(poll, { status: 304, token, path, headers: { 'If-None-Match': etag } });
  const report = 'POST /api/utm-integrations/{id}/module/report';
  await checks.step(report, { token, path, body: { running: Number(etag.slice(1, -1)) } });
  await checks.step(`GET ${credentials}`, { path });
  await checks.step(`POST ${credentials}/{clientId}/delete`, { path: { ...path, clientId } });
}
