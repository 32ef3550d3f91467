import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { useConsole } from '../../support/browser/chromium.ts';
import { testProvider } from '../../support/instance/provider.ts';

/* Nothing that was typed is lost, and the focus is where the next step is. */

const { gatehouse, send, openTab } = await useConsole();
const tab = await openTab({ login: 'admin' });
const { page, settle, press, dialog, button, link, field, confirm } = tab;
const { see, seeHeading, focused, expectSound } = tab;

beforeAll(async () => {
  await gatehouse.makeUser('carol', { firstName: 'Carol' });
  await gatehouse.makeUser('dave');
});

const INTEGRATIONS = '/api/utm-integrations';
const PARAMETERS = '/api/utm-integration-confs';
const submit = () => page.locator('main form button[type=submit]').first();
const inDialog = (name: string) => dialog.getByRole('button', { name });
const saved = () => see('Saved.');
const stored = (login: string) => send('GET', `/api/users/${login}`);
const change = (body: object) => send('PUT', '/api/users', body);
const makeTap = () =>
  send('POST', INTEGRATIONS, { name: 'Tap', shortName: 'tap', integrationType: 'API' });
const alert = () => page.locator('main form [role=alert]');

describe('the form of a user', () => {
  const login = 'carol';
  beforeEach(async () => {
    await page.goto(`/console/users/${login}`);
    await submit().waitFor();
  });

  it('keeps what was typed when it is refused, and leads to the field', async () => {
    await field('firstName').fill('Caroline');
    await field('email').fill('not an address');
    await press('Enter');
    await alert().waitFor();

    await expect.poll(focused).toContain('E-mail address:');
    expect(await field('firstName').inputValue()).toBe('Caroline');
    expect(await field('email').inputValue()).toBe('not an address');
    expect(await field('email').getAttribute('aria-invalid')).toBe('true');
    await expectSound('refused-user');
    await alert().locator('a').click();
    expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('email');
  });

  it('asks before unsaved changes are left by a link or Back, and stays', async () => {
    await field('firstName').fill('Caroline');
    await link('About').click();
    await button('Stay').click();
    expect(await field('firstName').inputValue()).toBe('Caroline');
    await expect.poll(focused).toBe('About');

    await link('About').click();
    await button('Leave').click();
    await seeHeading('About');
    await expect.poll(focused).toBe('About');

    await link('Own account').click();
    await field('firstName').fill('Other');
    await page.goBack();
    await button('Leave').click();
    await seeHeading('About');
  });

  it('goes on with the request when the session has ended and the password is given', async () => {
    await field('firstName').fill('Carola');
    // A request that is still under way would open the dialog before the click.
    await settle();
    await send('POST', '/api/account/end-other-sessions');
    await submit().click();
    await dialog.waitFor();
    await expectSound('session-ended');
    const password = dialog.getByLabel('Password', { exact: true });
    await password.fill('wrong');
    await password.press('Enter');
    await expect.poll(focused).toContain('That did not work');
    await password.fill('admin');
    await password.press('Enter');
    await saved();

    expect(await stored(login)).toMatchObject({ firstName: 'Carola' });
  });

  it('shows whose change came between, and saves the choice of each field', async () => {
    const body = await stored(login);
    await field('firstName').fill('Mine');
    await field('lastName').fill('Mine');
    await change({ ...body, firstName: 'Theirs', authorities: ['ROLE_ANALYST'] });
    await submit().click();
    await dialog.getByText('admin saved a change').waitFor();
    await expectSound('conflict');
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

  it('asks again when the other change is taken back while it is compared', async () => {
    const body = await stored(login);
    await field('firstName').fill('Mine');
    await change({ ...body, firstName: 'Others' });
    await submit().click();
    await dialog.getByLabel('Theirs: Others').check();
    await change(body);
    await inDialog('Save the chosen values').click();
    await dialog.getByLabel(`Theirs: ${body.firstName}`).waitFor();

    expect(await stored(login)).toMatchObject({ firstName: body.firstName });
    await inDialog('Discard my change').click();
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
    await page.reload();
    await field('lastName').fill('Last');
    await change({ ...theirs, firstName: 'Newest' });
    await confirm('Deactivate carol');
    await see('A change was saved after you opened this page.');
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
    const { digest } = await send('POST', '/api/plan', files);
    const applied = await gatehouse.call('POST', '/api/apply', {
      token: await gatehouse.adminToken(),
      body: { ...files, values: { TAP_KEY: 'x' } },
      headers: { 'If-Match': `"${digest}"` },
    });
    expect(applied.body).toMatchObject({ applied: 4, rest: null });
    const [found] = await send('GET', `${INTEGRATIONS}?name.contains=Managed`);
    tapId = found.id;
  });
  const question = () => page.getByText('The files of “company” will undo this');

  it('asks once before a form changes a user, and keeps what was typed', async () => {
    await page.goto('/console/users/managed');
    await see('Managed by the files “company”');
    await field('firstName').fill('Typed');
    await submit().click();
    await question().waitFor();
    await expectSound('managed-question');
    await inDialog('Cancel').click();
    expect(await field('firstName').inputValue()).toBe('Typed');
    expect(await stored('managed')).toMatchObject({ firstName: null });
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
    await page.goto(`/console/integrations/${tapId}`);
    await see('version 3 of TAP_KEY');
    await describeParameter('host', 'By hand');
    await describeParameter('key', 'By hand');
    await button('Save 2 parameters').click();
    await inDialog('Change by hand').click();
    await see('2 of 2 done.');
    await button('Delete host').click();
    await see('will create it again');
    await page.goto('/console/users?sort=id,desc');
    await page.getByRole('checkbox', { name: 'Select managed' }).check();
    await button('Deactivate').click();
    await question().waitFor();
  });
});

it('passwords and codes can be pasted, and password managers know their fields', async () => {
  const { page, press, field, button, see } = await openTab();
  const purposeOf = (name: string) => field(name).getAttribute('autocomplete');
  await page.goto('/console');
  await field('username').fill('pasted text');
  await press('ControlOrMeta+A');
  await press('ControlOrMeta+C');
  await field('password').focus();
  await press('ControlOrMeta+V');

  expect(await field('password').inputValue()).toBe('pasted text');
  expect(await purposeOf('username')).toBe('username');
  expect(await purposeOf('password')).toBe('current-password');

  await page.goto('/console/set-password#key=x&login=anna+1');
  await see('This is the password of anna+1.');
  await page.getByLabel('New password', { exact: true }).focus();
  await press('ControlOrMeta+V');
  await button('Show New password').click();

  expect(await field('newPassword').inputValue()).toBe('pasted text');
  expect(await field('newPassword').getAttribute('type')).toBe('text');
  expect(await purposeOf('newPassword')).toBe('new-password');
  expect(await page.locator('[autocomplete=username]').inputValue()).toBe('anna+1');
});

it('a deletion needs the name and returns the focus when it is cancelled', async () => {
  await page.goto('/console/users/dave');
  const open = button('Delete dave');
  await open.click();
  await press('Escape');
  await expect.poll(focused).toBe('Delete dave');

  await open.click();
  await dialog.getByRole('textbox').fill('carol');
  await press('Enter');
  await expect.poll(focused).toContain('That did not work');
  await dialog.getByRole('textbox').fill('dave');
  await dialog.getByRole('textbox').press('Enter');
  await see('dave is deleted.');
  await expect.poll(focused).toBe('Users');
});

it('the last administrator is explained, with a way to the administrators', async () => {
  await page.goto('/console/users/admin');
  await confirm('Deactivate admin');
  await link('Show the administrators').waitFor();
});

describe('a list', () => {
  it('has its state in the address, so that Back and a reload show the same', async () => {
    await page.goto('/console/users?size=2');
    await link('Next page').click();
    await link('Previous page').waitFor();
    const search = page.getByRole('textbox', { name: 'Find by login' });
    await search.fill('a');
    await search.press('Enter');
    await link(/Remove the filter/).waitFor();
    expect(new URL(page.url()).search).toBe('?size=2&text.contains=a');
    await link(/^Login$/).click();
    await page.locator('[aria-sort=ascending]').waitFor();
    await page.reload();
    await page.locator('th[aria-sort=ascending]', { hasText: 'Login' }).waitFor();
    expect(await search.inputValue()).toBe('a');
    await page.goBack();
    await page.goBack();
    await link('Previous page').waitFor();
    expect(await search.inputValue()).toBe('');
  });

  it('is downloaded as CSV', async () => {
    await page.goto('/console/users?text.contains=carol');
    const downloaded = page.waitForEvent('download');
    await button('CSV: download the list').click();
    const download = await downloaded;
    const chunks = await (await download.createReadStream()).toArray();
    const text = Buffer.concat(chunks).toString();

    expect(download.suggestedFilename()).toBe('users.csv');
    expect(text).toMatch(/^\uFEFFid,login,[^\n]*\r\n\d+,carol,/);
    expect(text.trim().split('\r\n')).toHaveLength(2);
  });
});

const makeParameters = (integration: object, names: readonly string[]) =>
  Promise.all(
    names.map((confName) =>
      send('POST', PARAMETERS, { integration, confName, confValue: '1', secret: true }),
    ),
  );
const description = (name: string) =>
  page.locator(`tr:has([value=${name}]) [name=confDescription]`);
const saveParameter = () => page.locator('.parameters button[type=submit]').click();
const describeParameter = async (name: string, text: string) => {
  await button(`Edit ${name}`).click();
  await description(name).fill(text);
};

it('several parameters are saved at once, with a result for each', async () => {
  const integration = await makeTap();
  const [, theirs] = await makeParameters(integration, ['accepted', 'changed', 'refused']);
  await page.goto(`/console/integrations/${integration.id}`);
  const row = (name: string) => page.locator('.parameters tbody tr').filter({ hasText: name });
  await describeParameter('accepted', 'Mine');
  await describeParameter('changed', 'Mine');
  await describeParameter('refused', 'x'.repeat(1001));
  await send('PUT', PARAMETERS, { ...theirs, confDescription: 'Theirs' });
  const released = Promise.withResolvers<void>();
  await page.route(`**${PARAMETERS}`, async (route) => {
    if (route.request().postDataJSON().confName === 'refused') await released.promise;
    await route.continue();
  });
  // Its save is under way when all are saved.
  await description('refused').press('Enter');
  await button('Save 3 parameters').press('Enter');
  await row('accepted').getByText('done').waitFor();
  released.resolve();
  await see('1 of 3 done.');
  await page.unroute(`**${PARAMETERS}`);

  const alerts = page.locator('.parameters [role=alert]');
  await expect
    .poll(() => alerts.allInnerTexts())
    .toEqual([
      expect.stringContaining('Somebody else has changed it'),
      expect.stringContaining('Between 0 and 1000 characters.'),
    ]);
  await expect.poll(focused).toContain('Somebody else');
  await expectSound('parameter-results');
  await description('refused').fill('Shorter');
  await button('Choose what to keep').click();
  await button('Save the chosen values').click();
  await page.locator('tr:has([value=refused]) [type=submit]').click();
  await button('Edit refused').waitFor();

  const list = `${PARAMETERS}?integrationId.equals=${integration.id}&sort=confName`;
  expect(await send('GET', list)).toMatchObject(
    ['Mine', 'Mine', 'Shorter'].map((confDescription) => ({ confDescription })),
  );
});

it('does not count a parameter as done whose change was discarded before its turn', async () => {
  const integration = await makeTap();
  await makeParameters(integration, ['accepted', 'discarded']);
  await page.goto(`/console/integrations/${integration.id}`);
  await describeParameter('accepted', 'Mine');
  await describeParameter('discarded', 'Mine');
  const limited = page.waitForResponse((response) => response.status() === 429);
  await page.route(`**${PARAMETERS}`, (route) =>
    route.request().postDataJSON().confName === 'discarded'
      ? route.fulfill({ status: 429, headers: { 'Retry-After': '2' }, json: {} })
      : route.continue(),
  );
  await button('Save 2 parameters').click();
  await limited;
  // The list is loaded again at the end.
  const ended = page.waitForResponse(/utm-integration-confs\?integrationId/);
  await page.locator('tr:has([value=discarded])').getByRole('button', { name: 'Discard' }).click();
  await ended;
  await settle();
  await page.unroute(`**${PARAMETERS}`);

  expect(await page.getByText(/of 2 done/).innerText()).toBe('1 of 2 done.');
});

it('compares a parameter on demand again after the own change was discarded', async () => {
  const integration = await makeTap();
  const [made] = await makeParameters(integration, ['host']);
  await page.goto(`/console/integrations/${integration.id}`);
  const collide = async (text: string) => {
    await send('PUT', PARAMETERS, { ...made, confDescription: text });
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
  await settle();

  expect(await dialog.count()).toBe(0);
});

it('a module gets a secret, shown once while its parameters change, and is followed', async () => {
  const integration = await makeTap();
  await page.goto(`/console/integrations/${integration.id}`);
  await see('No module has asked');
  await confirm('Create a credential for the module of Tap');
  await see('it is not shown again');
  const [clientId = '', secret = ''] = await page.locator('.notice code').allInnerTexts();
  await expectSound('credential');
  const wanted = (number: string) =>
    page.locator('dt:has-text("Wanted configuration") + dd', { hasText: number }).waitFor();
  await wanted('1');
  await button('New parameter').click();
  await field('confName').fill('host');
  await field('confValue').fill('10.0.0.1');
  await button('Add the parameter').click();
  await see(/^hidden$/);
  await expect.poll(focused).toBe('New parameter');
  await wanted('2');
  await button('Edit host').click();
  await field('confValue').waitFor();
  await page.keyboard.type('10.0.0.2');
  await saveParameter();
  await see('Restart needed');
  await expect.poll(focused).toBe('Show the value of host');
  await button('Show the value of host').click();
  await see('10.0.0.2');
  await wanted('3');
  await confirm('Delete host');
  await see('This integration has no parameters.');
  await wanted('4');
  await link('About').click();
  await button('Stay').click();
  expect(await page.locator('.notice code').allInnerTexts()).toEqual([clientId, secret]);
  await button('I have entered it').click();
  await link('About').click();
  await seeHeading('About');

  const exchanged = await gatehouse.call('POST', '/api/oauth2/token', {
    body: { grant_type: 'client_credentials', client_id: clientId, client_secret: secret },
  });
  const poll = (running: string) =>
    gatehouse.call('GET', `${INTEGRATIONS}/${integration.id}/module`, {
      token: exchanged.body.access_token,
      headers: { 'Gatehouse-Running': running },
    });
  await poll('0;failed=4');
  await page.goto(`/console/integrations/${integration.id}`);
  await see('could not apply 4 and still runs 0');
  expect(await page.locator('main').innerText()).not.toContain(secret);
  await page.goto('/console/modules?progress.equals=failed');
  await link('Tap').click();
  await confirm(`Revoke ${clientId}`);
  await see('The module has no credential.');

  expect((await poll('1')).status).toBe(401);
});

it('the credential of a module is exchanged, and a reload loses no step', async () => {
  const integration = await makeTap();
  const path = `${INTEGRATIONS}/${integration.id}/credentials`;
  const { clientId: former } = await send('POST', path, {});
  const open = (name: string) => page.getByRole('button', { name, exact: true }).press('Enter');
  const agree = (name: string) => inDialog(name).press('Enter');
  await page.goto(`/console/integrations/${integration.id}`);
  await open(`Exchange ${former}`);
  await agree(`Exchange ${former}`);
  await expect.poll(focused).toContain('it is not shown again');
  const [newer = '', secret = ''] = await page.locator('.notice code').allInnerTexts();
  await see(`revoke ${former} as soon as it has`);
  await expectSound('exchange');

  await page.reload();
  await see(`Enter ${newer} and its secret at the module`);
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
  await press('Escape');
  await expect.poll(focused).toBe(revoke);

  const grant = { grant_type: 'client_credentials', client_id: newer, client_secret: secret };
  expect((await gatehouse.call('POST', '/api/oauth2/token', { body: grant })).status).toBe(200);
  await open('Load the list again');
  await see(`${newer} has been used. Revoke ${former} now.`);
  await open(revoke);
  expect(await dialog.innerText()).not.toContain('has not been used yet');
  await agree(revoke);
  await see(`${former} is revoked.`);
  await page.getByRole('button', { name: `Exchange ${newer}`, disabled: false }).waitFor();
  await expect.poll(focused).toBe(`Exchange ${newer}`);

  expect(await send('GET', path)).toMatchObject([{ clientId: newer }]);
});

it('a module gets a credential without a secret, by what its platform states', async () => {
  const { id } = await makeTap();
  const { issuer, audience } = testProvider().moduleIssuer;
  const create = 'Create a credential for the module of Tap';
  await page.goto(`/console/integrations/${id}`);
  await button(create).click();
  await dialog.getByText('The secret is shown once').waitFor();
  await dialog.locator('select').selectOption(issuer);
  await dialog.getByText(audience).waitFor();
  await inDialog(create).click();
  await expect.poll(focused).toContain('Subject:');
  await expectSound('identity');
  await dialog.locator('[name=identity]').fill('system:serviceaccount:taps:tap');
  await inDialog(create).click();
  await see('as its client id');
  await page.getByRole('cell', { name: 'system:serviceaccount:taps:tap' }).waitFor();

  expect(await send('GET', `${INTEGRATIONS}/${id}/credentials`)).toMatchObject([
    { identity: { issuer, subject: 'system:serviceaccount:taps:tap', audience } },
  ]);
});

it('a secret is replaced or kept, and shown to nobody', async () => {
  const integration = await makeTap();
  await page.goto(`/console/integrations/${integration.id}`);
  await button('New parameter').click();
  await field('confName').fill('key');
  await field('confValue').fill('write-only');
  await field('secret').check();
  await button('Add the parameter').click();
  await button('Edit key').click();
  expect(await field('confValue').inputValue()).toBe('');
  await field('confDescription').fill('Kept');
  await saveParameter();
  await see('Kept');
  await button('Edit key').click();
  await field('confValue').fill(' ');
  await saveParameter();
  await link(/^Value: /).waitFor();

  expect(await button('Show the value of key').count()).toBe(0);
  const list = `${PARAMETERS}?integrationId.equals=${integration.id}`;
  expect(await send('GET', list)).toMatchObject([
    { confValue: '********', secret: true, confDescription: 'Kept' },
  ]);
});

it('says what it waits for on a slow network, and what a failing service means', async () => {
  let isFailing = false;
  const { promise: waiting, resolve: respond } = Promise.withResolvers<void>();
  await page.route('**/api/utm-integrations?*', async (route) => {
    await waiting;
    await (isFailing ? route.fulfill({ status: 502, body: 'Bad gateway' }) : route.continue());
  });
  await page.goto('/console/integrations?size=5');
  await see('Loading');
  respond();
  await link('Tap').first().waitFor();
  isFailing = true;
  await page.goto('/console/integrations?size=6');
  await page.locator('main [role=alert]').waitFor();
  isFailing = false;
  await button('Try again').click();
  await link('Tap').first().waitFor();
  await page.unroute('**/api/utm-integrations?*');
});
