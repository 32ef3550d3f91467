import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { logIn, type Tab, useConsole } from '../../support/browser/chromium.ts';
import { LONG } from '../../support/instance/run-variables.ts';

/*
 * Every screen in both themes, all languages and two widths, in all combinations with LONG: axe
 * without findings, no horizontal scrolling, one heading that is the title, targets of 24 pixels,
 * and no violation of the policy.
 */

const { gatehouse, send, openTab } = await useConsole();

for (const langKey of ['en', 'de', 'es'])
  await gatehouse.makeUser(`reader-${langKey}`, {
    langKey,
    authorities: ['ROLE_ADMIN'],
    firstName: 'Averylongfirstname'.repeat(2),
  });
const firewall = { name: 'Firewall', shortName: 'fw', integrationType: 'COLLECTOR' };
const integration = await send('POST', '/api/utm-integrations', firewall);
const host = { integration, confName: 'host', confValue: 'x'.repeat(300) };
await send('POST', '/api/utm-integration-confs', host);
for (let credentials = 0; credentials < 2; credentials += 1)
  await send('POST', `/api/utm-integrations/${integration.id}/credentials`, {});

const FEW = [
  { width: 1280, dark: false, language: 'en' },
  { width: 1280, dark: true, language: 'de' },
  { width: 320, dark: true, language: 'es' },
  { width: 320, dark: false, language: 'de' },
];
const ALL = [1280, 320].flatMap((width) =>
  [false, true].flatMap((dark) =>
    ['en', 'de', 'es'].map((language) => ({ width, dark, language })),
  ),
);
const VARIANTS = LONG ? ALL : FEW;

const GATE = [
  '',
  '/forgotten-password',
  '/set-password#key=x',
  '/set-password',
  '/confirm-email#key=x',
  '/sign-in?code=x',
];
const INSIDE = [
  '',
  '/users',
  '/users?text.contains=reader&activated.equals=true&sort=login,desc&size=1',
  '/users?id.equals=x',
  '/users?text.contains=nobody',
  '/users/new',
  '/users/user',
  '/log-in-preview',
  '/integrations',
  '/integrations/new',
  '/integrations/INTEGRATION',
  '/modules',
  '/audit',
  '/account',
  '/account/password',
  '/account/sessions',
  '/account/tokens',
  '/account/second-factor',
  '/about',
  '/nothing',
];

type Role = Parameters<Tab['page']['getByRole']>[0];

/** What a screen reader must find by role and name, and no other test looks up so. */
const FOUND: Readonly<Record<string, readonly string[]>> = {
  gate: ['checkbox Keep me logged in', 'button Log in', 'link Forgot your password?'],
  'gate-refused': ['heading That did not work', 'link Login: Fill in this field.'],
  inside: ['heading What needs attention', 'heading Administrators'],
  'inside/users': [
    'form Filter',
    'list Role',
    'table Users',
    'columnheader Login',
    'rowheader admin',
  ],
  filters: ['combobox Second factor', 'textbox Last log-in before'],
  'many-users': ['region Selected'],
  palette: ['combobox A user, an integration or a page'],
  'inside/users/new': ['group Roles'],
  'inside/users/user': ['combobox Language', 'button Copy: Id', 'link Audit trail of user'],
  'inside/log-in-preview': ['combobox Identity provider', 'textbox Claims'],
  'inside/integrations': ['table Integrations'],
  'inside/integrations/INTEGRATION': ['table Credentials'],
  'inside/modules': ['table Modules'],
  'inside/audit': ['list Ranges', 'link Today'],
  entry: ['button Close'],
  'inside/account/sessions': ['navigation Own account', 'table Sessions'],
  'inside/account/tokens': ['group Scopes', 'combobox Expires'],
  token: ['table API tokens'],
  delete: ['dialog Delete user'],
  link: ['dialog Link user with an identity provider'],
  parameter: ['textbox Value', 'checkbox Secret'],
  qr: ['img QR code of the secret', 'button Copy: Secret', 'textbox Code of the second factor'],
};

