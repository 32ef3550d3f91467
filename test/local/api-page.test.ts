import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Mail } from '../../infra/local/aws/mailbox.ts';
import { routes } from '../../routes.ts';
import { launchChromium } from '../support/browser/launch-chromium.ts';
import { startGatehouse } from '../support/instance/gatehouse.ts';
import type { Gatehouse } from '../support/instance/launch.ts';

/* The API reference and the mailbox in a browser, as a person would use them. */

describe('the pages of the local cloud in a browser', () => {
  let gatehouse: Gatehouse;
  let browser: Browser;
  let page: Page;
  const problems: string[] = [];

  beforeAll(async () => {
    [gatehouse, browser] = await Promise.all([startGatehouse(), launchChromium()]);
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => {
      // Chromium reports responses such as 400 as errors.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        problems.push(message.text());
    });
  });
  afterAll(async () => {
    await browser?.close();
    await gatehouse?.stop();
  });

  const operation = (id: string) => page.locator(`[id$="-${id}"]`);
  it('is linked from the start page, and lists every operation', async () => {
    await page.goto(gatehouse.cloud.url);
    await page.getByRole('link', { name: 'The API reference' }).click();
    await operation('updateUser').waitFor();

    expect(await page.locator('.opblock').count()).toBe(routes.length);
  });

  it('shows why a login fails, and who has logged in', async () => {
    const form = page.locator('#log-in');
    const logIn = async (password: string) => {
      await form.getByLabel('Login').fill('admin');
      await form.getByLabel('Password').fill(password);
      await form.getByRole('button').click();
    };

    await logIn('wrong');
    await form.getByText('401 Bad credentials').waitFor();
    await logIn('admin');
    await form.getByText('Logged in as admin').waitFor();
  });

  it('shows the filters of a list by one field after the other, at any width', async () => {
    const block = operation('listIntegrations');
    const parameters = block.locator('.parameters tr[data-param-name]');
    await block.locator('.opblock-summary').click();
    await block.getByRole('button', { name: 'shortName', exact: true }).waitFor();
    const before = await parameters.count();
    await page.setViewportSize({ width: 320, height: 700 });

    await block.getByRole('button', { name: 'shortName', exact: true }).click();
    await parameters.locator('input[placeholder="shortName.equals"]').fill('none');
    await block.locator('button.execute').click();

    expect(before).toBe(3);
    expect(await parameters.count()).toBe(10);
    await block.locator('.request-url', { hasText: 'shortName.equals=none' }).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  it('shows mails as text, the newest one first, with a link to the console', async () => {
    await gatehouse.makeUser('invited', { password: undefined });
    const [invitation] = await gatehouse.mailsTo('invited@example.com');
    gatehouse.cloud.mails.push({ ...(invitation as Mail), to: ['x@example.com'], subject: '<b>' });
    await page.goto(gatehouse.cloud.url);
    await page.getByRole('link', { name: 'The mailbox' }).click();
    const mails = page.locator('article');
    await mails.first().getByRole('heading', { name: '<b>' }).waitFor();

    await mails.filter({ hasText: 'invited@example.com' }).getByRole('link').click();

    await page.waitForURL(`${gatehouse.cloud.url}/console/set-password**`);
  });

  it('violates no security policy and has no script errors', () => {
    expect(problems).toEqual([]);
  });
});
