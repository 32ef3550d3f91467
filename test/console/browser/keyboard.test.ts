import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { logIn, type Tab, useConsole } from '../../support/browser/chromium.ts';

/* By keyboard alone, in a narrow window: the focus is always visible, and nothing covers it. */

const { gatehouse, openTab } = await useConsole();

/** The name of what has the focus, or what is wrong with the place of the focus. */
const focused = (page: Page): Promise<string> =>
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

async function tabTo(page: Page, name: string): Promise<void> {
  const passed: string[] = [];
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press('Tab');
    const current = await focused(page);
    expect(current).not.toMatch(/^(hidden|no outline)/);
    if (current === name) return;
    passed.push(current);
  }
  throw new Error(`${name} was not reached from ${passed.join(', ')}`);
}

async function type(page: Page, name: string, text: string): Promise<void> {
  await tabTo(page, name);
  await page.keyboard.type(text);
}

it('an administrator logs in, invites, deactivates and deletes a user, and logs out', async () => {
  const { page, faults, settle }: Tab = await openTab({ width: 320 });
  const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor();
  await page.goto('/console');
  await heading('Log in');
  await type(page, 'Login', 'admin');
  await type(page, 'Password', 'admin');
  await page.keyboard.press('Enter');
  await heading('Overview');
  // The first steps arrive last, and would move what has the focus.
  await settle();
  await tabTo(page, 'Users');
  await page.keyboard.press('Enter');
  await page.getByText('2 users', { exact: true }).waitFor();
  await tabTo(page, 'New user');
  await page.keyboard.press('Enter');
  await heading('New user');
  await type(page, 'Login', 'erin');
  await type(page, 'E-mail address', 'erin@example.com');
  await tabTo(page, 'Analyst');
  await page.keyboard.press('Space');
  await tabTo(page, 'Create the user');
  await page.keyboard.press('Enter');
  await heading('User erin');
  await page.getByRole('button', { name: 'Delete erin' }).waitFor();
  await tabTo(page, 'Deactivate erin');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await tabTo(page, 'Deactivate erin');
  await page.keyboard.press('Enter');
  await page.locator('.badge', { hasText: 'deactivated' }).waitFor();
  await tabTo(page, 'Delete erin');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await type(page, 'Type erin to confirm', 'erin');
  await page.keyboard.press('Enter');
  await page.getByText('erin is deleted.').waitFor();
  await heading('Users');
  await tabTo(page, 'Log out');
  await page.keyboard.press('Enter');
  await page.getByText('You are logged out.').waitFor();
  expect(faults).toEqual([]);
});

it('an administrator filters, edits, configures, reads the trail and the own account', async () => {
  await gatehouse.makeUser('olga', { authorities: ['ROLE_ADMIN'] });
  const { page, faults, settle }: Tab = await openTab({ width: 320 });
  const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor();
  const go = async (name: string, title = name) => {
    await tabTo(page, name);
    await page.keyboard.press('Enter');
    await heading(title);
    await settle();
  };
  await page.goto('/console');
  await type(page, 'Login', 'olga');
  await type(page, 'Password', 'olga');
  await page.keyboard.press('Enter');
  await heading('Overview');
  await settle();
  await go('Users');
  await type(page, 'Find by login, name or address', 'us');
  await page.keyboard.press('Enter');
  await page.getByText('1 user', { exact: true }).waitFor();
  await go('user', 'User user');
  await tabTo(page, 'Analyst');
  await page.keyboard.press('Space');
  await page.keyboard.press('Enter');
  await page.getByText('Saved.').waitFor();
  await go('Integrations');
  await go('New integration');
  await type(page, 'Name', 'Firewall');
  await type(page, 'Short name', 'fw');
  await page.keyboard.press('Enter');
  await heading('Firewall');
  await settle();
  await tabTo(page, 'New parameter');
  await page.keyboard.press('Enter');
  await page.keyboard.type('host');
  await type(page, 'Value', '10.0.0.1');
  await tabTo(page, 'Add the parameter');
  await page.keyboard.press('Enter');
  // The new row moves what is below it.
  await page.getByRole('button', { name: 'Show the value of host' }).waitFor();
  await settle();
  await tabTo(page, 'Show the value of host');
  await page.keyboard.press('Enter');
  await page.getByText('10.0.0.1').waitFor();
  await tabTo(page, 'Audit trail of Firewall');
  await page.keyboard.press('Enter');
  await page.getByText('olga added the parameter host').waitFor();
  await go('Own account');
  await go('Change the password');
  await type(page, 'Current password', 'olga');
  await type(page, 'New password', 'correct horse');
  await page.keyboard.press('Enter');
  await page.getByText('Your password is changed.').waitFor();
  expect(faults).toEqual([]);
});

it('the first Tab of a page offers to skip to its content', async () => {
  const { page } = await openTab();
  await page.goto('/console');
  await page.locator('h1').waitFor();
  await page.keyboard.press('Tab');

  expect(await focused(page)).toBe('Skip to the content');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  expect(await focused(page)).toBe('Login');
});

it.each([
  ['twice as large', ':root { font-size: 200% }'],
  [
    'spaced (WCAG 1.4.12)',
    `* { line-height: 1.5 !important; letter-spacing: 0.12em !important;
      word-spacing: 0.16em !important } p { margin-bottom: 2em !important }`,
  ],
])('nothing is cut off or overflows when the text is %s', async (_, rules) => {
  const tab = await openTab();
  await logIn(tab, 'admin');
  for (const path of ['users', 'users/user', 'users/new', 'audit', 'account/second-factor']) {
    await tab.page.goto(`/console/${path}`);
    await tab.page.locator('h1').waitFor();
    await tab.settle();
    const cutOff = await tab.page.evaluate((text) => {
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