describe.each(VARIANTS)('with $width pixels, dark: $dark, in $language', (variant) => {
  const nameOf = (path: string) =>
    `${path.replace(/\W+/g, '-')}-${variant.width}-${variant.dark ? 'dark' : 'light'}`;
  let tab: Tab;
  beforeAll(async () => {
    tab = await openTab(variant);
  });
  afterAll(() => tab?.context.close());

  const check = async (path: string) => {
    await tab.expectSound(nameOf(path));
    // Before it speaks: screen readers announce no region that appears with its text.
    expect(await tab.page.locator('main [role=status]').count(), path).toBeGreaterThan(0);
    // What takes the focus is said because of that, and would be said once more.
    expect(await tab.page.locator('[role=status] :focus').count(), path).toBe(0);
    if (variant !== VARIANTS[0]) return;
    for (const found of FOUND[path] ?? []) {
      const [role, name = ''] = found.split(/ (.*)/) as [Role, string];
      const count = await tab.page.getByRole(role, { name, exact: true }).count();
      expect(count, `${path}: ${found}`).toBeGreaterThan(0);
    }
  };
  const show = async (path: string) => {
    await tab.page.goto('about:blank');
    await tab.page.goto(`/console${path.replace('INTEGRATION', integration.id)}`);
    await tab.page.locator('h1').waitFor();
    await tab.settle();
    expect(await tab.page.locator('html').getAttribute('lang')).toBe(variant.language);
  };

  it.each(GATE)('/console%s is sound before the log-in', async (path) => {
    await show(path);
    await check(`gate${path}`);
  });

  it('the refused log-in is sound', async () => {
    await show('');
    await tab.press('Enter');
    await tab.page.locator('form [type=submit]').click();
    await tab.page.locator('[role=alert]').waitFor();
    await check('gate-refused');
  });

  it('every screen behind the log-in is sound', async () => {
    await logIn(tab, `reader-${variant.language}`);
    for (const path of INSIDE) {
      await show(path);
      await check(`inside${path}`);
    }
  });

  it('dialogs, opened forms and the secret of a second factor are sound', async () => {
    await show('/users/user');
    await tab.page.locator('section button.danger').last().click();
    await tab.page.locator('dialog[open]').waitFor();
    await check('delete');
    await tab.press('Escape');
    await tab.press('?');
    await check('shortcuts');
    await tab.press('Escape');
    await tab.press('Control+k');
    await check('palette');
    await tab.press('Escape');
    await show('/users/user');
    await tab.page.locator('.rows ~ p button').click();
    await check('link');
    await show('/log-in-preview');
    await tab.field('claims').fill('admins');
    await tab.page.locator('form [type=submit]').click();
    await tab.page.locator('main dl').waitFor();
    await check('preview');
    await show('/users');
    await tab.page.locator('search .menu summary').click();
    await check('filters');
    await tab.page.locator('search .menu summary').click();
    await tab.page.locator('tbody input').first().check();
    await check('many-users');
    await show('/audit');
    await tab.page.locator('tbody .link').last().click();
    await check('entry');
    await show('/integrations/INTEGRATION');
    for (const index of [0, 2]) await tab.page.locator('.parameters button').nth(index).click();
    await tab.field('confValue').waitFor();
    await check('parameter');
    await show('/account/second-factor');
    await tab.field('currentPassword').fill(`reader-${variant.language}`);
    await tab.press('Enter');
    await tab.page.locator('.qr').waitFor();
    await check('qr');
    await show('/account/tokens');
    await tab.field('name').fill('x'.repeat(50));
    for (const box of await tab.field('scopes').all()) await box.check();
    await tab.page.locator('form [type=submit]').click();
    await tab.page.locator('main [role=group] code').waitFor();
    await tab.settle();
    await check('token');
  });
});

it('a role is offered only what it may do', async () => {
  await gatehouse.makeUser('analyst', { authorities: ['ROLE_ANALYST'] });
  const { page, settle } = await openTab({ login: 'analyst' });

  expect(await page.locator('nav').first().innerText()).not.toContain('Audit');
  for (const path of [
    '/users',
    '/users/user',
    '/integrations',
    `/integrations/${integration.id}`,
  ]) {
    await page.goto(`/console${path}`);
    await page.locator('h1').waitFor();
    await settle();
    expect(await page.locator('main :is(.primary, .danger, h2):not(search *)').count(), path).toBe(
      0,
    );
  }
  for (const path of ['/users/new', '/integrations/new', '/modules', '/audit']) {
    await page.goto(`/console${path}`);
    await page.locator('h1').waitFor();
    expect(await page.title(), path).toBe('Page not found – Gatehouse – dev');
  }
});
