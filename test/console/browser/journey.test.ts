import { expect, it } from 'vitest';
import { authenticator } from '../../../infra/commands/deploy/authenticator.ts';
import { logIn, type Tab, useConsole } from '../../support/browser/chromium.ts';
import { handingOn, startReverseProxy } from '../../support/instance/reverse-proxy.ts';

/* The first administrator invites a colleague, who sets a password and a second factor. */

const { gatehouse, openTab } = await useConsole();

const ADDRESS = 'anna@example.com';

async function invite({ link, field, page, button, see }: Tab): Promise<string> {
  await link(/^Users$/).click();
  await link('New user').click();
  await field('login').fill('anna');
  await field('email').fill(ADDRESS);
  await page.getByLabel('Administrator').check();
  await button('Create the user').click();
  await see('anna is created.');
  const [mail] = await gatehouse.mailsTo(ADDRESS);
  return mail?.text.match(/http\S+/)?.[0] ?? '';
}

async function setPassword({ page, field, press, see }: Tab, link: string): Promise<void> {
  const sent: string[] = [];
  page.on('request', (request) => sent.push(`${request.method()} ${request.url()}`));
  await page.goto(link);
  await field('newPassword').fill('correct horse');
  await expect.poll(() => page.url()).not.toContain('key');
  await press('Enter');
  await see('Your password is set.');
  const key = link.split('key=')[1] ?? '';
  expect(key.length).toBeGreaterThan(10);
  expect(sent.filter((request) => request.includes(key))).toEqual([]);
}

type Authenticator = ReturnType<typeof authenticator>;

/** On the screen of the second factor. */
async function turnOnFactor({ page, field, press }: Tab, password: string): Promise<Authenticator> {
  await field('currentPassword').fill(password);
  await press('Enter');
  const text = await page.locator('main code').innerText();
  const device = authenticator(text);
  await field('code').fill(device.code());
  await press('Enter');
  await page.getByRole('heading', { name: 'Recovery codes' }).waitFor();
  expect(await page.locator('.codes li').count()).toBe(10);
  return device;
}

it('leads from the invitation to a log-in with a code, and to the log-out', async () => {
  const admin = await openTab({ login: 'admin' });
  const anna = await openTab({ width: 320 });
  const { page, field, press, button, link, see, seeHeading, expectSound } = anna;
  await setPassword(anna, await invite(admin));
  await logIn(anna, 'anna', 'correct horse');
  await link('Own account').click();
  await link('Second factor').click();
  const device = await turnOnFactor(anna, 'correct horse');
  await expectSound('recovery-codes');
  await link('About').click();
  await button('Stay').click();
  await see('Recovery codes of anna, Gatehouse dev');
  expect(await page.locator('.codes li').count()).toBe(10);
  await button('I have kept them').click();
  await see('10 recovery codes are left.');
  await button('Log out').click();
  await see('You are logged out.');
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0);

  await field('username').fill('anna');
  await field('password').fill('correct horse');
  await press('Enter');
  await field('code').waitFor();
  expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('code');
  expect(await field('password').inputValue()).toBe('correct horse');
  await expectSound('code');
  await field('code').fill(device.code());
  await press('Enter');
  await seeHeading('Overview');
});

it('shows the recovery codes of a required factor, wherever it was turned on', async () => {
  await gatehouse.makeUser('erin', { authorities: ['ROLE_ADMIN'] });
  const erin = await openTab({ login: 'erin' });
  const { page, button, link, see, seeHeading } = erin;
  // As in an environment that requires a factor since a day that has passed.
  await page.route('**/api/account', async (route) => {
    const response = await route.fetch();
    const account = await response.json();
    const secondFactorRequiredFrom = account.secondFactor ? null : '2026-01-15';
    await route.fulfill({ response, json: { ...account, secondFactorRequiredFrom } });
  });
  await page.goto('/console/users');
  await see('One of your roles requires a second factor');

  await turnOnFactor(erin, 'erin');
  await button('I have kept them').click();

  await see('10 recovery codes are left.');
  await link(/^Users$/).click();
  await seeHeading('Users');
});

it('is used behind a web server that replaces Host', async () => {
  const paths = ['/api', '/management', '/console'];
  const proxy = await startReverseProxy(gatehouse, handingOn(paths, gatehouse.cloud.url));
  const { button, see } = await openTab({ login: 'user', url: proxy.url });

  await button('Log out').click();
  await see('You are logged out.');

  await proxy.stop();
});
