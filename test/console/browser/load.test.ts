import { expect, it } from 'vitest';
import { logIn, useConsole } from '../../support/browser/chromium.ts';
import { startGatehouse } from '../../support/instance/gatehouse.ts';
import { fillUsers } from '../../support/instance/items.ts';

/* What a visit costs the network. */

/** More than the service counts, sorts or filters at once. */
const USERS = Number(process.env.CONSOLE_USERS ?? 10_500);

const { openTab } = await useConsole();

it('the log-in page requests the page, scripts, styles and the identity providers', async () => {
  const { page, settle } = await openTab();
  const requests: string[] = [];
  page.on('request', (request) => requests.push(`${request.resourceType()} ${request.url()}`));
  await page.goto('/console');
  await page.locator('[name=username]').waitFor();
  await settle();

  const types = requests.map((request) => request.split(' ')[0]).sort();
  expect(new Set(requests).size).toBe(requests.length);
  expect(types).toEqual(['document', 'fetch', 'script', 'script', 'script', 'stylesheet']);
  expect(requests.filter((request) => /\/api\//.test(request))).toEqual([
    expect.stringMatching(/\/api\/issuers$/),
  ]);
});

it('a visit with a session requests each file and each entity once', async () => {
  const tab = await openTab();
  await logIn(tab, 'admin');
  await tab.settle();
  const requests: string[] = [];
  tab.page.on('request', (request) => requests.push(new URL(request.url()).pathname));
  await tab.page.goto('/console/users');
  await tab.page.getByText('2 users', { exact: true }).waitFor();
  await tab.settle();

  expect(new Set(requests).size).toBe(requests.length);
  expect(requests.filter((path) => !path.startsWith('/console'))).toEqual([
    '/api/issuers',
    '/api/account',
    '/api/users',
  ]);
});

it('finds a user among more than the service sorts, counts or filters at once', async () => {
  const large = await startGatehouse({ breaksData: true });
  await large.makeUser('first-of-all');
  await fillUsers(large, USERS);
  const tab = await openTab({ url: large.cloud.url });
  const { page } = tab;
  await logIn(tab, 'admin');
  await page.goto('/console/users');
  await page.locator('tbody tr').nth(19).waitFor();
  // From here on: the page after the log-in may have requested a list that nobody waited for.
  const requests: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  await page.getByRole('link', { name: 'Next page' }).click();
  await page.getByRole('link', { name: 'First page' }).waitFor();
  const pages = () => requests.filter((url) => url.includes('/api/users'));
  await expect.poll(pages).toHaveLength(1);
  const search = async (login: string) => {
    await page.getByRole('textbox', { name: 'Find by login' }).fill(login);
    await page.keyboard.press('Enter');
  };
  // The last of all is in none of the steps that one request makes.
  await search(`user-${USERS}`);
  await page.getByRole('link', { name: 'Login exactly' }).click();
  await page.waitForURL(/[?&]login\.equals=user-/);
  await page.getByRole('link', { name: /Remove the filter Login/ }).click();
  await search('first-of-all');
  await page.getByRole('link', { name: 'first-of-all', exact: true }).click();
  await page.getByRole('heading', { name: 'User first-of-all' }).waitFor();
  await large.stop();
});
