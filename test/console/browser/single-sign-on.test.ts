import { describe, expect, it } from 'vitest';
import { type Tab, useConsole } from '../../support/browser/chromium.ts';
import { testProvider } from '../../support/instance/provider.ts';

/* Log-ins at the identity provider of the stack of this run, which logs browsers in at once. */

const { gatehouse, send, openTab } = await useConsole();
const { issuer } = testProvider();
const provider = new URL(issuer.issuer).origin;

/** Opens a tab in which the provider answers with a person or an error. */
async function openTabAs(answer: object, options: object = {}): Promise<Tab> {
  const tab = await openTab({ ...options, provider });
  const value = Buffer.from(JSON.stringify(answer)).toString('base64url');
  await tab.context.addCookies([{ name: 'answer', value, url: provider }]);
  return tab;
}

const chooseProvider = ({ button }: Tab) => button('Log in with Company account').click();
const userOf = (login: string) => send('GET', `/api/users/${login}`);

describe.each([1280, 320])('with %i pixels', (width) => {
  const person = (name: string, others = {}) => ({
    sub: `${name}-${width}`,
    preferred_username: `${name}-${width}`,
    groups: ['users'],
    ...others,
  });

  it('a log-in returns to the page that was asked for, with no code in the address', async () => {
    const tab = await openTabAs(person('paula'), { width });
    const { page, see, seeHeading, expectSound } = tab;
    await page.goto('/console/integrations?sort=name,desc');
    await chooseProvider(tab);
    await seeHeading('Integrations');

    expect(page.url()).toBe(`${gatehouse.cloud.url}/console/integrations?sort=name,desc`);
    await page.goto('/console/account/sessions');
    await see('Company account');
    await page.reload();
    await see('Company account');
    await expectSound(`sso-sessions-${width}`);
    // Neither the code nor the page that had it is in the history.
    await page.goBack();
    await seeHeading('Integrations');
  });

  it('a person without an account learns what an administrator needs', async () => {
    const dark = width === 320;
    const tab = await openTabAs(person('stranger', { groups: [] }), { width, dark });
    const { page, field, link, see, expectSound } = tab;
    await page.goto('/console');
    await chooseProvider(tab);
    await see('An administrator can link your account.');

    expect(await page.locator('dd').allInnerTexts()).toEqual([issuer.issuer, `stranger-${width}`]);
    expect(page.url()).toBe(`${gatehouse.cloud.url}/console/sign-in`);
    await expectSound(`sso-unknown-${width}`);
    await link('Back to the log-in').click();
    await field('username').waitFor();
  });

  it('a user links the own account on proof of the password', async () => {
    const login = `linda-${width}`;
    await gatehouse.makeUser(login, { authorities: ['ROLE_USER'] });
    const linda = person('linda-at-work', { groups: ['analysts'] });
    const tab = await openTabAs(linda, { width, login });
    const { page, focused, field, button, see, expectSound } = tab;
    await page.goto('/console/account');
    await button('Link with Company account').waitFor();
    await expectSound(`sso-account-${width}`);
    await button('Link with Company account').click();
    const dialog = page.getByRole('dialog', { name: 'Link with Company account' });
    await dialog.waitFor();
    await expectSound(`sso-link-${width}`);
    const password = field('currentPassword');
    await password.fill('wrong');
    await password.press('Enter');
    await expect.poll(focused).toContain('That did not work');
    await password.fill(login);
    await password.press('Enter');
    await see('The account is linked: Company account.');

    expect(await userOf(login)).toMatchObject({
      authorities: ['ROLE_USER'],
      identities: [{ issuer: issuer.issuer, subject: `linda-at-work-${width}` }],
    });
    await expectSound(`sso-linked-${width}`);
  });

  it('an administrator links and unlinks a user', async () => {
    const login = `uma-${width}`;
    await gatehouse.makeUser(login, { authorities: ['ROLE_USER'] });
    const tab = await openTab({ width, dark: width === 1280, login: 'admin' });
    const { page, field, press, button, dialog, see, expectSound } = tab;
    await page.goto(`/console/users/${login}`);
    await button(`Link ${login} with an identity provider`).click();
    await page.getByLabel('Subject (sub)').fill(`subject-of-${login}`);
    await press('Enter');
    await see(`subject-of-${login}`);
    await expectSound(`sso-user-${width}`);
    // The page still saves: the link is no change of what the form shows.
    await field('lastName').fill('Umber');
    await page.locator('main form [type=submit]').first().click();
    await see('Saved.');
    await page.goto('/console/users');
    await page.locator('tbody tr').first().waitFor();
    await expectSound(`sso-users-${width}`);
    await page.goto(`/console/users/${login}`);
    await button(`Unlink ${login} from Company account`).click();
    await dialog.getByRole('button', { name: 'Unlink' }).click();
    await see('The link is removed.');

    expect(await userOf(login)).not.toHaveProperty('identities');
  });
});

it.each([
  [{ error: 'access_denied' }, 'You have cancelled the log-in, or Company account does not let'],
  [{ error: 'server_error' }, 'Company account has refused the log-in: server_error'],
  [{ nonce: 'of another log-in', sub: 'x' }, 'The log-in at the identity provider has expired'],
])('after %j, the console says why, and a way back', async (answer, text) => {
  const tab = await openTabAs(answer);
  const { page, field, link, see } = tab;
  await page.goto('/console/users');
  await chooseProvider(tab);
  await see(text);
  // The page that is left shows the same text.
  const returned = page.waitForEvent('domcontentloaded');
  await chooseProvider(tab);
  await returned;
  await see(text);
  await link('Back to the log-in').click();
  await field('username').waitFor();

  expect(page.url()).toBe(`${gatehouse.cloud.url}/console/users`);
});

it('a code that this tab has not asked for starts no session', async () => {
  const tab = await openTabAs({ sub: 'mallory', groups: ['admins'] });
  const { page, field, see } = tab;
  const sent: string[] = [];
  page.on('request', (request) => request.method() !== 'GET' && sent.push(request.url()));
  await page.route(`${provider}/**`, (route) => route.abort());
  await page.goto('/console');
  await field('username').waitFor();
  await page.evaluate(() =>
    sessionStorage.setItem(
      'gatehouse.sign-in',
      JSON.stringify({ issuer: 'x', state: 'mine', codeVerifier: 'x', target: '/console' }),
    ),
  );
  await page.goto('/console/sign-in?code=stolen&state=theirs');
  await see('This tab has not begun a log-in');

  expect(sent).toEqual([]);
  expect(page.url()).toBe(`${gatehouse.cloud.url}/console/sign-in`);
});
