import { beforeAll, expect, it } from 'vitest';
import { authenticator } from '../../../infra/commands/deploy/authenticator.ts';
import { logIn, type Tab, useConsole } from '../../support/browser/chromium.ts';

/* What nobody has edited stays as it is stored, and nothing is lost that is shown once. */

const { gatehouse, openTab } = await useConsole();
const GAPPED = 'Anna ';
let token: string;
let tab: Tab;

beforeAll(async () => {
  token = await gatehouse.adminToken();
  tab = await openTab();
  await logIn(tab, 'admin');
});

const entries = async () =>
  (await gatehouse.call('GET', '/api/audits?size=1', { token })).body[0].id as string;

it('saving a form without a change sends nothing and leaves no entry in the trail', async () => {
  await gatehouse.makeUser('anna', { firstName: GAPPED, email: 'anna@bücher.example' });
  await gatehouse.call('POST', '/api/account', {
    token,
    body: { firstName: GAPPED, email: 'admin@localhost', langKey: 'en' },
  });
  const { body: integration } = await gatehouse.call('POST', '/api/utm-integrations', {
    token,
    body: { name: 'Tap', shortName: 'tap', integrationType: 'API', description: 'one\ntwo' },
  });
  await gatehouse.call('POST', '/api/utm-integration-confs', {
    token,
    body: {
      integration: { id: integration.id },
      confName: 'host',
      confValue: 'a\nb ',
      secret: true,
    },
  });
  const before = await entries();
  const sent: string[] = [];
  const { page } = tab;
  page.on('request', (request) => request.method() !== 'GET' && sent.push(request.url()));
  const save = async (form = 'main form') => {
    await page.locator(`${form} [type=submit]`).click();
    await page.getByText('Nothing was changed.').waitFor();
  };

  // As a former version has stored it.
  await page.route('**/api/users/anna', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), firstName: 'A\nB' } });
  });
  await page.goto('/console/users/anna');
  await save();
  await page.unroute('**/api/users/anna');
  await page.goto('/console/account');
  await save();
  await page.goto(`/console/integrations/${integration.id}`);
  await save();
  await page.reload();
  await page.getByRole('button', { name: 'Edit host' }).click();
  await save('.parameters');

  expect(sent).toEqual([]);
  expect(await entries()).toBe(before);
});

it('only edited fields are sent, and what the service always requires', async () => {
  await tab.page.goto('/console/users/anna');
  await tab.page.locator('[name=lastName]').fill('Schmidt');
  const sent = tab.page.waitForRequest((request) => request.method() === 'PUT');
  await tab.page.keyboard.press('Enter');
  await tab.page.getByText('Saved.').waitFor();

  expect(Object.keys((await sent).postDataJSON()).sort()).toEqual([
    'email',
    'id',
    'lastName',
    'login',
  ]);

  const { body } = await gatehouse.call('GET', '/api/users/anna', { token });
  expect(body).toMatchObject({
    firstName: GAPPED,
    email: 'anna@bücher.example',
    lastName: 'Schmidt',
  });
});

it('an integration whose name ends with a blank or a line break can be deleted', async () => {
  for (const name of ['Blank ', 'Break\n', 'a  b']) {
    const { body } = await gatehouse.call('POST', '/api/utm-integrations', {
      token,
      body: { name, shortName: 'x', integrationType: 'API' },
    });
    await tab.page.goto(`/console/integrations/${body.id}`);
    await tab.page.getByRole('button', { name: /^Delete (Blank|Break|a)/ }).click();
    await tab.page.getByRole('dialog').getByRole('textbox').fill(name.trim());
    await tab.page.keyboard.press('Enter');
    await tab.page.getByRole('heading', { name: 'Integrations' }).waitFor();
  }
});

it('an invitation names the login for password managers, and can show the password', async () => {
  const { page } = await openTab();
  await page.goto('/console/set-password#key=x&login=anna+1');
  await page.getByText('This is the password of anna+1.').waitFor();
  await page.getByLabel('New password', { exact: true }).fill('correct horse');
  await page.getByRole('button', { name: 'Show New password' }).click();

  expect(await page.locator('[autocomplete=username]').inputValue()).toBe('anna+1');
  expect(await page.locator('[name=newPassword]').getAttribute('type')).toBe('text');
});

it('after the own login is renamed, the session goes on with the new one', async () => {
  await gatehouse.makeUser('olga', { authorities: ['ROLE_ADMIN'] });
  const own = await openTab();
  const { page } = own;
  await logIn(own, 'olga');
  await page.goto('/console/users/olga');
  await page.locator('[name=login]').fill('olga2');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'User olga2' }).waitFor();
  await page.getByRole('link', { name: 'Logged in as olga2' }).waitFor();
  await gatehouse.call('POST', '/api/users/olga2/end-sessions', { token });
  // Not by the pointer: another request may have opened the dialog already.
  await page.getByRole('link', { name: 'Users', exact: true }).first().dispatchEvent('click');
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Enter the password of olga2').waitFor();
  expect(await dialog.getByLabel('Login').inputValue()).toBe('olga2');
  await dialog.getByLabel('Password', { exact: true }).fill('olga');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'olga2', exact: true }).waitFor();
});

