import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  expectSound,
  logIn,
  type Tab,
  treeOf,
  useConsole,
} from '../../support/browser/chromium.ts';

/*
 * Every screen in both themes, both languages and two widths: axe without findings, no horizontal
 * scrolling, one heading that is the title, targets of 24 pixels, and no violation of the policy.
 */

const { gatehouse, openTab } = await useConsole();
let integrationId: number;

beforeAll(async () => {
  const token = await gatehouse.adminToken();
  for (const langKey of ['en', 'de'])
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

const VARIANTS = [
  { width: 1280, dark: false, language: 'en' },
  { width: 1280, dark: true, language: 'de' },
  { width: 320, dark: true, language: 'en' },
  { width: 320, dark: false, language: 'de' },
];

const GATE = [
  '',
  '/forgotten-password',
  '/set-password#key=x',
  '/set-password',
  '/confirm-email#key=x',
];
const INSIDE = [
  '/users',
  '/users?login.contains=reader&activated.equals=true&sort=login,desc&size=1',
  '/users?id.equals=x',
  '/users?login.contains=nobody',
  '/users/new',
  '/users/user',
  '/integrations',
  '/integrations/new',
  '/integrations/INTEGRATION',
  '/modules',
  '/audit',
  '/account',
  '/account/password',
  '/account/sessions',
  '/account/second-factor',
  '/about',
  '/nothing',
];

describe.each(VARIANTS)('with $width pixels, dark: $dark, in $language', (variant) => {
  const fileOf = (path: string) => path.replace(/\W+/g, '-');
  const nameOf = (path: string) =>
    `${fileOf(path)}-${variant.width}-${variant.dark ? 'dark' : 'light'}`;
  let tab: Tab;
  beforeAll(async () => {
    tab = await openTab(variant);
  });
  afterAll(() => tab?.context.close());

  const check = async (path: string) => {
    await expectSound(tab, nameOf(path));
    if (variant === VARIANTS[0])
      await expect(await treeOf(tab)).toMatchFileSnapshot(`trees/${fileOf(path)}.yml`);
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
    await tab.page.locator('form button').click();
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
    await show('/integrations/INTEGRATION');
    for (const index of [0, 2]) await tab.page.locator('.parameters button').nth(index).click();
    await tab.page.locator('[name=confValue]').waitFor();
    await check('parameter');
    await show('/account/second-factor');
    await tab.page.locator('[name=currentPassword]').fill(`reader-${variant.language}`);
    await tab.page.keyboard.press('Enter');
    await tab.page.locator('.qr').waitFor();
    await check('qr');
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
    expect(await tab.page.locator('main .primary, main .danger, main h2').count(), path).toBe(0);
  }
  for (const path of ['/users/new', '/integrations/new', '/modules', '/audit']) {
    await tab.page.goto(`/console${path}`);
    await tab.page.locator('h1').waitFor();
    expect(await tab.page.title(), path).toBe('Page not found');
  }
  expect(tab.faults).toEqual([]);
});
