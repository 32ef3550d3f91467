import { expect, it } from 'vitest';
import { useConsole } from '../../support/browser/chromium.ts';

/* What was typed into a form stays until it is saved or discarded. */

const { gatehouse, send, openTab } = await useConsole();
const TYPED = 'Typed and not saved';
for (const login of ['carol', 'olga', 'oscar'])
  await gatehouse.makeUser(login, { authorities: ['ROLE_ADMIN'] });
const tap = { name: 'Tap', shortName: 'tap', integrationType: 'API' };
const integration = await send('POST', '/api/utm-integrations', tap);
for (const confName of ['host', 'key']) {
  const parameter = { confName, confValue: 'stored', secret: confName === 'key' };
  await send('POST', '/api/utm-integration-confs', { integration, ...parameter });
}
const { page, context, press, dialog, button, link, see, expectSound } = await openTab({
  login: 'olga',
});

/** The page of a form, a field of it, and the button that opens it. */
const FORMS = [
  ['users/carol', 'firstName'],
  ['users/new', 'firstName'],
  ['account', 'lastName'],
  ['integrations/new', 'description'],
  ['INTEGRATION', 'description'],
  ['INTEGRATION', 'confDescription', 'Edit host'],
  ['INTEGRATION', 'confDescription', 'New parameter'],
] as const;

const field = (name: string) => page.locator(`main [name=${name}]`);
const formOf = (name: string) => page.locator('main form', { has: page.locator(`[name=${name}]`) });
const save = (name: string) => formOf(name).locator('[type=submit]').click();

/** Opens a page inside the console, so that Back stays inside it. */
async function open(path: string, opener?: string): Promise<void> {
  await page.goto('/console/about');
  await page.locator('nav').first().waitFor();
  await page.evaluate(
    (href) => {
      const link = document.querySelector<HTMLAnchorElement>('nav a');
      if (link) link.href = href;
      link?.click();
    },
    `/console/${path.replace('INTEGRATION', `integrations/${integration.id}`)}`,
  );
  if (opener) await button(opener).click();
}

/** The last status is the response to every other attempt. */
async function saveWith(name: string, ...statuses: number[]): Promise<void> {
  const left = statuses.values();
  await page.route('**/api/**', (route) => {
    const isSave = /PUT|POST/.test(route.request().method());
    if (!isSave || route.request().url().endsWith('/authenticate')) return route.continue();
    return route.fulfill({ status: left.next().value ?? statuses.at(-1) ?? 0, json: {} });
  });
  await save(name);
  if (statuses.includes(401)) {
    await dialog.locator('[name=password]').fill('olga');
    await press('Enter');
  }
  await formOf(name).locator('[role=alert]').waitFor();
  await page.unroute('**/api/**');
}

it.each<[string, (name: string) => Promise<unknown>]>([
  ['a refused save', (name) => saveWith(name, 400)],
  ['a session that ends meanwhile', (name) => saveWith(name, 401, 400)],
  ['a change of somebody else', (name) => saveWith(name, 412)],
  [
    'a lost network',
    async (name) => {
      await context.setOffline(true);
      await save(name);
      await formOf(name).locator('[role=alert]', { hasText: 'cannot be reached' }).waitFor();
      await context.setOffline(false);
    },
  ],
  [
    'Back',
    async () => {
      await page.goBack();
      await button('Stay').click();
    },
  ],
  [
    'a reload',
    async () => {
      await page.reload();
      await see('before the page was reloaded');
    },
  ],
])('%s loses nothing that was typed into any form, until it is discarded', async (_, happen) => {
  for (const [path, name, opener] of FORMS) {
    await open(path, opener);
    await field(name).fill(TYPED);
    await happen(name);

    expect(await field(name).inputValue(), path).toBe(TYPED);
    expect(await formOf(name).locator('.badge', { hasText: 'not saved' }).count(), path).toBe(1);
    await formOf(name).getByRole('button', { name: 'Discard' }).click();
    await expect.poll(() => formOf(name).locator('.badge, .notice').count()).toBe(0);
    expect(await page.locator('main').innerHTML(), path).not.toContain(TYPED);
    expect(await page.evaluate(() => sessionStorage.length), path).toBe(1);
  }
});

it('asks for the choice of each field before it saves a draft of an older state', async () => {
  await open('users/carol');
  await field('firstName').fill('Mine');
  await field('lastName').fill('Mine');
  await formOf('login').getByLabel('Analyst').check();
  const stored = await send('GET', '/api/users/carol');
  await send('PUT', '/api/users', { ...stored, firstName: 'Theirs' });
  await page.reload();
  expect(await field('firstName').inputValue()).toBe('Mine');
  await expectSound('restored');
  await save('login');
  await button('Save the chosen values').click();
  await see('Saved.');

  expect(await send('GET', '/api/users/carol')).toMatchObject({
    firstName: 'Mine',
    lastName: 'Mine',
    authorities: expect.arrayContaining(['ROLE_ADMIN', 'ROLE_ANALYST']),
  });
});

it('keeps what is typed during a save as a change of the state that was saved', async () => {
  await open('users/carol');
  await field('firstName').fill('Saved');
  const held = Promise.withResolvers<void>();
  await page.route('**/api/users', async (route) => {
    await held.promise;
    await route.continue();
  });
  const sent = page.waitForRequest((request) => request.method() === 'PUT');
  await save('login');
  await sent;
  await field('lastName').fill('Typed later');
  held.resolve();
  await see('Saved.');
  await page.unroute('**/api/users');
  await page.reload();
  expect(await field('lastName').inputValue()).toBe('Typed later');
  await save('login');
  await see('Saved.');

  expect(await send('GET', '/api/users/carol')).toMatchObject({
    firstName: 'Saved',
    lastName: 'Typed later',
  });
});

it.each(['Edit key', 'Edit host', 'New parameter'])(
  'keeps no secret in a draft (%s)',
  async (opener) => {
    await open('INTEGRATION', opener);
    await field('confDescription').fill(TYPED);
    await field('confValue').fill('a secret');
    await field('secret').check();
    const kept = await page.evaluate(() => sessionStorage['gatehouse.drafts']);
    await page.reload();
    await see('A secret is not kept across a reload: enter it again.');

    expect(kept).toContain(TYPED);
    expect(kept).not.toContain('a secret');
    expect(kept).not.toContain('stored');
    expect(await field('confDescription').inputValue()).toBe(TYPED);
    expect(await field('confValue').inputValue()).toBe('');
    await button('Discard').click();
  },
);

it('shows a draft to no other user, after a log-out or in the same page', async () => {
  await open('users/carol');
  await field('firstName').fill(TYPED);
  await page.route('**/api/users', (route) => route.fulfill({ status: 401, json: {} }));
  await save('login');
  await dialog.locator('[name=username]').fill('oscar');
  await dialog.locator('[name=password]').fill('oscar');
  await press('Enter');
  await link('Logged in as oscar').waitFor();
  await field('firstName').waitFor();
  expect(await field('firstName').inputValue()).not.toBe(TYPED);
  await page.unroute('**/api/users');

  await field('firstName').fill(TYPED);
  await button('Log out').click();
  await button('Leave').click();
  await see('You are logged out.');
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
});
