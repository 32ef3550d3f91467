import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectSound, logIn, type Tab, useConsole } from '../../support/browser/chromium.ts';
import { LONG } from '../../support/instance/run-variables.ts';

/*
 * Every screen in both themes, all languages and two widths, in all combinations with LONG: axe
 * without findings, no horizontal scrolling, one heading that is the title, targets of 24 pixels,
 * and no violation of the policy.
 */

const { gatehouse, openTab } = await useConsole();
let integrationId: number;

beforeAll(async () => {
  const token = await gatehouse.adminToken();
  for (const langKey of ['en', 'de', 'es'])
    await gatehouse.makeUser(`reader-${langKey}`, {
      langKey,
      password: `reader-${langKey}`,
      authorities: ['ROLE_ADMIN'],
      firstName: 'Averylongfirstname'.repeat(2),
    });
  const { body } = await gatehouse.call('POST', '/api/utm-integrations', {
    token,
    body: { name: 'Firewall', shortName: 'fw', integrationType: 'COLLECTOR' },
  });
  integrationId = body.id;
  await gatehouse.call('POST', '/api/utm-integration-confs', {
    token,
    body: { integration: { id: integrationId }, confName: 'host', confValue: 'x'.repeat(300) },
  });
  for (let credentials = 0; credentials < 2; credentials += 1)
    await gatehouse.call('POST', `/api/utm-integrations/${integrationId}/credentials`, {
      token,
      body: {},
    });
});

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

