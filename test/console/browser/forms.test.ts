import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  expectSound,
  focusedText,
  logIn,
  type Tab,
  useConsole,
} from '../../support/browser/chromium.ts';
import { testProvider } from '../../support/instance/provider.ts';

/* Nothing that was typed is lost, and the focus is where the next step is. */

const { gatehouse, openTab } = await useConsole();
let tab: Tab;
let token: string;

beforeAll(async () => {
  token = await gatehouse.adminToken();
  await gatehouse.makeUser('carol', { firstName: 'Carol' });
  await gatehouse.makeUser('dave');
  tab = await openTab();
  await logIn(tab, 'admin');
});

const field = (name: string) => tab.page.locator(`main [name=${name}]`);
const submit = () => tab.page.locator('main form button[type=submit]').first();
const button = (name: string) => tab.page.getByRole('button', { name });
const inDialog = (name: string) => tab.page.getByRole('dialog').getByRole('button', { name });
const saved = () => tab.page.getByText('Saved.').waitFor();
const stored = async (login: string) =>
  (await gatehouse.call('GET', `/api/users/${login}`, { token })).body;
const change = (body: object) => gatehouse.call('PUT', '/api/users', { token, body });
const makeTap = async () => {
  const body = { name: 'Tap', shortName: 'tap', integrationType: 'API' };
  return (await gatehouse.call('POST', '/api/utm-integrations', { token, body })).body;
};
const alert = () => tab.page.locator('main form [role=alert]');

