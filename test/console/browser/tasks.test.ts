import { readFileSync } from 'node:fs';
import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { authenticator } from '../../../infra/commands/deploy/authenticator.ts';
import { type Tab, useConsole } from '../../support/browser/chromium.ts';

/*
 * How many actions the tasks of docs/console.md take, from the overview to the result: clicks with
 * the mouse, and presses of keys by keyboard. What is typed into a field does not count.
 */

const { gatehouse, send, openTab } = await useConsole();
type Hand = 'mouse' | 'keys';
type Role = Parameters<Page['getByRole']>[0];
/**
 * Each step is a word and its object. `go` uses the field of Ctrl K, and so does `page` by
 * keyboard; `find` leads to the field of a list by keyboard, and a mouse needs no filter; `rows`
 * selects from one row to another; `type` fills the field that has the focus, with a code of an
 * authenticator if it says CODE; `see` waits for a text. `field` is a field by its label; other
 * words are roles of controls whose names begin with the object.
 */
const TASKS = [
  {
    task: 'find a person by a piece of the address, and end the sessions',
    steps: 'go ann@HAND; button End all sessions and API tokens; see Ended.',
  },
  {
    task: 'deactivate five people',
    steps: `page Users; find HAND-; rows HAND-ann HAND-eva; button Deactivate; button Begin;
      see 5 of 5 done.`,
  },
  {
    task: 'see which modules fail, and why',
    steps: 'link 1 module fails; see No such host',
  },
  {
    task: 'see who made somebody an administrator, and when',
    steps: 'go HAND-tom; see admin changed the user; see Roles: + Administrator',
  },
  {
    task: 'invite a colleague',
    steps: `page Users; link New user; textbox Login; type HAND-new; textbox E-mail;
      type new@HAND.example.com; checkbox Analyst; button Create; see is created.`,
  },
  {
    task: 'find what happened from an address',
    steps: `page Audit trail; button \\w+ \\d; link Everything from; see Source: 127.0.0.1`,
  },
  {
    task: 'give somebody a role, and take it back',
    steps: `go HAND-tom; checkbox Analyst; button Save; see Saved.; checkbox Analyst;
      button Save; see Roles: − Analyst`,
  },
  {
    task: 'change three parameters of an integration',
    steps: `go Tap-HAND; button Edit host; type 1; button Edit path; type 2; button Edit port;
      type 3; button Save 3; see 3 of 3 done.`,
  },
  {
    task: 'exchange a credential, up to the revocation of the former one',
    steps: `go Tap-HAND; button Exchange; button Exchange; see it is not shown again;
      button Load the list; button Revoke the former; button Revoke; see is revoked.`,
  },
  {
    task: 'turn on the own second factor, up to the recovery codes',
    steps: `go Second factor; field Current password; type HAND; button Turn on;
      see Scan this code; type CODE; button Turn on; see Each of these codes`,
  },
];

/** The numbers of the table of tasks in docs/console.md. */
const DOCUMENT = readFileSync(new URL('../../../docs/console.md', import.meta.url), 'utf8');
const LIMITS = new Map(
  [...DOCUMENT.matchAll(/^\| (.+) \| (\d+) \| (\d+) \|$/gm)].map(([, task, mouse, keys]) => [
    task,
    { mouse: Number(mouse), keys: Number(keys) },
  ]),
);

it('does the tasks of docs/console.md', () => {
  expect([...LIMITS.keys()]).toEqual(TASKS.map(({ task }) => task));
});

const hasFocus = (control: Locator) =>
  control.evaluate((element) => element === document.activeElement);