/** What a screen reader finds by role and name, beyond what axe demands of every element. */
const FOUND: Readonly<Record<string, readonly [Role, string][]>> = {
  gate: [
    ['textbox', 'Login'],
    ['textbox', 'Password'],
    ['checkbox', 'Keep me logged in'],
    ['button', 'Log in'],
    ['link', 'Forgot your password?'],
    ['button', 'Log in with Company account'],
  ],
  'gate/sign-in?code=x': [['link', 'Back to the log-in']],
  'gate-refused': [
    ['heading', 'That did not work'],
    ['link', 'Login: Fill in this field.'],
  ],
  'gate/set-password#key=x': [['textbox', 'New password']],
  inside: [
    ['heading', 'What needs attention'],
    ['heading', 'Administrators'],
    ['button', 'Count now'],
  ],
  'inside/users': [
    ['link', 'New user'],
    ['form', 'Filter'],
    ['textbox', 'Find by login, name or address'],
    ['list', 'Role'],
    ['table', 'Users'],
    ['columnheader', 'Login'],
    ['rowheader', 'admin'],
    ['checkbox', 'Select admin'],
  ],
  filters: [
    ['combobox', 'Second factor'],
    ['textbox', 'Last log-in before'],
    ['button', 'Apply the filter'],
  ],
  'many-users': [
    ['region', 'Selected'],
    ['button', 'Deactivate'],
  ],
  shortcuts: [['button', 'Single signs act: / and ?']],
  palette: [
    ['combobox', 'A user, an integration or a page'],
    ['option', 'Overview page'],
  ],
  'inside/users/new': [['group', 'Roles']],
  'inside/users/user': [
    ['combobox', 'Language'],
    ['checkbox', 'Administrator'],
    ['button', 'Copy: Id'],
    ['link', 'Audit trail of user'],
    ['heading', 'Last changes'],
    ['button', 'Delete user'],
  ],
  'inside/log-in-preview': [
    ['combobox', 'Identity provider'],
    ['textbox', 'Claims'],
  ],
  'inside/integrations': [['table', 'Integrations']],
  'inside/integrations/INTEGRATION': [
    ['button', 'Show the value of host'],
    ['button', 'Edit host'],
    ['button', 'Delete host'],
    ['table', 'Credentials'],
  ],
  'inside/modules': [
    ['table', 'Modules'],
    ['button', 'CSV: download the list'],
  ],
  'inside/audit': [
    ['list', 'Ranges'],
    ['link', 'Today'],
  ],
  entry: [['button', 'Close']],
  'inside/account/sessions': [
    ['navigation', 'Own account'],
    ['table', 'Sessions'],
  ],
  'inside/account/tokens': [
    ['group', 'Scopes'],
    ['checkbox', 'Users: write'],
    ['combobox', 'Expires'],
  ],
  token: [
    ['group', 'Copy the API token now: it is not shown again.'],
    ['table', 'API tokens'],
  ],
  delete: [
    ['dialog', 'Delete user'],
    ['textbox', 'Type user to confirm'],
    ['button', 'Cancel'],
  ],
  link: [
    ['dialog', 'Link user with an identity provider'],
    ['textbox', 'Subject (sub)'],
  ],
  parameter: [
    ['textbox', 'Value'],
    ['checkbox', 'Secret'],
  ],
  qr: [
    ['img', 'QR code of the secret'],
    ['button', 'Copy: Secret'],
    ['textbox', 'Code of the second factor'],
  ],
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
    await expectSound(tab, nameOf(path));
    // Before it speaks: screen readers announce no region that appears with its text.
    expect(await tab.page.locator('main [role=status]').count(), path).toBeGreaterThan(0);
    // What takes the focus is said because of that, and would be said once more.
    expect(await tab.page.locator('[role=status] :focus').count(), path).toBe(0);
    if (variant !== VARIANTS[0]) return;
    for (const [role, name] of FOUND[path] ?? [])
      expect(
        await tab.page.getByRole(role, { name, exact: true }).count(),
        `${path}: ${role} ${name}`,
      ).toBeGreaterThan(0);
  };
  const show = async (path: string) => {
    await tab.page.goto('about:blank');
    await tab.page.goto(`/console${path.replace('INTEGRATION', String(integrationId))}`);
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
    await tab.page.keyboard.press('Enter');
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
    await tab.page.keyboard.press('Escape');
    await tab.page.keyboard.press('?');
    await check('shortcuts');
    await tab.page.keyboard.press('Escape');
    await tab.page.keyboard.press('Control+k');
    await check('palette');
    await tab.page.keyboard.press('Escape');
    await show('/users/user');
    await tab.page.locator('.rows ~ p button').click();
    await check('link');
    await show('/log-in-preview');
    await tab.page.locator('[name=claims]').fill('admins');
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
    await tab.page.locator('[name=confValue]').waitFor();
    await check('parameter');
    await show('/account/second-factor');
    await tab.page.locator('[name=currentPassword]').fill(`reader-${variant.language}`);
    await tab.page.keyboard.press('Enter');
    await tab.page.locator('.qr').waitFor();
    await check('qr');
    await show('/account/tokens');
    await tab.page.locator('[name=name]').fill('x'.repeat(50));
    for (const box of await tab.page.locator('[name=scopes]').all()) await box.check();
    await tab.page.locator('form [type=submit]').click();
    await tab.page.locator('main [role=group] code').waitFor();
    await tab.settle();
    await check('token');
  });
});

it('a role is offered only what it may do', async () => {
  await gatehouse.makeUser('analyst', { authorities: ['ROLE_ANALYST'] });
  const tab = await openTab();
  await logIn(tab, 'analyst');

  expect(await tab.page.locator('nav').first().innerText()).not.toContain('Audit');
  for (const path of ['/users', '/users/user', '/integrations', `/integrations/${integrationId}`]) {
    await tab.page.goto(`/console${path}`);
    await tab.page.locator('h1').waitFor();
    await tab.settle();
    expect(
      await tab.page.locator('main :is(.primary, .danger, h2):not(search *)').count(),
      path,
    ).toBe(0);
  }
  for (const path of ['/users/new', '/integrations/new', '/modules', '/audit']) {
    await tab.page.goto(`/console${path}`);
    await tab.page.locator('h1').waitFor();
    expect(await tab.page.title(), path).toBe('Page not found – Gatehouse – dev');
  }
  expect(tab.faults).toEqual([]);
});
