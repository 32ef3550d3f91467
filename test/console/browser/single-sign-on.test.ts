import { beforeAll, describe, expect, it } from 'vitest';
import { expectSound, logIn, type Tab, useConsole } from '../../support/browser/chromium.ts';
import { testProvider } from '../../support/instance/provider.ts';

/* Log-ins at the identity provider of the stack of this run, which logs browsers in at once. */

const { gatehouse, openTab } = await useConsole();
const { issuer } = testProvider();
const provider = new URL(issuer.issuer).origin;
let token: string;
beforeAll(async () => {
  token = await gatehouse.adminToken();
});

/** Opens a tab in which the provider answers with a person or an error. */
async function openTabAs(answer: object, options: object = {}): Promise<Tab> {
  const tab = await openTab({ ...options, provider });
  const value = Buffer.from(JSON.stringify(answer)).toString('base64url');
  await tab.context.addCookies([{ name: 'answer', value, url: provider }]);
  return tab;
}

const chooseProvider = ({ page }: Tab) =>
  page.getByRole('button', { name: 'Log in with Company account' }).click();
const userOf = async (login: string) =>
  (await gatehouse.call('GET', `/api/users/${login}`, { token })).body;

describe.each([1280, 320])('with %i pixels', (width) => {
  const person = (name: string, others = {}) => ({
    sub: `${name}-${width}`,
    preferred_username: `${name}-${width}`,
    groups: ['users'],
    ...others,
  });

  it('a log-in returns to the page that was asked for, with no code in the address', async () => {
    const tab = await openTabAs(person('paula'), { width });
    const { page } = tab;
    await page.goto('/console/integrations?sort=name,desc');
    await chooseProvider(tab);
    await page.getByRole('heading', { name: 'Integrations', level: 1 }).waitFor();

    expect(page.url()).toBe(`${gatehouse.cloud.url}/console/integrations?sort=name,desc`);
    await page.goto('/console/account/sessions');
    await page.getByText('Company account').waitFor();
    await page.reload();
    await page.getByText('Company account').waitFor();
    await expectSound(tab, `sso-sessions-${width}`);
    // Neither the code nor the page that had it is in the history.
    await page.goBack();
    await page.getByRole('heading', { name: 'Integrations', level: 1 }).waitFor();
  });

  it('a person without an account learns what an administrator needs', async () => {
    const dark = width === 320;
    const tab = await openTabAs(person('stranger', { groups: [] }), { width, dark });
    const { page } = tab;
    await page.goto('/console');
    await chooseProvider(tab);
    await page.getByText('An administrator can link your account.').waitFor();

    expect(await page.locator('dd').allInnerTexts()).toEqual([issuer.issuer, `stranger-${width}`]);
    expect(page.url()).toBe(`${gatehouse.cloud.url}/console/sign-in`);
    await expectSound(tab, `sso-unknown-${width}`);
    await page.getByRole('link', { name: 'Back to the log-in' }).click();
    await page.locator('[name=username]').waitFor();
  });

  it('a user links the own account on proof of the password', async () => {
    const login = `linda-${width}`;
    await gatehouse.makeUser(login, { authorities: ['ROLE_USER'] });
    const tab = await openTabAs(person('linda-at-work', { groups: ['analysts'] }), { width });
    const { page } = tab;
    await logIn(tab, login);
    await page.goto('/console/account');
    await page.getByRole('button', { name: 'Link with Company account' }).waitFor();
    await expectSound(tab, `sso-account-${width}`);
    await page.getByRole('button', { name: 'Link with Company account' }).click();
    const dialog = page.getByRole('dialog', { name: 'Link with Company account' });
    await dialog.waitFor();
    await expectSound(tab, `sso-link-${width}`);
    await page.locator('[name=currentPassword]').fill('wrong');
    await page.keyboard.press('Enter');
    await dialog.getByRole('alert').waitFor();
    await page.locator('[name=currentPassword]').fill(login);
    await page.keyboard.press('Enter');
    await page.getByText('The account is linked: Company account.').waitFor();

    expect(await userOf(login)).toMatchObject({
      authorities: ['ROLE_USER'],
      identities: [{ issuer: issuer.issuer, subject: `linda-at-work-${width}` }],
    });
    await expectSound(tab, `sso-linked-${width}`);
  });

  it('an administrator links and unlinks a user', async () => {
    const login = `uma-${width}`;
    await gatehouse.makeUser(login, { authorities: ['ROLE_USER'] });
    const tab = await openTab({ width, dark: width === 1280 });
    const { page } = tab;
    await logIn(tab, 'admin');
    await page.goto(`/console/users/${login}`);
    await page.getByRole('button', { name: `Link ${login} with an identity provider` }).click();
    await page.getByLabel('Subject (sub)').fill(`subject-of-${login}`);
    await page.keyboard.press('Enter');
    await page.getByText(`subject-of-${login}`).waitFor();
    await expectSound(tab, `sso-user-${width}`);
    // The page still saves: the link is no change of what the form shows.
    await page.locator('[name=lastName]').fill('Umber');
    await page.locator('main form [type=submit]').first().click();
    await page.getByText('Saved.').waitFor();
    await page.goto('/console/users');
    await page.locator('tbody tr').first().waitFor();
    await expectSound(tab, `sso-users-${width}`);
    await page.goto(`/console/users/${login}`);
    await page.getByRole('button', { name: `Unlink ${login} from Company account` }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Unlink' }).click();
    await page.getByText('The link is removed.').waitFor();

    expect(await userOf(login)).not.toHaveProperty('identities');
  });
});

it.each([
  [{ error: 'access_denied' }, 'You have cancelled the log-in, or Company account does not let'],
  [{ error: 'server_error' }, 'Company account has refused the log-in: server_error'],
  [{ nonce: 'of another log-in', sub: 'x' }, 'The log-in at the identity provider has expired'],
])('after %j, the console says why, and a way back', async (answer, text) => {
  const tab = await openTabAs(answer);
  const { page } = tab;
  await page.goto('/console/users');
  await chooseProvider(tab);
  await page.getByText(text).waitFor();
  await chooseProvider(tab);
  await page.getByText(text).waitFor();
  await page.getByRole('link', { name: 'Back to the log-in' }).click();
  await page.locator('[name=username]').waitFor();

  expect(page.url()).toBe(`${gatehouse.cloud.url}/console/users`);
  expect(tab.faults).toEqual([]);
});

it('a code that this tab has not asked for starts no session', async () => {
  const tab = await openTabAs({ sub: 'mallory', groups: ['admins'] });
  const { page } = tab;
  const sent: string[] = [];
  page.on('request', (request) => request.method() !== 'GET' && sent.push(request.url()));
  await page.route(`${provider}/**`, (route) => route.abort());
  await page.goto('/console');
  await page.locator('[name=username]').waitFor();
  await page.evaluate(() =>
    sessionStorage.setItem(
      'gatehouse.sign-in',
      JSON.stringify({ issuer: 'x', state: 'mine', codeVerifier: 'x', target: '/console' }),
    ),
  );
  await page.goto('/console/sign-in?code=stolen&state=theirs');
  await page.getByText('This tab has not begun a log-in').waitFor();

  expect(sent).toEqual([]);
  expect(page.url()).toBe(`${gatehouse.cloud.url}/console/sign-in`);
});
