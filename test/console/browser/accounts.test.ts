import { expect, it } from 'vitest';
import { type Tab, useConsole } from '../../support/browser/chromium.ts';

/* What nobody has edited stays as it is stored, and nothing is lost that is shown once. */

const { gatehouse, send, openTab } = await useConsole();
const GAPPED = 'Anna ';
const tab = await openTab({ login: 'admin' });

const entries = async () => (await send('GET', '/api/audits?size=1'))[0].id as string;

it('saving a form without a change sends nothing and leaves no entry in the trail', async () => {
  await gatehouse.makeUser('anna', { firstName: GAPPED, email: 'anna@bücher.example' });
  const account = { firstName: GAPPED, email: 'admin@localhost', langKey: 'en' };
  await send('POST', '/api/account', account);
  const tap = { name: 'Tap', shortName: 'tap', integrationType: 'API', description: 'one\ntwo' };
  const integration = await send('POST', '/api/utm-integrations', tap);
  const host = { confName: 'host', confValue: 'a\nb ', secret: true };
  await send('POST', '/api/utm-integration-confs', { integration, ...host });
  const before = await entries();
  const sent: string[] = [];
  const { page, button, see } = tab;
  page.on('request', (request) => request.method() !== 'GET' && sent.push(request.url()));
  const save = async (form = 'main form') => {
    await page.locator(`${form} [type=submit]`).click();
    await see('Nothing was changed.');
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
  await button('Edit host').click();
  await save('.parameters');

  expect(sent).toEqual([]);
  expect(await entries()).toBe(before);
});

it('only edited fields are sent, and what the service always requires', async () => {
  const { page, field, press, see } = tab;
  await page.goto('/console/users/anna');
  await field('lastName').fill('Schmidt');
  const sent = page.waitForRequest((request) => request.method() === 'PUT');
  await press('Enter');
  await see('Saved.');

  expect(Object.keys((await sent).postDataJSON()).sort()).toEqual([
    'email',
    'id',
    'lastName',
    'login',
  ]);

  expect(await send('GET', '/api/users/anna')).toMatchObject({
    firstName: GAPPED,
    email: 'anna@bücher.example',
    lastName: 'Schmidt',
  });
});

it('an integration whose name ends with a blank or a line break can be deleted', async () => {
  const { page, button, dialog, press, seeHeading } = tab;
  for (const name of ['Blank ', 'Break\n', 'a  b']) {
    const tap = { name, shortName: 'x', integrationType: 'API' };
    const { id } = await send('POST', '/api/utm-integrations', tap);
    await page.goto(`/console/integrations/${id}`);
    await button(/^Delete (Blank|Break|a)/).click();
    await dialog.getByRole('textbox').fill(name.trim());
    await press('Enter');
    await seeHeading('Integrations');
  }
});

it('after the own login is renamed, the session goes on with the new one', async () => {
  await gatehouse.makeUser('olga', { authorities: ['ROLE_ADMIN'] });
  const { page, field, press, dialog, link, seeHeading } = await openTab({ login: 'olga' });
  await page.goto('/console/users/olga');
  await field('login').fill('olga2');
  await press('Enter');
  await seeHeading('User olga2');
  await link('Logged in as olga2').waitFor();
  await send('POST', '/api/users/olga2/end-sessions');
  // Not by the pointer: another request may have opened the dialog already.
  await link(/^Users$/)
    .first()
    .dispatchEvent('click');
  await dialog.getByText('Enter the password of olga2').waitFor();
  expect(await dialog.getByLabel('Login').inputValue()).toBe('olga2');
  await dialog.getByLabel('Password', { exact: true }).fill('olga');
  await press('Enter');
  await link(/^olga2$/).waitFor();
});

it('an API token is shown once, works until it is deleted, and is not left unasked', async () => {
  await gatehouse.makeUser('tara', { authorities: ['ROLE_ANALYST'] });
  const own = await openTab({ login: 'tara' });
  const { page, field, press, button, link } = own;
  const create = async (name: string) => {
    await page.goto('/console/account/tokens');
    await page.getByLabel('Name').fill(name);
    for (const use of ['read', 'write']) await page.getByLabel(`Users: ${use}`).check();
    await press('Enter');
    return page.getByRole('group', { name: 'Copy the API token now' }).locator('code').innerText();
  };
  const remove = async ({ confirm, see }: Tab, action: string) => {
    await confirm(action);
    await see('There are no API tokens.');
  };
  const readsUsers = async (bearer: string) =>
    (await gatehouse.call('GET', '/api/users', { token: bearer })).status;

  const first = await create('export');
  await link('About').click();
  await button('Stay').click();
  await button('I have copied it').click();

  expect(await page.getByRole('row', { name: 'export' }).innerText()).toMatch(
    /Users: write.*never/s,
  );
  expect(await page.content()).not.toContain(first);
  expect(await readsUsers(first)).toBe(200);
  await remove(own, 'Delete export');
  expect(await readsUsers(first)).toBe(401);

  const second = await create('report');
  await button('I have copied it').click();
  await link('Change the password').click();
  await field('currentPassword').fill('tara');
  await field('newPassword').fill('correct horse');
  await press('Enter');
  await page.locator('p.notice').getByRole('link', { name: 'API tokens' }).click();
  await page.getByRole('row', { name: 'report' }).waitFor();

  expect(await readsUsers(second)).toBe(200);
  await tab.page.goto('/console/users?tokensExpire.lessThan=2100-01-01T00:00:00.000Z');
  await tab.link('tara').click();
  await remove(tab, 'Delete report');
  expect(await readsUsers(second)).toBe(401);
});

it('says on the page of a user that attempts to log in were rejected', async () => {
  await gatehouse.makeUser('locked');
  const attempt = async (password: string) => {
    const body = { username: 'locked', password };
    return (await gatehouse.call('POST', '/api/authenticate', { body })).status;
  };
  const statuses: number[] = [];
  while (statuses.length < 20 && statuses.at(-1) !== 429) statuses.push(await attempt('wrong'));
  expect(statuses.at(-1)).toBe(429);
  const { page, see, settle } = tab;
  await page.goto('/console/users/locked');
  await see('log-in attempts rejected');

  await expect.poll(() => attempt('locked')).toBe(200);
  await page.reload();
  await page.getByRole('heading', { name: 'Last changes' }).waitFor();
  await settle();

  expect(await page.getByText('log-in attempts rejected').count()).toBe(0);
});