describe('the form of a user', () => {
  const login = 'carol';
  beforeEach(async () => {
    await tab.context.setOffline(false);
    await tab.page.goto(`/console/users/${login}`);
    await submit().waitFor();
  });

  it('keeps what was typed when it is refused, and leads to the field', async () => {
    await field('firstName').fill('Caroline');
    await field('email').fill('not an address');
    await tab.page.keyboard.press('Enter');
    await alert().waitFor();

    await expect.poll(() => focusedText(tab)).toContain('E-mail address:');
    expect(await field('firstName').inputValue()).toBe('Caroline');
    expect(await field('email').inputValue()).toBe('not an address');
    expect(await field('email').getAttribute('aria-invalid')).toBe('true');
    await expectSound(tab, 'refused-user');
    await alert().locator('a').click();
    expect(await tab.page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe(
      'email',
    );
  });

  it('asks before unsaved changes are left by a link or Back, and stays', async () => {
    await field('firstName').fill('Caroline');
    await tab.page.getByRole('link', { name: 'About' }).click();
    await button('Stay').click();
    expect(await field('firstName').inputValue()).toBe('Caroline');
    await expect.poll(() => focusedText(tab)).toBe('About');

    await tab.page.getByRole('link', { name: 'About' }).click();
    await button('Leave').click();
    await tab.page.getByRole('heading', { name: 'About' }).waitFor();
    await expect.poll(() => focusedText(tab)).toBe('About');
  });

  it('asks before Back leaves unsaved changes', async () => {
    await tab.page.getByRole('link', { name: 'About' }).click();
    await tab.page.getByRole('link', { name: 'Own account' }).click();
    await field('firstName').fill('Other');
    await tab.page.goBack();
    await button('Stay').click();
    expect(await field('firstName').inputValue()).toBe('Other');
    await tab.page.goBack();
    await button('Leave').click();
    await tab.page.getByRole('heading', { name: 'About' }).waitFor();
  });

  it('goes on with the request when the session has ended and the password is given', async () => {
    await field('firstName').fill('Carola');
    await gatehouse.call('POST', '/api/users/admin/end-sessions', { token });
    token = await gatehouse.logIn('admin');
    await submit().click();
    const dialog = tab.page.getByRole('dialog');
    await dialog.waitFor();
    await expectSound(tab, 'session-ended');
    await dialog.getByLabel('Password', { exact: true }).fill('wrong');
    await tab.page.keyboard.press('Enter');
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('Password', { exact: true }).fill('admin');
    await tab.page.keyboard.press('Enter');
    await saved();

    const body = await stored(login);
    expect(body.firstName).toBe('Carola');
  });

  it('offers to try again when the service cannot be reached', async () => {
    await field('lastName').fill('Offline');
    await tab.context.setOffline(true);
    await submit().click();
    await alert().waitFor();
    expect(await alert().innerText()).toContain('cannot be reached');
    await tab.context.setOffline(false);
    expect(await field('lastName').inputValue()).toBe('Offline');
    await submit().click();
    await saved();
  });

  it('shows whose change came between, and saves the choice of each field', async () => {
    const body = await stored(login);
    await field('firstName').fill('Mine');
    await field('lastName').fill('Mine');
    const theirs = { ...body, firstName: 'Theirs', authorities: ['ROLE_ANALYST'] };
    await change(theirs);
    await submit().click();
    const dialog = tab.page.getByRole('dialog');
    await dialog.getByText('admin saved a change').waitFor();
    await expectSound(tab, 'conflict');
    await dialog.getByLabel('Theirs: Theirs').check();
    await inDialog('Save the chosen values').click();
    await saved();

    expect(await stored(login)).toMatchObject({
      firstName: 'Theirs',
      lastName: 'Mine',
      authorities: ['ROLE_ANALYST'],
    });
    expect(await field('firstName').inputValue()).toBe('Theirs');
  });

  it('saves without a question when the other change is of nothing in the form', async () => {
    const body = await stored(login);
    await change({ ...body, activated: false });
    await field('lastName').fill('Again');
    await submit().click();
    await saved();

    expect(await stored(login)).toMatchObject({ lastName: 'Again', activated: false });
  });

  it('deactivates after the change of somebody else, which no later save overwrites', async () => {
    const body = await stored(login);
    const theirs = { ...body, firstName: 'Newer', activated: true };
    await change(theirs);
    await tab.page.reload();
    await field('lastName').fill('Last');
    const other = { ...theirs, firstName: 'Newest' };
    await change(other);
    await button('Deactivate carol').click();
    await inDialog('Deactivate carol').click();
    await tab.page.getByText('A change was saved after you opened this page.').waitFor();
    const deactivated = await stored(login);
    await submit().click();
    await inDialog('Save the chosen values').click();
    await saved();

    expect(deactivated).toMatchObject({ firstName: 'Newest', activated: false });
    const both = { firstName: 'Newest', lastName: 'Last', activated: false };
    expect(await stored(login)).toMatchObject(both);
  });
});

describe('what files manage', () => {
  let tapId: number;
  beforeAll(async () => {
    const secret = { name: 'TAP_KEY', version: 3 };
    const parameters = [
      { confName: 'host', confValue: 'a' },
      { confName: 'key', secret },
    ];
    const files = {
      set: 'company',
      users: [{ login: 'managed', email: 'managed@example.com', authorities: ['ROLE_USER'] }],
      integrations: [{ name: 'Managed', shortName: 'tap', integrationType: 'API', parameters }],
    };
    const { body: plan } = await gatehouse.call('POST', '/api/plan', { token, body: files });
    const applied = await gatehouse.call('POST', '/api/apply', {
      token,
      body: { ...files, values: { TAP_KEY: 'x' } },
      headers: { 'If-Match': `"${plan.digest}"` },
    });
    expect(applied.body).toMatchObject({ applied: 4, rest: null });
    const found = await gatehouse.call('GET', '/api/utm-integrations?name.contains=Managed', {
      token,
    });
    tapId = found.body[0].id;
  });
  const question = () => tab.page.getByText('The files of “company” will undo this');

  it('asks once before a form changes a user, and keeps what was typed', async () => {
    await tab.page.goto('/console/users/managed');
    await tab.page.getByText('Managed by the files “company”').waitFor();
    await field('firstName').fill('Typed');
    await submit().click();
    await question().waitFor();
    await expectSound(tab, 'managed-question');
    await inDialog('Cancel').click();
    expect(await field('firstName').inputValue()).toBe('Typed');
    expect((await stored('managed')).firstName).toBe(null);
    await submit().click();
    await inDialog('Change by hand').click();
    await saved();
    await field('lastName').fill('Again');
    await submit().click();
    await saved();
    await button('Deactivate managed').click();
    await question().waitFor();

    expect(await stored('managed')).toMatchObject({ firstName: 'Typed', lastName: 'Again' });
  });

  it('asks once before parameters are saved together, and before many users change', async () => {
    await tab.page.goto(`/console/integrations/${tapId}`);
    await tab.page.getByText('version 3 of TAP_KEY').waitFor();
    await describeParameter('host', 'By hand');
    await describeParameter('key', 'By hand');
    await button('Save 2 parameters').click();
    await inDialog('Change by hand').click();
    await tab.page.getByText('2 of 2 done.').waitFor();
    await button('Delete host').click();
    await tab.page.getByText('will create it again').waitFor();
    await tab.page.goto('/console/users?sort=id,desc');
    await tab.page.getByRole('checkbox', { name: 'Select managed' }).check();
    await button('Deactivate').click();
    await question().waitFor();
  });
});

it('passwords and codes can be pasted, and password managers know their fields', async () => {
  const { page } = await openTab();
  await page.goto('/console');
  await page.locator('[name=username]').fill('pasted text');
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.press('ControlOrMeta+C');
  await page.locator('[name=password]').focus();
  await page.keyboard.press('ControlOrMeta+V');
  const purposes = await page
    .locator('input')
    .evaluateAll((fields) =>
      fields.map((input) => [input.getAttribute('name'), input.getAttribute('autocomplete')]),
    );
  await page.goto('/console/set-password#key=x');
  await page.locator('[name=newPassword]').focus();
  await page.keyboard.press('ControlOrMeta+V');

  expect(await page.locator('[name=newPassword]').inputValue()).toBe('pasted text');
  expect(await page.locator('[name=newPassword]').getAttribute('autocomplete')).toBe(
    'new-password',
  );
  expect(Object.fromEntries(purposes)).toMatchObject({
    username: 'username',
    password: 'current-password',
  });
});

it('a deletion needs the name and returns the focus when it is cancelled', async () => {
  await tab.page.goto('/console/users/dave');
  const open = button('Delete dave');
  await open.click();
  await tab.page.keyboard.press('Escape');
  await expect.poll(() => focusedText(tab)).toBe('Delete dave');

  await open.click();
  const dialog = tab.page.getByRole('dialog');
  await dialog.getByRole('textbox').fill('carol');
  await tab.page.keyboard.press('Enter');
  await dialog.getByRole('alert').waitFor();
  await dialog.getByRole('textbox').fill('dave');
  // The error takes the focus, at the latest now.
  await dialog.getByRole('textbox').press('Enter');
  await tab.page.getByText('dave is deleted.').waitFor();
  await expect.poll(() => focusedText(tab)).toBe('Users');
});

it('the last administrator is explained, with a way to the administrators', async () => {
  await tab.page.goto('/console/users/admin');
  await button('Deactivate admin').click();
  await inDialog('Deactivate admin').click();
  await tab.page.getByRole('link', { name: 'Show the administrators' }).waitFor();
});

describe('a list', () => {
  it('has its state in the address, so that Back and a reload show the same', async () => {
    await tab.page.goto('/console/users?size=2');
    await tab.page.getByRole('link', { name: 'Next page' }).click();
    await tab.page.getByRole('link', { name: 'Previous page' }).waitFor();
    const search = tab.page.getByRole('textbox', { name: 'Find by login' });
    await search.fill('a');
    await search.press('Enter');
    await tab.page.getByRole('link', { name: /Remove the filter/ }).waitFor();
    expect(new URL(tab.page.url()).search).toBe('?size=2&text.contains=a');
    await tab.page.getByRole('link', { name: 'Login', exact: true }).click();
    await tab.page.locator('[aria-sort=ascending]').waitFor();
    await tab.page.reload();
    await tab.page.locator('th[aria-sort=ascending]', { hasText: 'Login' }).waitFor();
    expect(await search.inputValue()).toBe('a');
    await tab.page.goBack();
    await tab.page.goBack();
    await tab.page.getByRole('link', { name: 'Previous page' }).waitFor();
    expect(await search.inputValue()).toBe('');
  });

  it('is downloaded as CSV', async () => {
    await tab.page.goto('/console/users?text.contains=carol');
    const [download] = await Promise.all([
      tab.page.waitForEvent('download'),
      button('CSV: download the list').click(),
    ]);
    const chunks = await (await download.createReadStream()).toArray();
    const text = Buffer.concat(chunks).toString();

    expect(download.suggestedFilename()).toBe('users.csv');
    expect(text).toMatch(/^\uFEFFid,login,[^\n]*\r\n\d+,carol,/);
    expect(text.trim().split('\r\n')).toHaveLength(2);
  });
});

it('a parameter is added, shown, edited and deleted where it stands', async () => {
  await tab.page.goto('/console/integrations/new');
  await tab.page.getByRole('textbox', { name: 'Name', exact: true }).fill('Firewall');
  await field('shortName').fill('fw');
  await tab.page.keyboard.press('Enter');
  await button('New parameter').click();
  await field('confName').fill('host');
  await field('confValue').fill('a.example.com');
  await button('Add the parameter').click();
  await tab.page.getByText('hidden', { exact: true }).waitFor();
  await expect.poll(() => focusedText(tab)).toBe('New parameter');
  await button('Edit host').click();
  await field('confValue').waitFor();
  await tab.page.keyboard.type('b.example.com');
  await tab.page.locator('.parameters button[type=submit]').click();
  await tab.page.getByText('Restart needed').waitFor();
  await expect.poll(() => focusedText(tab)).toBe('Show the value of host');
  await button('Show the value of host').click();
  await tab.page.getByText('b.example.com').waitFor();
  await button('Delete host').click();
  await inDialog('Delete host').click();
  await tab.page.getByText('This integration has no parameters.').waitFor();
  expect(tab.faults).toEqual([]);
});

const makeParameters = (integration: object, names: readonly string[]) =>
  Promise.all(
    names.map(async (confName) => {
      const body = { integration, confName, confValue: '1', secret: true };
      return (await gatehouse.call('POST', '/api/utm-integration-confs', { token, body })).body;
    }),
  );
const description = (name: string) =>
  tab.page.locator(`tr:has([value=${name}]) [name=confDescription]`);
const describeParameter = async (name: string, text: string) => {
  await button(`Edit ${name}`).click();
  await description(name).fill(text);
};

it('several parameters are saved at once, with a result for each', async () => {
  const { page } = tab;
  const integration = await makeTap();
  const [, theirs] = await makeParameters(integration, ['accepted', 'changed', 'refused']);
  await page.goto(`/console/integrations/${integration.id}`);
  const row = (name: string) => page.locator('.parameters tbody tr').filter({ hasText: name });
  await describeParameter('accepted', 'Mine');
  await describeParameter('changed', 'Mine');
  await describeParameter('refused', 'x'.repeat(1001));
  const put = { ...theirs, confDescription: 'Theirs' };
  await gatehouse.call('PUT', '/api/utm-integration-confs', { token, body: put });
  const released = Promise.withResolvers<void>();
  await page.route('**/api/utm-integration-confs', async (route) => {
    if (route.request().postDataJSON().confName === 'refused') await released.promise;
    await route.continue();
  });
  // Its save is under way when all are saved.
  await description('refused').press('Enter');
  await page.getByRole('button', { name: 'Save 3 parameters' }).press('Enter');
  await row('accepted').getByText('done').waitFor();
  released.resolve();
  await page.getByText('1 of 3 done.').waitFor();
  await page.unroute('**/api/utm-integration-confs');

  await row('accepted').getByText('done').waitFor();
  const alerts = page.locator('.parameters [role=alert]');
  await expect
    .poll(() => alerts.allInnerTexts())
    .toEqual([
      expect.stringContaining('Somebody else has changed it'),
      expect.stringContaining('Between 0 and 1000 characters.'),
    ]);
  await expect.poll(() => focusedText(tab)).toContain('Somebody else');
  await expectSound(tab, 'parameter-results');
  await description('refused').fill('Shorter');
  await page.getByRole('button', { name: 'Choose what to keep' }).click();
  await page.getByRole('button', { name: 'Save the chosen values' }).click();
  await page.locator('tr:has([value=refused]) [type=submit]').click();
  await page.getByRole('button', { name: 'Edit refused' }).waitFor();

  const list = `/api/utm-integration-confs?integrationId.equals=${integration.id}&sort=confName`;
  const { body } = await gatehouse.call('GET', list, { token });
  expect(body.map(({ confDescription }: typeof theirs) => confDescription)).toEqual([
    'Mine',
    'Mine',
    'Shorter',
  ]);
});

it('does not count a parameter as done whose change was discarded before its turn', async () => {
  const { page } = tab;
  const integration = await makeTap();
  await makeParameters(integration, ['accepted', 'discarded']);
  await page.goto(`/console/integrations/${integration.id}`);
  await describeParameter('accepted', 'Mine');
  await describeParameter('discarded', 'Mine');
  const limited = page.waitForResponse((response) => response.status() === 429);
  await page.route('**/api/utm-integration-confs', (route) =>
    route.request().postDataJSON().confName === 'discarded'
      ? route.fulfill({ status: 429, headers: { 'Retry-After': '2' }, json: {} })
      : route.continue(),
  );
  await button('Save 2 parameters').click();
  await limited;
  const row = page.locator('tr:has([value=discarded])');
  // The list is loaded again at the end.
  const ended = page.waitForResponse(/utm-integration-confs\?integrationId/);
  await row.getByRole('button', { name: 'Discard' }).click();
  await ended;
  await tab.settle();
  await page.unroute('**/api/utm-integration-confs');

  expect(await page.getByText(/of 2 done/).innerText()).toBe('1 of 2 done.');
});

it('compares a parameter on demand again after the own change was discarded', async () => {
  const { page } = tab;
  const integration = await makeTap();
  const [made] = await makeParameters(integration, ['host']);
  await page.goto(`/console/integrations/${integration.id}`);
  const collide = async (text: string) => {
    const body = { ...made, confDescription: text };
    await gatehouse.call('PUT', '/api/utm-integration-confs', { token, body });
    await description('host').fill('Mine');
    await description('host').press('Enter');
    await button('Choose what to keep').waitFor();
  };
  await button('Edit host').click();
  await description('host').waitFor();
  await collide('Theirs');
  await button('Choose what to keep').click();
  await inDialog('Discard my change').click();
  await collide('Theirs again');
  await tab.settle();

  expect(await page.getByRole('dialog').count()).toBe(0);
});

it('a module gets a credential, whose secret is shown once, and is followed', async () => {
  const integration = await makeTap();
  const { page } = tab;
  await page.goto(`/console/integrations/${integration.id}`);
  await page.getByText('No module has asked').waitFor();
  const create = 'Create a credential for the module of Tap';
  await button(create).click();
  await inDialog(create).click();
  await page.getByText('it is not shown again').waitFor();
  const [clientId = '', secret = ''] = await page.locator('.notice code').allInnerTexts();
  await expectSound(tab, 'credential');
  // Changes move the number that is wanted, and the secret stays until the page is left.
  const wanted = (number: string) =>
    page.locator('dt:has-text("Wanted configuration") + dd', { hasText: number }).waitFor();
  await wanted('1');
  await button('New parameter').click();
  await field('confName').fill('host');
  await field('confValue').fill('10.0.0.1');
  await button('Add the parameter').click();
  await wanted('2');
  await button('Edit host').click();
  await field('confValue').fill('10.0.0.2');
  await page.locator('.parameters button[type=submit]').click();
  await wanted('3');
  expect(await page.locator('.notice code').allInnerTexts()).toEqual([clientId, secret]);
  const exchanged = await gatehouse.call('POST', '/api/oauth2/token', {
    body: { grant_type: 'client_credentials', client_id: clientId, client_secret: secret },
  });
  const poll = (running: string) =>
    gatehouse.call('GET', `/api/utm-integrations/${integration.id}/module`, {
      token: exchanged.body.access_token,
      headers: { 'Gatehouse-Running': running },
    });
  await poll('0;failed=3');
  await page.reload();
  await page.getByText('could not apply 3 and still runs 0').waitFor();
  expect(await page.locator('main').innerText()).not.toContain(secret);
  await page.goto('/console/modules?progress.equals=failed');
  await page.getByRole('link', { name: 'Tap' }).click();
  await button(`Revoke ${clientId}`).click();
  await inDialog(`Revoke ${clientId}`).click();
  await page.getByText('The module has no credential.').waitFor();

  expect((await poll('1')).status).toBe(401);
  expect(tab.faults).toEqual([]);
});

it('the credential of a module is exchanged, and a reload loses no step', async () => {
  const integration = await makeTap();
  const path = `/api/utm-integrations/${integration.id}/credentials`;
  const { body: created } = await gatehouse.call('POST', path, { token, body: {} });
  const former = created.clientId as string;
  const { page } = tab;
  const dialog = page.getByRole('dialog');
  const open = (name: string) => page.getByRole('button', { name, exact: true }).press('Enter');
  const confirm = (name: string) => dialog.getByRole('button', { name }).press('Enter');
  await page.goto(`/console/integrations/${integration.id}`);
  await open(`Exchange ${former}`);
  await confirm(`Exchange ${former}`);
  await expect.poll(() => focusedText(tab)).toContain('it is not shown again');
  const [newer = '', secret = ''] = await page.locator('.notice code').allInnerTexts();
  await page.getByText(`revoke ${former} as soon as it has`).waitFor();
  await expectSound(tab, 'exchange');

  await page.reload();
  await page.getByText(`Enter ${newer} and its secret at the module`).waitFor();
  for (const clientId of [former, newer]) {
    const again = page.getByRole('button', { name: `Exchange ${clientId}`, disabled: true });
    await again.press('Enter');
    const reason = await again.getAttribute('aria-describedby');
    expect(await page.locator(`[id="${reason}"]`).innerText()).toContain('at most two credentials');
  }
  expect(await dialog.count()).toBe(0);
  const revoke = `Revoke the former credential ${former}`;
  await open(revoke);
  await dialog.getByText(`${newer} has not been used yet`).waitFor();
  await page.keyboard.press('Escape');
  await expect.poll(() => focusedText(tab)).toBe(revoke);

  const grant = { grant_type: 'client_credentials', client_id: newer, client_secret: secret };
  expect((await gatehouse.call('POST', '/api/oauth2/token', { body: grant })).status).toBe(200);
  await open('Load the list again');
  await page.getByText(`${newer} has been used. Revoke ${former} now.`).waitFor();
  await open(revoke);
  expect(await dialog.innerText()).not.toContain('has not been used yet');
  await confirm(revoke);
  await page.getByText(`${former} is revoked.`).waitFor();
  await page.getByRole('button', { name: `Exchange ${newer}`, disabled: false }).waitFor();
  await expect.poll(() => focusedText(tab)).toBe(`Exchange ${newer}`);

  const { body: left } = await gatehouse.call('GET', path, { token });
  expect(left).toMatchObject([{ clientId: newer }]);
  expect(tab.faults).toEqual([]);
});

it('a module gets a credential without a secret, by what its platform states', async () => {
  const { id } = await makeTap();
  const { issuer, audience } = testProvider().moduleIssuer;
  const { page } = tab;
  const create = 'Create a credential for the module of Tap';
  await page.goto(`/console/integrations/${id}`);
  await button(create).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('The secret is shown once').waitFor();
  await dialog.locator('select').selectOption(issuer);
  await dialog.getByText(audience).waitFor();
  await inDialog(create).click();
  await expect.poll(() => focusedText(tab)).toContain('Subject:');
  await expectSound(tab, 'identity');
  await dialog.locator('[name=identity]').fill('system:serviceaccount:taps:tap');
  await inDialog(create).click();
  await page.getByText('as its client id').waitFor();
  await page.getByRole('cell', { name: 'system:serviceaccount:taps:tap' }).waitFor();

  const path = `/api/utm-integrations/${id}/credentials`;
  const { body: listed } = await gatehouse.call('GET', path, { token });
  expect(listed).toMatchObject([
    { identity: { issuer, subject: 'system:serviceaccount:taps:tap', audience } },
  ]);
  expect(tab.faults).toEqual([]);
});

it('a secret is replaced or kept, and shown to nobody', async () => {
  const integration = await makeTap();
  const { page } = tab;
  await page.goto(`/console/integrations/${integration.id}`);
  await button('New parameter').click();
  await field('confName').fill('key');
  await field('confValue').fill('write-only');
  await field('secret').check();
  await button('Add the parameter').click();
  await button('Edit key').click();
  expect(await field('confValue').inputValue()).toBe('');
  await field('confDescription').fill('Kept');
  await page.locator('.parameters button[type=submit]').click();
  await page.getByText('Kept').waitFor();
  await button('Edit key').click();
  await field('confValue').fill(' ');
  await page.locator('.parameters button[type=submit]').click();
  await page.getByRole('link', { name: /^Value: / }).waitFor();

  expect(await button('Show the value of key').count()).toBe(0);
  const { body } = await gatehouse.call(
    'GET',
    `/api/utm-integration-confs?integrationId.equals=${integration.id}`,
    { token },
  );
  expect(body).toMatchObject([{ confValue: '********', secret: true, confDescription: 'Kept' }]);
});

it('says what it waits for on a slow network, and what a failing service means', async () => {
  const { page } = tab;
  let isFailing = false;
  const { promise: waiting, resolve: respond } = Promise.withResolvers<void>();
  await page.route('**/api/utm-integrations?*', async (route) => {
    await waiting;
    await (isFailing ? route.fulfill({ status: 502, body: 'Bad gateway' }) : route.continue());
  });
  await page.goto('/console/integrations?size=5');
  await page.getByText('Loading').waitFor();
  respond();
  await page.getByRole('link', { name: 'Tap' }).first().waitFor();
  isFailing = true;
  await page.goto('/console/integrations?size=6');
  await page.locator('main [role=alert]').waitFor();
  isFailing = false;
  await button('Try again').click();
  await page.getByRole('link', { name: 'Tap' }).first().waitFor();
  await page.unroute('**/api/utm-integrations?*');
});
