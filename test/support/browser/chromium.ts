import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import axe from 'axe-core';
import type { Browser, BrowserContext, Locator, Page, Request } from 'playwright-core';
import { afterAll, afterEach, expect } from 'vitest';
import { type SharedGatehouse, useGatehouse } from '../instance/gatehouse.ts';
import type { Received } from '../instance/launch.ts';
import { launchChromium } from './launch-chromium.ts';

const SCREENSHOTS = process.env.SCREENSHOTS;

/** A tab. A test fails if anything happens in it that must not happen on any screen. */
export interface Tab {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Waits until every request has its response, and the page shows it. */
  readonly settle: () => Promise<void>;
  readonly press: (key: string) => Promise<void>;
  readonly dialog: Locator;
  readonly button: (name: string | RegExp) => Locator;
  readonly link: (name: string | RegExp) => Locator;
  /** The field with this attribute `name`. */
  readonly field: (name: string) => Locator;
  /** Presses a button, and the one of the same name in the dialog that opens. */
  readonly confirm: (name: string) => Promise<void>;
  readonly see: (text: string | RegExp) => Promise<void>;
  readonly seeHeading: (name: string) => Promise<void>;
  /** The name of what has the focus, or its text. */
  readonly focused: () => Promise<string>;
  /** Fails if the screen has a defect. */
  readonly expectSound: (screen: string) => Promise<void>;
}

interface TabOptions {
  /** Logs this user in, whose password is the login. */
  readonly login?: string;
  readonly width?: number;
  readonly dark?: boolean;
  readonly language?: string;
  readonly timezoneId?: string;
  /** Of an instance of its own. */
  readonly url?: string;
  /** The origin of an identity provider, to which requests may go as well. */
  readonly provider?: string;
}

interface UsedConsole {
  readonly gatehouse: SharedGatehouse;
  /** Sends a request as the administrator. Returns the body of the response. */
  readonly send: (method: string, path: string, body?: object) => Promise<Received['body']>;
  readonly openTab: (options?: TabOptions) => Promise<Tab>;
}

/** One browser per worker serves its test files in turn, and ends with the worker. */
let launched: Promise<Browser> | undefined;

/** The instance and the browser that the test files of a worker share. */
export async function useConsole(): Promise<UsedConsole> {
  launched ??= launchChromium();
  const [gatehouse, browser] = await Promise.all([useGatehouse(), launched]);
  const token = await gatehouse.adminToken();
  const faults: string[] = [];
  afterEach(() => expect(faults.splice(0)).toEqual([]));
  afterAll(() => Promise.all(browser.contexts().map((context) => context.close())));
  return {
    gatehouse,
    send: async (method, path, body) => (await gatehouse.call(method, path, { token, body })).body,
    openTab: (options) => openTab(browser, faults, { url: gatehouse.cloud.url, ...options }),
  };
}

/** Adds errors, violations of the policy, and requests that leave the origin to the faults. */
async function openTab(browser: Browser, faults: string[], options: TabOptions): Promise<Tab> {
  const { url, width = 1280, dark = false, language = 'en', timezoneId = 'UTC' } = options;
  const { provider, login } = options;
  const context = await browser.newContext({
    viewport: { width, height: 800 },
    colorScheme: dark ? 'dark' : 'light',
    locale: language,
    timezoneId,
    reducedMotion: 'reduce',
    baseURL: url,
  });
  // For a slow machine.
  context.setDefaultTimeout(120_000);
  await context.exposeFunction('reportViolation', (text: string) => faults.push(text));
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
      Reflect.get(globalThis, 'reportViolation')(`${violatedDirective} ${blockedURI}`),
    );
  });
  const page = await context.newPage();
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    // Chromium reports responses such as 400 as errors.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      faults.push(message.text());
  });
  const pending = new Set<Request>();
  for (const event of ['requestfinished', 'requestfailed'] as const)
    page.on(event as 'requestfinished', (request) => pending.delete(request));
  page.on('request', (request) => {
    pending.add(request);
    const { origin, protocol } = new URL(request.url());
    if (![url, provider].includes(origin) && protocol !== 'blob:') faults.push(request.url());
  });
  const dialog = page.getByRole('dialog');
  const button = (name: string | RegExp) => page.getByRole('button', { name });
  const tab: Tab = {
    page,
    context,
    settle: () => settle(page, pending),
    press: (key) => page.keyboard.press(key),
    dialog,
    button,
    link: (name) => page.getByRole('link', { name }),
    field: (name) => page.locator(`[name=${name}]`),
    async confirm(name) {
      await button(name).click();
      await dialog.getByRole('button', { name }).click();
    },
    see: (text) => page.getByText(text).waitFor(),
    seeHeading: (name) => page.getByRole('heading', { level: 1, name }).waitFor(),
    focused: () => page.evaluate(focusedText),
    expectSound: async (screen) => expect(await defectsOf(page, screen), screen).toEqual([]),
  };
  if (login) await logIn(tab, login);
  return tab;
}