/** Does the steps, and returns how many actions they took. */
async function countActions({ page, settle, press: pressKey }: Tab, hand: Hand, steps: string) {
  let actions = 0;
  await settle();
  const press = async (key: string) => {
    await pressKey(key);
    actions += 1;
  };
  const on = async (role: string, name: string) => {
    const scope = page.locator((await page.locator('dialog').count()) > 0 ? 'dialog' : 'body');
    const control = (
      role === 'field'
        ? scope.getByLabel(name, { exact: true })
        : scope.getByRole(role as Role, { name: new RegExp(`^${name}`) })
    ).first();
    await control.waitFor();
    if (hand === 'mouse') {
      actions += 1;
      return control.click();
    }
    // 4: the focus follows the control, so that the way back is the shorter one.
    const isBefore = await control.evaluate(
      (element) =>
        document.activeElement && element.compareDocumentPosition(document.activeElement) & 4,
    );
    while (!(await hasFocus(control))) await press(isBefore ? 'Shift+Tab' : 'Tab');
    if (role !== 'textbox' && role !== 'field')
      await press(role === 'checkbox' ? 'Space' : 'Enter');
  };
  const go = async (place: string) => {
    if (hand === 'mouse') await on('button', 'Go to');
    else await press('Control+k');
    await page.keyboard.type(place);
    await page.getByRole('option', { name: place.replace(/(\w+)@(\w+)/, '$2-$1') }).waitFor();
    if (hand === 'mouse') await on('option', '');
    else await press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  };
  const find = async (text: string) => {
    if (hand === 'mouse') return;
    await on('textbox', 'Find by');
    await page.keyboard.type(text);
    await press('Enter');
  };
  const selectRows = async (names: readonly string[]) => {
    for (const [index, name] of names.entries()) {
      const box = page.getByLabel(`Select ${name}`);
      const modifiers = index > 0 ? ['Shift' as const] : [];
      if (hand === 'keys') while (!(await hasFocus(box))) await press('ArrowDown');
      if (hand === 'keys') await press([...modifiers, 'Space'].join('+'));
      else await box.click({ modifiers });
      if (hand === 'mouse') actions += 1;
    }
  };
  const type = async (text: string) => {
    const secret = () => page.locator('main code').innerText();
    await page.keyboard.type(text === 'CODE' ? authenticator(await secret()).code() : text);
  };
  for (const step of steps.split(/;\s+/)) {
    const [kind = '', object = ''] = step.replaceAll('HAND', hand).split(/ (.*)/);
    if (kind === 'type') await type(object);
    else if (kind === 'find') await find(object);
    else if (kind === 'rows') await selectRows(object.split(' '));
    else if (kind === 'see') await page.getByText(object).first().waitFor();
    else if (kind === 'go' || (kind === 'page' && hand === 'keys')) await go(object);
    else await on(kind === 'page' ? 'link' : kind, object);
    await settle();
  }
  return actions;
}

const makeIntegration = (name: string) =>
  send('POST', '/api/utm-integrations', { name, shortName: 'x', integrationType: 'API' });

for (const hand of ['mouse', 'keys']) {
  await gatehouse.makeUser(hand, { authorities: ['ROLE_ADMIN'] });
  for (const name of ['ann', 'ben', 'cem', 'dea', 'eva', 'tom'])
    await gatehouse.makeUser(`${hand}-${name}`, { email: `${name}@${hand}.example.com` });
  await gatehouse.logIn(`${hand}-ann`);
  const tom = await send('GET', `/api/users/${hand}-tom`);
  await send('PUT', '/api/users', { ...tom, authorities: ['ROLE_ADMIN'] });
  const integration = await makeIntegration(`Tap-${hand}`);
  await send('POST', `/api/utm-integrations/${integration.id}/credentials`, {});
  for (const confName of ['host', 'path', 'port'])
    await send('POST', '/api/utm-integration-confs', { integration, confName, confValue: '0' });
}
const path = `/api/utm-integrations/${(await makeIntegration('Firewall')).id}`;
const { clientId, clientSecret } = await send('POST', `${path}/credentials`, {});
const grant = {
  grant_type: 'client_credentials',
  client_id: clientId,
  client_secret: clientSecret,
};
const { access_token: token } = await send('POST', '/api/oauth2/token', grant);
const report = { running: 0, failed: 1, reason: 'No such host' };
await gatehouse.call('POST', `${path}/module/report`, { token, body: report });
await send('POST', '/api/overview/count', {});

describe.each(['mouse', 'keys'] as const)('with %s', (hand) => {
  it.each(TASKS)('$task', async ({ task, steps }) => {
    const tab = await openTab({ login: hand });

    expect(await countActions(tab, hand, steps)).toBe(LIMITS.get(task)?.[hand]);
  });
});