it('recovery codes and the secret of a credential are not left without a question', async () => {
  await gatehouse.makeUser('erin', { authorities: ['ROLE_ADMIN'] });
  const erin = await openTab();
  const { page } = erin;
  const stays = async () => {
    await page.getByRole('link', { name: 'About' }).click();
    await page.getByRole('button', { name: 'Stay' }).click();
  };
  await logIn(erin, 'erin');
  await page.goto('/console/account/second-factor');
  await page.locator('[name=currentPassword]').fill('erin');
  await page.keyboard.press('Enter');
  const device = authenticator(await page.locator('main code').innerText());
  await page.locator('[name=code]').fill(device.code());
  await page.keyboard.press('Enter');
  await page.getByText('Recovery codes of erin, Gatehouse dev').waitFor();
  await stays();
  expect(await page.locator('.codes li').count()).toBe(10);
  await page.getByRole('button', { name: 'I have kept them' }).click();

  await page.getByRole('link', { name: 'Integrations' }).click();
  await page.getByRole('link', { name: 'Tap' }).click();
  await page.getByRole('button', { name: 'Create a credential' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Create a credential' }).click();
  await page.getByText('it is not shown again').waitFor();
  await stays();
  await page.getByRole('button', { name: 'I have entered it' }).click();
  await page.getByRole('link', { name: 'About' }).click();
  await page.getByRole('heading', { name: 'About' }).waitFor();
  expect(erin.faults).toEqual([]);
});

it('an API token is shown once, works until it is deleted, and is not left unasked', async () => {
  await gatehouse.makeUser('tara', { authorities: ['ROLE_ANALYST'] });
  const own = await openTab();
  const { page } = own;
  await logIn(own, 'tara');
  const create = async (name: string) => {
    await page.goto('/console/account/tokens');
    await page.getByLabel('Name').fill(name);
    for (const use of ['read', 'write']) await page.getByLabel(`Users: ${use}`).check();
    await page.keyboard.press('Enter');
    return page.getByRole('group', { name: 'Copy the API token now' }).locator('code').innerText();
  };
  const remove = async ({ page: shown }: Tab, action: string) => {
    await shown.getByRole('button', { name: action }).click();
    await shown.getByRole('dialog').getByRole('button', { name: action }).click();
    await shown.getByText('There are no API tokens.').waitFor();
  };
  const readsUsers = async (bearer: string) =>
    (await gatehouse.call('GET', '/api/users', { token: bearer })).status;

  const first = await create('export');
  await page.getByRole('link', { name: 'About' }).click();
  await page.getByRole('button', { name: 'Stay' }).click();
  await page.getByRole('button', { name: 'I have copied it' }).click();

  expect(await page.getByRole('row', { name: 'export' }).innerText()).toMatch(
    /Users: write.*never/s,
  );
  expect(await page.content()).not.toContain(first);
  expect(await readsUsers(first)).toBe(200);
  await remove(own, 'Delete export');
  expect(await readsUsers(first)).toBe(401);

  const second = await create('report');
  await page.getByRole('button', { name: 'I have copied it' }).click();
  await page.getByRole('link', { name: 'Change the password' }).click();
  await page.locator('[name=currentPassword]').fill('tara');
  await page.locator('[name=newPassword]').fill('correct horse');
  await page.keyboard.press('Enter');
  await page.locator('p.notice').getByRole('link', { name: 'API tokens' }).click();
  await page.getByRole('row', { name: 'report' }).waitFor();

  expect(await readsUsers(second)).toBe(200);
  await tab.page.goto('/console/users?tokensExpire.lessThan=2100-01-01T00:00:00.000Z');
  await tab.page.getByRole('link', { name: 'tara' }).click();
  await remove(tab, 'Delete report');
  expect(await readsUsers(second)).toBe(401);
  expect(own.faults).toEqual([]);
});

it('says on the page of a user that attempts to log in were rejected', async () => {
  await gatehouse.makeUser('locked');
  const attempt = async (password: string) => {
    const body = { username: 'locked', password };
    return (await gatehouse.call('POST', '/api/authenticate', { body })).status;
  };
  const statuses: number[] = [];
  while (statuses.length < 12 && statuses.at(-1) !== 429) statuses.push(await attempt('wrong'));
  expect(statuses.at(-1)).toBe(429);
  const { page } = tab;
  await page.goto('/console/users/locked');
  await page.getByText('log-in attempts rejected').waitFor();

  await expect.poll(() => attempt('locked'), { timeout: 10_000 }).toBe(200);
  await page.reload();
  await page.getByRole('heading', { name: 'Last changes' }).waitFor();
  await tab.settle();

  expect(await page.getByText('log-in attempts rejected').count()).toBe(0);
});
