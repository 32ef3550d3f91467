import { beforeAll, expect, it } from 'vitest';
import { expectSound, logIn, type Tab, useConsole } from '../../support/browser/chromium.ts';

/* What was typed into a form stays until it is saved or discarded. */

const { gatehouse, openTab } = await useConsole();
const TYPED = 'Typed and not saved';
let tab: Tab;
let token: string;
let integration: string;

beforeAll(async () => {
  token = await gatehouse.adminToken();
  for (const login of ['carol', 'olga', 'oscar'])
    await gatehouse.makeUser(login, { authorities: ['ROLE_ADMIN'] });
  const { body } = await gatehouse.call('POST', '/api/utm-integrations', {
    token,
    body: { name: 'Tap', shortName: 'tap', integrationType: 'API' },
  });
  integration = `integrations/${body.id}`;
  for (const confName of ['host', 'key'])
    await gatehouse.call('POST', '/api/utm-integration-confs', {
      token,
      body: { integration: body, confName, confValue: 'stored', secret: confName === 'key' },
    });
  tab = await openTab();
  await logIn(tab, 'olga');
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

const fieldOf = (name: string) => tab.page.locator(`main [name=${name}]`);
const formOf = (name: string) =>
  tab.page.locator('main form', { has: tab.page.locator(`[name=${name}]`) });
const save = (name: string) => formOf(name).locator('[type=submit]').click();
const button = (name: string) => tab.page.getByRole('button', { name, exact: true });

/** Opens a page inside the console, so that Back stays inside it. */
async function open(path: string, opener?: string): Promise<void> {
  await tab.page.goto('/console/about');
  await tab.page.locator('nav').first().waitFor();
  await tab.page.evaluate(
    (href) => {
      const link = document.querySelector<HTMLAnchorElement>('nav a');
      if (link) link.href = href;
      link?.click();
    },
    `/console/${path.replace('INTEGRATION', integration)}`,
  );
  if (opener) await button(opener).click();
}

/** The last status is the response to every other attempt. */
async function saveWith(name: string, ...statuses: number[]): Promise<void> {
  const left = statuses.values();
  await tab.page.route('**/api/**', (route) => {
    const isSave = /PUT|POST/.test(route.request().method());
    if (!isSave || route.request().url().endsWith('/authenticate')) return route.continue();
    return route.fulfill({ status: left.next().value ?? statuses.at(-1) ?? 0, json: {} });
  });
  await save(name);
  if (statuses.includes(401)) {
    await tab.page.getByRole('dialog').locator('[name=password]').fill('olga');
    await tab.page.keyboard.press('Enter');
  }
  await formOf(name).locator('[role=alert]').waitFor();
  await tab.page.unroute('**/api/**');
}

it.each<[string, (name: string) => Promise<unknown>]>([
  ['a refused save', (name) => saveWith(name, 400)],
  ['a session that ends meanwhile', (name) => saveWith(name, 401, 400)],
  ['a change of somebody else', (name) => saveWith(name, 412)],
  [
    'a lost network',
    async (name) => {
      await tab.context.setOffline(true);
      await save(name);
      await formOf(name).locator('[role=alert]').waitFor();
      await tab.context.setOffline(false);
    },
  ],
  [
    'Back',
    async () => {
      await tab.page.goBack();
      await button('Stay').click();
    },
  ],
  [
    'a reload',
    async () => {
      await tab.page.reload();
      await tab.page.getByText('before the page was reloaded').waitFor();
    },
  ],
])('%s loses nothing that was typed into any form, until it is discarded', async (_, happen) => {
  for (const [path, name, opener] of FORMS) {
    await open(path, opener);
    await fieldOf(name).fill(TYPED);
    await happen(name);

    expect(await fieldOf(name).inputValue(), path).toBe(TYPED);
    expect(await formOf(name).locator('.badge', { hasText: 'not saved' }).count(), path).toBe(1);
    await formOf(name).getByRole('button', { name: 'Discard' }).click();
    await expect.poll(() => formOf(name).locator('.badge, .notice').count()).toBe(0);
    expect(await tab.page.locator('main').innerHTML(), path).not.toContain(TYPED);
    expect(await tab.page.evaluate(() => sessionStorage.length), path).toBe(1);
  }
  expect(tab.faults).toEqual([]);
});

it('asks for the choice of each field before it saves a draft of an older state', async () => {
  await open('users/carol');
  await fieldOf('firstName').fill('Mine');
  await fieldOf('lastName').fill('Mine');
  await formOf('login').getByLabel('Analyst').check();
  const { body } = await gatehouse.call('GET', '/api/users/carol', { token });
  const theirs = { ...body, firstName: 'Theirs' };
  await gatehouse.call('PUT', '/api/users', { token, body: theirs });
  await tab.page.reload();
  expect(await fieldOf('firstName').inputValue()).toBe('Mine');
  await expectSound(tab, 'restored');
  await save('login');
  await button('Save the chosen values').click();
  await tab.page.getByText('Saved.').waitFor();

  const { body: saved } = await gatehouse.call('GET', '/api/users/carol', { token });
  expect(saved).toMatchObject({
    firstName: 'Mine',
    lastName: 'Mine',
    authorities: expect.arrayContaining(['ROLE_ADMIN', 'ROLE_ANALYST']),
  });
});

it('keeps what is typed during a save as a change of the state that was saved', async () => {
  await open('users/carol');
  await fieldOf('firstName').fill('Saved');
  const held = Promise.withResolvers<void>();
  await tab.page.route('**/api/users', async (route) => {
    await held.promise;
    await route.continue();
  });
  const sent = tab.page.waitForRequest((request) => request.method() === 'PUT');
  await save('login');
  await sent;
  await fieldOf('lastName').fill('Typed later');
  held.resolve();
  await tab.page.getByText('Saved.').waitFor();
  await tab.page.unroute('**/api/users');
  await tab.page.reload();
  expect(await fieldOf('lastName').inputValue()).toBe('Typed later');
  await save('login');
  await tab.page.getByText('Saved.').waitFor();

  const { body } = await gatehouse.call('GET', '/api/users/carol', { token });
  expect(body).toMatchObject({ firstName: 'Saved', lastName: 'Typed later' });
});

it.each(['Edit key', 'Edit host', 'New parameter'])(
  'keeps no secret in a draft (%s)',
  async (opener) => {
    await open('INTEGRATION', opener);
    await fieldOf('confDescription').fill(TYPED);
    await fieldOf('confValue').fill('a secret');
    await fieldOf('secret').check();
    const kept = await tab.page.evaluate(() => sessionStorage['gatehouse.drafts']);
    await tab.page.reload();
    await tab.page.getByText('A secret is not kept across a reload: enter it again.').waitFor();

    expect(kept).toContain(TYPED);
    expect(kept).not.toContain('a secret');
    expect(kept).not.toContain('stored');
    expect(await fieldOf('confDescription').inputValue()).toBe(TYPED);
    expect(await fieldOf('confValue').inputValue()).toBe('');
    await button('Discard').click();
  },
);

it('shows a draft to no other user, after a log-out or in the same page', async () => {
  await open('users/carol');
  await fieldOf('firstName').fill(TYPED);
  await tab.page.route('**/api/users', (route) => route.fulfill({ status: 401, json: {} }));
  await save('login');
  const dialog = tab.page.getByRole('dialog');
  await dialog.locator('[name=username]').fill('oscar');
  await dialog.locator('[name=password]').fill('oscar');
  await tab.page.keyboard.press('Enter');
  await tab.page.getByRole('link', { name: 'Logged in as oscar' }).waitFor();
  await fieldOf('firstName').waitFor();
  expect(await fieldOf('firstName').inputValue()).not.toBe(TYPED);
  await tab.page.unroute('**/api/users');

  await fieldOf('firstName').fill(TYPED);
  await button('Log out').click();
  await button('Leave').click();
  await tab.page.getByText('You are logged out.').waitFor();
  expect(await tab.page.evaluate(() => sessionStorage.length)).toBe(0);
});
