import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { codeOf, stepAt } from '../../../lib/second-factor/totp.ts';
import { expectSound, logIn, openTab, type Tab } from '../../support/browser/chromium.ts';
import { launchChromium } from '../../support/browser/launch-chromium.ts';
import { type Gatehouse, startGatehouse } from '../../support/instance/gatehouse.ts';

/* The first administrator invites a colleague, who sets a password and a second factor. */

let gatehouse: Gatehouse;
let browser: Browser;

beforeAll(async () => {
  [gatehouse, browser] = await Promise.all([startGatehouse(), launchChromium()]);
});
afterAll(async () => {
  await browser?.close();
  await gatehouse?.stop();
});

const ADDRESS = 'anna@example.com';

async function invite(tab: Tab): Promise<string> {
  await logIn(tab, 'admin');
  await tab.page.getByRole('link', { name: 'New user' }).click();
  await tab.page.locator('[name=login]').fill('anna');
  await tab.page.locator('[name=email]').fill(ADDRESS);
  await tab.page.getByLabel('Administrator').check();
  await tab.page.getByRole('button', { name: 'Create the user' }).click();
  await tab.page.getByText('anna is created.').waitFor();
  const [mail] = await gatehouse.mailsTo(ADDRESS);
  return mail?.text.match(/http\S+/)?.[0] ?? '';
}

async function setPassword({ page }: Tab, link: string): Promise<void> {
  const sent: string[] = [];
  page.on('request', (request) => sent.push(`${request.method()} ${request.url()}`));
  await page.goto(link);
  await page.locator('[name=newPassword]').fill('correct horse');
  expect(page.url()).not.toContain('key');
  await page.keyboard.press('Enter');
  await page.getByText('Your password is set.').waitFor();
  const key = link.split('key=')[1] ?? '';
  expect(key.length).toBeGreaterThan(10);
  expect(sent.filter((request) => request.includes(key))).toEqual([]);
}

async function turnOnFactor({ page }: Tab): Promise<Buffer> {
  await page.getByRole('link', { name: 'Own account' }).click();
  await page.getByRole('link', { name: 'Second factor' }).click();
  await page.locator('[name=currentPassword]').fill('correct horse');
  await page.keyboard.press('Enter');
  const text = await page.locator('main code').innerText();
  const secret = secretOf(text.replaceAll(' ', ''));
  await page.locator('[name=code]').fill(codeOf(secret, stepAt(Date.now()) - 1));
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Recovery codes' }).waitFor();
  expect(await page.locator('.codes li').count()).toBe(10);
  return secret;
}

/** Base32 (RFC 4648, 6). */
function secretOf(text: string): Buffer {
  const bits = [...text]
    .map((letter) =>
      'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'),
    )
    .join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

it('leads from the invitation to a log-in with a code, and to the log-out', async () => {
  const admin = await openTab(browser, gatehouse.cloud.url);
  const anna = await openTab(browser, gatehouse.cloud.url, { width: 320 });
  const { page } = anna;
  await setPassword(anna, await invite(admin));
  await logIn(anna, 'anna', 'correct horse');
  const secret = await turnOnFactor(anna);
  await expectSound(anna, 'recovery-codes');
  await page.getByRole('button', { name: 'I have kept them' }).click();
  await page.getByText('10 recovery codes are left.').waitFor();
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByText('You are logged out.').waitFor();
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0);

  await page.locator('[name=username]').fill('anna');
  await page.locator('[name=password]').fill('correct horse');
  await page.keyboard.press('Enter');
  await page.locator('[name=code]').waitFor();
  expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('code');
  expect(await page.locator('[name=password]').inputValue()).toBe('correct horse');
  await expectSound(anna, 'code');
  await page.locator('[name=code]').fill(codeOf(secret, stepAt(Date.now())));
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Users' }).waitFor();

  await admin.page.getByRole('button', { name: 'Log out' }).click();
  await admin.page.getByText('You are logged out.').waitFor();
  expect([...admin.faults, ...anna.faults]).toEqual([]);
});
