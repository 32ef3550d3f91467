import { expect, it } from 'vitest';
import { useConsole } from '../../support/browser/chromium.ts';
import { startGatehouse } from '../../support/instance/gatehouse.ts';
import { fillUsers } from '../../support/instance/items.ts';

/* What a visit costs the network. */

/** More than the service counts, sorts or filters at once. */
const USERS = Number(process.env.CONSOLE_USERS ?? 10_500);

const { openTab } = await useConsole();

it('the log-in page requests the page, scripts, styles and the identity providers', async () => {
  const { page, settle, field } = await openTab();
  const requests: string[] = [];
  page.on('request', (request) => requests.push(`${request.resourceType()} ${request.url()}`));
  await page.goto('/console');
  await field('username').waitFor();
  await settle();

  const types = requests.map((request) => request.split(' ')[0]).sort();
  expect(new Set(requests).size).toBe(requests.length);
  expect(types).toEqual(['document', 'fetch', 'script', 'script', 'script', 'stylesheet']);
  expect(requests.filter((request) => /\/api\//.test(request))).toEqual([
    expect.stringMatching(/\/api\/issuers$/),
  ]);
});

it('a visit with a session requests each file and each entity once', async () => {
  const { page, settle, see } = await openTab({ login: 'admin' });
  await settle();
  const requests: string[] = [];
  page.on('request', (request) => requests.push(new URL(request.url()).pathname));
  await page.goto('/console/users');
  await see(/^2 users$/);
  await settle();

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
  const { page, press, link, seeHeading } = await openTab({
    login: 'admin',
    url: large.cloud.url,
  });
  await page.goto('/console/users');
  await page.locator('tbody tr').nth(19).waitFor();
  // From here on: the page after the log-in may have requested a list that nobody waited for.
  const requests: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  await link('Next page').click();
  await link('First page').waitFor();
  const pages = () => requests.filter((url) => url.includes('/api/users'));
  await expect.poll(pages).toHaveLength(1);
  const search = async (login: string) => {
    await page.getByRole('textbox', { name: 'Find by login' }).fill(login);
    await press('Enter');
  };
  // The last of all is in none of the steps that one request makes.
  await search(`user-${USERS}`);
  await link('Login exactly').click();
  await page.waitForURL(/[?&]login\.equals=user-/);
  await link(/Remove the filter Login/).click();
  await search('first-of-all');
  await link(/^first-of-all$/).click();
  await seeHeading('User first-of-all');
  await large.stop();
});
