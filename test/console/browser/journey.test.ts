import { expect, it } from 'vitest';
import { authenticator } from '../../../infra/commands/deploy/authenticator.ts';
import { expectSound, logIn, type Tab, useConsole } from '../../support/browser/chromium.ts';
import { handingOn, startReverseProxy } from '../../support/instance/reverse-proxy.ts';

/* The first administrator invites a colleague, who sets a password and a second factor. */

const { gatehouse, openTab } = await useConsole();

const ADDRESS = 'anna@example.com';

async function invite(tab: Tab): Promise<string> {
  await logIn(tab, 'admin');
  await tab.page.getByRole('link', { name: 'Users', exact: true }).click();
  await tab.page.getByRole('link', { name: 'New user' }).click();
  await tab.page.locator('[name=login]').fill('anna');
  await tab.page.locator('[name=email]').fill(ADDRESS);
  await tab.page.getByLabel('Administrator').check();
  await tab.page.getByRole('button', { name: 'Create the user' }).click();
  await tab.page.getByText('anna is created.').waitFor();
  const [mail] = await gatehouse.mailsTo(ADDRESS);
  return mail?.text.match(/http\S+/)?.[0] ?? '';
}

async function setPassword({ page }: Tab, link: string): Promise<void> {
  const sent: string[] = [];
  page.on('request', (request) => sent.push(`${request.method()} ${request.url()}`));
  await page.goto(link);
  await page.locator('[name=newPassword]').fill('correct horse');
  expect(page.url()).not.toContain('key');
  await page.keyboard.press('Enter');
  await page.getByText('Your password is set.').waitFor();
  const key = link.split('key=')[1] ?? '';
  expect(key.length).toBeGreaterThan(10);
  expect(sent.filter((request) => request.includes(key))).toEqual([]);
}

type Authenticator = ReturnType<typeof authenticator>;

/** On the screen of the second factor. */
async function turnOnFactor({ page }: Tab, password: string): Promise<Authenticator> {
  await page.locator('[name=currentPassword]').fill(password);
  await page.keyboard.press('Enter');
  const text = await page.locator('main code').innerText();
  const device = authenticator(text);
  await page.locator('[name=code]').fill(device.code());
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Recovery codes' }).waitFor();
  expect(await page.locator('.codes li').count()).toBe(10);
  return device;
}

it('leads from the invitation to a log-in with a code, and to the log-out', async () => {
  const admin = await openTab();
  const anna = await openTab({ width: 320 });
  const { page } = anna;
  await setPassword(anna, await invite(admin));
  await logIn(anna, 'anna', 'correct horse');
  await page.getByRole('link', { name: 'Own account' }).click();
  await page.getByRole('link', { name: 'Second factor' }).click();
  const device = await turnOnFactor(anna, 'correct horse');
  await expectSound(anna, 'recovery-codes');
  await page.getByRole('button', { name: 'I have kept them' }).click();
  await page.getByText('10 recovery codes are left.').waitFor();
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByText('You are logged out.').waitFor();
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0);

  await page.locator('[name=username]').fill('anna');
  await page.locator('[name=password]').fill('correct horse');
  await page.keyboard.press('Enter');
  await page.locator('[name=code]').waitFor();
  expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('code');
  expect(await page.locator('[name=password]').inputValue()).toBe('correct horse');
  await expectSound(anna, 'code');
  await page.locator('[name=code]').fill(device.code());
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();

  await admin.page.getByRole('button', { name: 'Log out' }).click();
  await admin.page.getByText('You are logged out.').waitFor();
  expect([...admin.faults, ...anna.faults]).toEqual([]);
});

it('shows the recovery codes of a required factor, wherever it was turned on', async () => {
  await gatehouse.makeUser('erin', { authorities: ['ROLE_ADMIN'] });
  const erin = await openTab();
  const { page } = erin;
  await logIn(erin, 'erin');
  // As in an environment that requires a factor since a day that has passed.
  await page.route('**/api/account', async (route) => {
    const response = await route.fetch();
    const account = await response.json();
    const secondFactorRequiredFrom = account.secondFactor ? null : '2026-01-15';
    await route.fulfill({ response, json: { ...account, secondFactorRequiredFrom } });
  });
  await page.goto('/console/users');
  await page.getByText('One of your roles requires a second factor').waitFor();

  await turnOnFactor(erin, 'erin');
  await page.getByRole('button', { name: 'I have kept them' }).click();

  await page.getByText('10 recovery codes are left.').waitFor();
  await page.getByRole('link', { name: 'Users', exact: true }).click();
  await page.getByRole('heading', { name: 'Users' }).waitFor();
});

it('is used behind a web server that replaces Host', async () => {
  const paths = ['/api', '/management', '/console'];
  const proxy = await startReverseProxy(gatehouse, handingOn(paths, gatehouse.cloud.url));
  const tab = await openTab({ url: proxy.url });

  await logIn(tab, 'user');
  await tab.page.getByRole('button', { name: 'Log out' }).click();
  await tab.page.getByText('You are logged out.').waitFor();

  expect(tab.faults).toEqual([]);
  await proxy.stop();
});
