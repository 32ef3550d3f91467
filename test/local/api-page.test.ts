import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Mail } from '../../infra/local/aws/mailbox.ts';
import { routes } from '../../routes.ts';
import { launchChromium } from '../support/browser/launch-chromium.ts';
import { type Gatehouse, startGatehouse } from '../support/instance/gatehouse.ts';

/* The API reference and the mailbox in a browser, as a person would use them. */

const SCREENSHOTS = process.env.SCREENSHOTS;
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

  const screenshot = async (name: string) => {
    if (SCREENSHOTS) await page.screenshot({ path: `${SCREENSHOTS}/${name}.png` });
  };
  const operation = (id: string) => page.locator(`[id$="-${id}"]`);
  /** Sends a request from the page, and returns the status and the body that it shows. */
  async function tryOut(
    id: string,
    fill: { body?: object; path?: string },
  ): Promise<[status: string, body: string]> {
    const block = operation(id);
    await block.locator('.opblock-summary').click();
    if (fill.body) await block.locator('textarea.body-param__text').fill(JSON.stringify(fill.body));
    if (fill.path) await block.locator('.parameters input[type="text"]').first().fill(fill.path);
    await block.locator('button.execute').click();
    const response = block.locator('.live-responses-table .response');
    await response.waitFor();
    return [
      (await response.locator('.response-col_status').innerText()).trim().slice(0, 3),
      await response.locator('.response-col_description').innerText(),
    ];
  }

  it('is linked from the start page, and lists every operation', async () => {
    await page.goto(gatehouse.cloud.url);
    await page.getByRole('link', { name: 'The API reference' }).click();
    await operation('updateUser').waitFor();

    expect(await page.locator('.opblock').count()).toBe(routes.length);
    await screenshot('operations');
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

  it('creates and changes what the operator enters', async () => {
    const fields = { name: 'Office firewall', shortName: 'firewall', integrationType: 'COLLECTOR' };

    const created = await tryOut('createIntegration', { body: fields });
    const changed = await tryOut('updateIntegration', {
      body: { id: 1, ...fields, name: 'Gate', active: false },
    });

    expect([created[0], changed[0]]).toEqual(['201', '200']);
    expect(changed[1]).toContain('"name": "Gate"');
    await screenshot('changed');
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
    await screenshot('narrow');
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  it('shows the error of a rejected request', async () => {
    const [status, body] = await tryOut('createUser', {
      body: { login: 'x y', email: 'x@example.com' },
    });

    expect(status).toBe('400');
    expect(body).toContain('error.validation');
    await screenshot('rejected');
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
