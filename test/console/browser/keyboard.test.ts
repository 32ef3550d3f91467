import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { type Tab, useConsole } from '../../support/browser/chromium.ts';

/* By keyboard alone, in a narrow window: the focus is always visible, and nothing covers it. */

const { gatehouse, openTab } = await useConsole();

/** The name of what has the focus, or what is wrong with the place of the focus. */
const visiblyFocused = (page: Page): Promise<string> =>
  page.evaluate(() => {
    const element = document.activeElement as HTMLElement;
    const label = (element as HTMLInputElement).labels?.[0]?.textContent;
    const name = (label ?? element.getAttribute('aria-label') ?? element.textContent ?? '').trim();
    if (element === document.body) return '';
    const [{ left, top, width, height } = new DOMRect()] = element.getClientRects();
    const found = document.elementFromPoint(left + width / 2, top + height / 2);
    if (!element.contains(found)) return `hidden: ${name}`;
    return getComputedStyle(element).outlineStyle === 'solid' ? name : `no outline: ${name}`;
  });

async function tabTo({ page, settle }: Tab, name: string): Promise<void> {
  // What arrives last would move what has the focus.
  await settle();
  const passed: string[] = [];
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press('Tab');
    const current = await visiblyFocused(page);
    expect(current).not.toMatch(/^(hidden|no outline)/);
    if (current === name) return;
    passed.push(current);
  }
  throw new Error(`${name} was not reached from ${passed.join(', ')}`);
}

async function openNarrowTab() {
  const tab = await openTab({ width: 320 });
  const { page, press, seeHeading } = tab;
  const use = async (name: string, key = 'Enter') => {
    await tabTo(tab, name);
    await press(key);
  };
  const type = async (name: string, text: string) => {
    await tabTo(tab, name);
    await page.keyboard.type(text);
  };
  const go = async (name: string, title = name) => {
    await use(name);
    await seeHeading(title);
  };
  const logIn = async (login: string) => {
    await page.goto('/console');
    await seeHeading('Log in');
    await type('Login', login);
    await type('Password', login);
    await press('Enter');
    await seeHeading('Overview');
  };
  return { ...tab, use, type, go, logIn };
}

it('an administrator logs in, invites, deactivates and deletes a user, and logs out', async () => {
  const { dialog, button, see, seeHeading, press, use, type, go, logIn } = await openNarrowTab();
  await logIn('admin');
  await go('Users');
  await go('New user');
  await type('Login', 'erin');
  await type('E-mail address', 'erin@example.com');
  await use('Analyst', 'Space');
  await use('Create the user');
  await seeHeading('User erin');
  await button('Delete erin').waitFor();
  await use('Deactivate erin');
  await dialog.waitFor();
  await use('Deactivate erin');
  await see(/^deactivated$/);
  await use('Delete erin');
  await dialog.waitFor();
  await type('Type erin to confirm', 'erin');
  await press('Enter');
  await see('erin is deleted.');
  await seeHeading('Users');
  await use('Log out');
  await see('You are logged out.');
});

it('an administrator filters, edits, configures, reads the trail and the own account', async () => {
  await gatehouse.makeUser('olga', { authorities: ['ROLE_ADMIN'] });
  const tab = await openNarrowTab();
  const { page, button, see, seeHeading, press } = tab;
  const { use, type, go, logIn } = tab;
  await logIn('olga');
  await go('Users');
  await type('Find by login, name or address', 'us');
  await press('Enter');
  await see(/^1 user$/);
  await go('user', 'User user');
  await use('Analyst', 'Space');
  await press('Enter');
  await see('Saved.');
  await go('Integrations');
  await go('New integration');
  await type('Name', 'Firewall');
  await type('Short name', 'fw');
  await press('Enter');
  await seeHeading('Firewall');
  await use('New parameter');
  await page.keyboard.type('host');
  await type('Value', '10.0.0.1');
  await use('Add the parameter');
  await button('Show the value of host').waitFor();
  await use('Show the value of host');
  await see('10.0.0.1');
  await use('Audit trail of Firewall');
  await see('olga added the parameter host');
  await go('Own account');
  await go('Change the password');
  await type('Current password', 'olga');
  await type('New password', 'correct horse');
  await press('Enter');
  await see('Your password is changed.');
});

it('the first Tab of a page offers to skip to its content', async () => {
  const { page, press } = await openTab();
  await page.goto('/console');
  await page.locator('h1').waitFor();
  await press('Tab');

  expect(await visiblyFocused(page)).toBe('Skip to the content');
  await press('Enter');
  await press('Tab');
  expect(await visiblyFocused(page)).toBe('Login');
});

it.each([
  ['twice as large', ':root { font-size: 200% }'],
  [
    'spaced (WCAG 1.4.12)',
    `* { line-height: 1.5 !important; letter-spacing: 0.12em !important;
      word-spacing: 0.16em !important } p { margin-bottom: 2em !important }`,
  ],
])('nothing is cut off or overflows when the text is %s', async (_, rules) => {
  const { page, settle } = await openTab({ login: 'admin' });
  for (const path of ['users', 'users/user', 'users/new', 'audit', 'account/second-factor']) {
    await page.goto(`/console/${path}`);
    await page.locator('h1').waitFor();
    await settle();
    const cutOff = await page.evaluate((text) => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(text);
      document.adoptedStyleSheets = [sheet];
      const { scrollWidth, clientWidth } = document.documentElement;
      const controls = [...document.querySelectorAll<HTMLElement>('button, a, h1, h2, label')];
      return [
        ...(scrollWidth > clientWidth ? ['the page'] : []),
        ...controls
          .filter(
            (element) =>
              element.checkVisibility() && getComputedStyle(element).display !== 'inline',
          )
          .filter((element) => element.scrollWidth > element.clientWidth + 1)
          .map(({ textContent }) => textContent),
      ];
    }, rules);
    expect(cutOff, path).toEqual([]);
  }
});
