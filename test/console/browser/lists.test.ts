import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { logIn, type Tab, useConsole } from '../../support/browser/chromium.ts';

/* What leads to the right rows, and what is done to several of them at once. */

const { gatehouse, openTab } = await useConsole();
const CREW = ['crew-1', 'crew-2', 'crew-3', 'crew-4', 'crew-5', 'crew-6'];
let token: string;
let tab: Tab;

beforeAll(async () => {
  token = await gatehouse.adminToken();
  for (const login of CREW) await gatehouse.makeUser(login, { authorities: ['ROLE_ANALYST'] });
  tab = await openTab();
  await logIn(tab, 'admin');
});

it('a page beyond the end says so, and leads back', async () => {
  await tab.page.goto('/console/users?page=9');
  await tab.page.getByText('The list has no such page any more.').getByRole('link').click();
  await tab.page.getByRole('link', { name: 'crew-1', exact: true }).waitFor();
});

it('a day of a filter is the day that is shown, in the zone of the browser', async () => {
  const { page } = await logInFrom('America/Los_Angeles');
  await page.goto('/console/audit');
  await page.getByRole('columnheader', { name: 'Time (America/Los_Angeles)' }).waitFor();
  await page.locator('search summary').click();
  for (const label of ['From', 'Until']) await page.getByLabel(label).fill('2026-03-10');
  await page.getByRole('button', { name: 'Apply the filter' }).click();
  await page.getByRole('link', { name: 'Remove the filter From: 2026-03-10' }).waitFor();
  await page.getByRole('link', { name: 'Remove the filter Until: 2026-03-10' }).waitFor();

  const { searchParams } = new URL(page.url());
  expect(Object.fromEntries(searchParams)).toEqual({
    'time.greaterThanOrEqual': '2026-03-10T07:00:00.000Z',
    'time.lessThan': '2026-03-11T07:00:00.000Z',
  });
});

async function logInFrom(timezoneId: string): Promise<Tab> {
  const other = await openTab({ timezoneId });
  await logIn(other, 'admin');
  return other;
}

it('Ctrl K leads to a user by a piece of the name, unless a dialog is open', async () => {
  await tab.page.keyboard.press('Control+k');
  await tab.page.keyboard.type('crew-4');
  await tab.page.getByRole('option', { name: 'crew-4' }).waitFor();
  await tab.page.keyboard.press('Enter');
  await tab.page.getByRole('heading', { name: 'User crew-4' }).waitFor();
});

it('single signs open the field or the shortcuts until they are switched off', async () => {
  const { page } = tab;
  await page.goto('/console/about');
  await page.getByRole('button', { name: 'Go to' }).waitFor();
  await page.keyboard.press('/');
  await page.getByRole('dialog', { name: 'Go to' }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('?');
  await page.getByRole('button', { name: 'Single signs act: / and ?' }).click();
  await page.keyboard.press('Escape');
  await page.keyboard.press('/');
  await tab.settle();

  expect(await page.getByRole('dialog').count()).toBe(0);
  await page.evaluate(() => localStorage.clear());
});

it('each count of the overview leads to the list whose length it is', async () => {
  const { page } = tab;
  const deactivated = { activated: false, authorities: ['ROLE_USER'] };
  for (const login of ['former-1', 'former-2']) await gatehouse.makeUser(login, deactivated);
  await gatehouse.call('POST', '/api/authenticate', { body: { username: 'admin', password: '?' } });
  await page.goto('/console');
  await page.getByRole('button', { name: 'Count now' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Count now' }).click();
  await page.getByRole('link', { name: '2 deactivated users still have a role' }).waitFor();
  const links = await page
    .getByRole('link', { name: /^\d/ })
    .evaluateAll((all) => all.map((link) => [link.textContent, link.getAttribute('href')]));

  expect(links.length).toBeGreaterThan(2);
  for (const [text, href] of links) {
    await page.goto(`${href}`);
    await page.locator('tbody tr').first().waitFor();
    expect([text, await page.locator('tbody tr').count()]).toEqual([
      text,
      Number.parseInt(`${text}`, 10),
    ]);
  }
});

describe('several users at once', () => {
  const dialog = () => tab.page.getByRole('dialog');
  const press = (name: string) => dialog().getByRole('button', { name }).click();
  const select = async (logins: readonly string[]) => {
    for (const login of logins) await tab.page.getByLabel(`Select ${login}`).check();
  };
  const stored = async (login: string) =>
    (await gatehouse.call('GET', `/api/users/${login}`, { token })).body;
  beforeEach(() => tab.page.goto('/console/users'));

  it('are deactivated, each with a result', async () => {
    const five = CREW.slice(0, 5);
    await select(five);
    await tab.page.getByRole('button', { name: 'Deactivate' }).click();
    await dialog().getByText('5 users.').waitFor();
    await press('Begin');
    await dialog().getByText('5 of 5 done.').waitFor();
    await press('Close');
    await tab.page.getByText('deactivated', { exact: true }).nth(5).waitFor();

    for (const login of CREW) expect((await stored(login)).activated).toBe(!five.includes(login));
    expect(await tab.page.getByRole('region', { name: 'Selected' }).count()).toBe(0);
  });

  it('include the last administrator, who is refused alone', async () => {
    await select(['admin', 'crew-6']);
    await tab.page.getByRole('button', { name: 'Deactivate' }).click();
    await dialog().getByText('2 users. 1 is an administrator. One of them is you.').waitFor();
    await press('Begin');
    await dialog().getByText('1 of 2 done.').waitFor();
    await dialog()
      .getByText(/admin: At least one activated administrator must remain/)
      .waitFor();
    await press('Repeat the other 1');
    await dialog().getByRole('button', { name: 'Repeat the other 1' }).waitFor();

    expect((await stored('crew-6')).activated).toBe(false);
    expect((await stored('admin')).activated).toBe(true);
  });

  it('are left after a stop, and done when the others are repeated', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    await tab.page.route('**/end-sessions', async (route) => {
      await held;
      await route.continue();
    });
    await select(CREW);
    await tab.page.getByRole('button', { name: 'End the sessions' }).click();
    await press('Begin');
    await expect.poll(() => dialog().getByText('Loading').count()).toBe(4);
    await press('Stop');
    release();
    await dialog().getByText('4 of 6 done.').waitFor();

    expect(await dialog().getByText('not begun: stopped').count()).toBe(2);
    await press('Repeat the other 2');
    await dialog().getByText('6 of 6 done.').waitFor();
    await tab.page.unroute('**/end-sessions');
    expect(tab.faults).toEqual([]);
  });
});
