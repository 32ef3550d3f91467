import { describe, expect, it } from 'vitest';
import { useConsole } from '../../support/browser/chromium.ts';

/* What leads to the right rows, and what is done to several of them at once. */

const { gatehouse, send, openTab } = await useConsole();
const CREW = ['crew-1', 'crew-2', 'crew-3', 'crew-4', 'crew-5', 'crew-6'];
for (const login of CREW) await gatehouse.makeUser(login, { authorities: ['ROLE_ANALYST'] });
const { page, settle, press, dialog, button, link, confirm } = await openTab({ login: 'admin' });

it('a page beyond the end says so, and leads back', async () => {
  await page.goto('/console/users?page=9');
  await page.getByText('The list has no such page any more.').getByRole('link').click();
  await link(/^crew-1$/).waitFor();
});

it('a day of a filter is the day that is shown, in the zone of the browser', async () => {
  const timezoneId = 'America/Los_Angeles';
  const { page, button, link } = await openTab({ login: 'admin', timezoneId });
  await page.goto('/console/audit');
  await page.getByRole('columnheader', { name: 'Time (America/Los_Angeles)' }).waitFor();
  await page.locator('search summary').click();
  for (const label of ['From', 'Until']) await page.getByLabel(label).fill('2026-03-10');
  await button('Apply the filter').click();
  await link('Remove the filter From: 2026-03-10').waitFor();
  await link('Remove the filter Until: 2026-03-10').waitFor();

  const { searchParams } = new URL(page.url());
  expect(Object.fromEntries(searchParams)).toEqual({
    'time.greaterThanOrEqual': '2026-03-10T07:00:00.000Z',
    'time.lessThan': '2026-03-11T07:00:00.000Z',
  });
});

it('the trail announces what is newer than the list, and not than a download', async () => {
  const { page, settle, button } = await openTab({ login: 'admin' });
  await page.clock.install();
  await page.goto('/console/audit?page=0&sort=time,desc');
  await page.route('**/api/audits?*size=100*', async (route) => {
    const [entry] = await (await route.fetch()).json();
    await route.fulfill({ json: [{ ...entry, id: 'on-a-later-page' }] });
  });
  const downloaded = page.waitForEvent('download');
  await button('CSV').click();
  await downloaded;
  const look = async () => {
    // The list sets its timer after it is painted.
    await settle();
    const looked = page.waitForResponse(/\/api\/audits\?.*size=1(&|$)/);
    await page.clock.fastForward(30_000);
    const { searchParams } = new URL((await looked).url());
    await settle();
    return searchParams;
  };
  const announced = page.getByText('There are new entries.');
  await look();
  expect(await announced.count()).toBe(0);

  await gatehouse.call('POST', '/api/authenticate', { body: { username: 'user', password: '?' } });
  await look();
  expect(await announced.count()).toBe(1);

  await page.goto('/console/audit?action.equals=emergency.used');
  await page.getByText('No entry matches.').waitFor();
  const since = Date.parse((await look()).get('time.greaterThan') as string);
  expect(Date.now() - since).toBeLessThan(600_000);
  expect(await announced.count()).toBe(0);
});

it('single symbols open the field or the shortcuts until they are switched off', async () => {
  await page.goto('/console/about');
  await button('Go to').waitFor();
  await press('/');
  await page.getByRole('dialog', { name: 'Go to' }).waitFor();
  await press('Escape');
  await press('?');
  await button('Single symbols act: / and ?').click();
  await press('Escape');
  await press('/');
  await settle();

  expect(await dialog.count()).toBe(0);
  await page.evaluate(() => localStorage.clear());
});

it('each count of the overview leads to the list whose length it is', async () => {
  const deactivated = { activated: false, authorities: ['ROLE_USER'] };
  for (const login of ['former-1', 'former-2']) await gatehouse.makeUser(login, deactivated);
  await gatehouse.call('POST', '/api/authenticate', { body: { username: 'admin', password: '?' } });
  await page.goto('/console');
  await confirm('Count now');
  await link('2 deactivated users still have a role').waitFor();
  const links = await link(/^\d/).evaluateAll((all) =>
    all.map((each) => [each.textContent, each.getAttribute('href')]),
  );

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
  const inDialog = (name: string) => dialog.getByRole('button', { name });
  const seeInDialog = (text: string) => dialog.getByText(text).waitFor();
  const select = async (logins: readonly string[]) => {
    await page.goto('/console/users');
    for (const login of logins) await page.getByLabel(`Select ${login}`).check();
  };

  it('include the last administrator, who is refused alone', async () => {
    await select(['admin', ...CREW]);
    await button('Deactivate').click();
    await seeInDialog('7 users. 1 is an administrator. One of them is you.');
    await inDialog('Begin').click();
    await seeInDialog('6 of 7 done.');
    await seeInDialog('admin: At least one activated administrator must remain');
    await inDialog('Repeat the other 1').click();
    await inDialog('Repeat the other 1').waitFor();
    await inDialog('Close').click();
    await page
      .getByText('deactivated', { exact: true })
      .nth(CREW.length - 1)
      .waitFor();

    for (const login of ['admin', ...CREW])
      expect((await send('GET', `/api/users/${login}`)).activated).toBe(login === 'admin');
    expect(await page.getByRole('region', { name: 'Selected' }).count()).toBe(0);
  });

  it('are left after a stop, and done when the others are repeated', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    await page.route('**/end-sessions', async (route) => {
      await held;
      await route.continue();
    });
    await select(CREW);
    await button('End the sessions and API tokens').click();
    await inDialog('Begin').click();
    await expect.poll(() => dialog.getByText('Loading').count()).toBe(4);
    await inDialog('Stop').click();
    release();
    await seeInDialog('4 of 6 done.');

    expect(await dialog.getByText('not begun: stopped').count()).toBe(2);
    await inDialog('Repeat the other 2').click();
    await seeInDialog('6 of 6 done.');
    await page.unroute('**/end-sessions');
  });
});