async function settle(page: Page, pending: ReadonlySet<Request>): Promise<void> {
  const twoFrames = () =>
    page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
  for (let quiet = 0; quiet < 3; quiet = pending.size === 0 ? quiet + 1 : 0) await twoFrames();
}

function focusedText(): string {
  const element = document.activeElement;
  return element?.getAttribute('aria-label') ?? element?.textContent?.trim() ?? '';
}

/** The contrast of the border of a field with what is around it (WCAG 1.4.11). */
function borderContrast(element: HTMLElement): number {
  const context = document.createElement('canvas').getContext('2d') as CanvasRenderingContext2D;
  const luminance = (color: string): number => {
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    const [red = 0, green = 0, blue = 0] = [...context.getImageData(0, 0, 1, 1).data].map((byte) =>
      byte <= 10 ? byte / 3294 : ((byte / 255 + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  let around: Element | null = element.parentElement;
  while (around && getComputedStyle(around).backgroundColor === 'rgba(0, 0, 0, 0)')
    around = around.parentElement;
  const { backgroundColor } = getComputedStyle(around ?? document.body);
  const [one, other] = [
    luminance(getComputedStyle(element).borderTopColor),
    luminance(backgroundColor),
  ];
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}

async function defectsOf(page: Page, screen: string): Promise<string[]> {
  await page.evaluate(`${axe.source}; globalThis.${borderContrast.name} = ${borderContrast}`);
  const found = await page.evaluate(async () => {
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
    const { violations } = await Reflect.get(globalThis, 'axe').run({
      runOnly: { type: 'tag', values: tags },
    });
    const { scrollWidth, clientWidth } = document.documentElement;
    // WCAG 2.5.8 exempts links in sentences.
    const small = [...document.querySelectorAll<HTMLElement>('button, input, select, nav a, th a')]
      .filter((element) => element.checkVisibility())
      .filter((element) => {
        const { width, height } = element.getBoundingClientRect();
        return width < 24 || height < 24;
      });
    return [
      ...[...document.querySelectorAll<HTMLElement>('input, select, textarea')]
        .filter((element) => element.checkVisibility())
        .map((element) => Reflect.get(globalThis, 'borderContrast')(element))
        .filter((contrast) => contrast < 3)
        .map((contrast) => `the border of a field has a contrast of ${contrast}`),
      ...violations.map(({ id, nodes }: { id: string; nodes: { target: string[] }[] }) =>
        [id, ...nodes.map(({ target }) => target)].join(' '),
      ),
      ...(scrollWidth > clientWidth
        ? [`wider than the window by ${scrollWidth - clientWidth}`]
        : []),
      ...small.map(({ outerHTML }) => `smaller than 24 pixels: ${outerHTML.slice(0, 120)}`),
      ...(document.querySelectorAll('h1').length === 1 ? [] : ['not one h1']),
      ...(document.title.startsWith(`${document.querySelector('h1')?.textContent} – Gatehouse`)
        ? []
        : ['the title does not begin with the heading and the product']),
    ];
  });
  if (SCREENSHOTS) {
    mkdirSync(SCREENSHOTS, { recursive: true });
    await page.screenshot({ path: join(SCREENSHOTS, `${screen}.png`), fullPage: true });
  }
  return found;
}

export async function logIn(
  { page, field, press }: Tab,
  login: string,
  password = login,
): Promise<void> {
  await page.goto('/console');
  await field('username').fill(login);
  await field('password').fill(password);
  await press('Enter');
  await page.locator('nav[aria-label]').first().waitFor();
}
