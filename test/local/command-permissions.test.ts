import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { actionsOf } from '../../infra/local/calls/actions.ts';
import type { AwsCall } from '../../infra/local/calls/aws-call.ts';
import { OPERATOR } from '../../infra/local/state/operator.ts';
import { commit } from '../../lib/table/change.ts';
import { totalKey } from '../../lib/table/item-kind.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { remove, set } from '../../lib/table/write.ts';
import { emailGuardKey, loginGuardKey, rosterKey } from '../../lib/users/user-items.ts';
import { runOnTable } from '../support/commands/run-command.ts';
import { integrationRecord, jsonLines, userRecord } from '../support/commands/transfer.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { INTEGRATION } from '../support/instance/integrations.ts';
import { createTable, itemsOf, restoreItems } from '../support/instance/items.ts';

/* The permissions in docs/commands.md are what each command needs, and nothing else. */

const ROOT = join(import.meta.dirname, '../..');
const DOCUMENT = readFileSync(join(ROOT, 'docs/commands.md'), 'utf8');

/** The actions that the table of permissions lists for a command. */
function documentedFor(command: string): string[] {
  const row = DOCUMENT.split('\n').find((line) =>
    line.startsWith(`| \`${command}\` | \`dynamodb:`),
  );
  return [...(row ?? '').matchAll(/`(\w+:\w+)`/g)].map(([, action = '']) => action).sort();
}

/** Calls about a table as a whole read no item, so DynamoDB does not use the key of the table. */
const WITHOUT_ITEMS = new Set([
  ...['DescribeTable', 'DescribeTimeToLive', 'ListTagsOfResource', 'TagResource'],
  ...['UpdateContinuousBackups', 'UpdateTable', 'UpdateTimeToLive'],
]);

function actionsFor(call: AwsCall): string[] {
  if (call.service !== 'DynamoDB') return [`${call.service.toLowerCase()}:${call.operation}`];
  if (WITHOUT_ITEMS.has(call.operation)) return [`dynamodb:${call.operation}`];
  const onItems = actionsOf(call).map(({ action }) => action);
  return [...(onItems.length > 0 ? onItems : [`dynamodb:${call.operation}`]), 'kms:Decrypt'];
}

let calls: AwsCall[] = [];
const gatehouse = await useGatehouse({
  breaksData: true,
  intercept(call, forward) {
    if (call.functionName === undefined) calls.push(call);
    return forward();
  },
});

/** Runs a command on the table as an operator does. Returns the actions that its calls needed. */
async function actionsOfRun(script = '', ...options: string[]): Promise<string[]> {
  calls = [];
  const run = await runOnTable(gatehouse.cloud, script, ...options);
  // `verify`, `adopt` and `mails` report what they find with status 1.
  expect(/^(verify|adopt|mails)$/.test(script) ? [0, 1] : [0], run.stderr).toContain(run.code);
  return [...new Set(calls.flatMap(actionsFor))].sort();
}

/** Otherwise an external engine could not delete the table at the end. */
afterAll(async () => {
  const { endpoint, region, tableName: TableName } = gatehouse.cloud;
  const client = new DynamoDB({ endpoint, region, credentials: OPERATOR });
  await client.updateTable({ TableName, DeletionProtectionEnabled: false });
  client.destroy();
});

/** Leaves a guard, an excess guard, a wrong roster and a wrong total for each kind of repair. */
const damage = () =>
  commit(gatehouse.table, [
    remove(loginGuardKey('user')),
    set(emailGuardKey('nobody@example.com'), { id: 999 }),
    set(rosterKey, { ids: new Set([1, 2]) }),
    set(totalKey('USER'), { n: 9 }),
  ]);

function leaveMail() {
  const sk = `${new Date(Date.now() - 120_000).toISOString()}#1`;
  const expires = Math.ceil(Date.now() / 1000) + 600;
  const mail = { occasion: 'reset', email: 'nobody@example.com', expires };
  return commit(gatehouse.table, [set({ pk: 'MAIL#1', sk }, mail)]);
}

async function addParameter() {
  const token = await gatehouse.logIn('admin');
  const create = (path: string, body: object) => gatehouse.call('POST', path, { token, body });
  const { body: integration } = await create('/api/utm-integrations', INTEGRATION);
  const parameter = { integration, confName: 'key', confValue: 'value' };
  await create('/api/utm-integration-confs', parameter);
}

function giveFactor() {
  const secondFactor = { nonce: 'n', key: 'k', lastStep: 1, recoveryNonce: 'r', recoveryCodes: 1 };
  return commit(gatehouse.table, [set(entityKey('USER', 1), { secondFactor })]);
}

const fileFor = (script: string) => join(inject('assembly'), `../${script}.jsonl`);
// Such an address has former keys, which a condition check requires to be unclaimed.
const EMAIL = 'ann@bücher.example';
const RECORDS = [
  userRecord('ann', { email: EMAIL, activated: true, authorities: ['ROLE_ADMIN'] }),
  integrationRecord('Gate', ['value']),
  // Already there.
  { type: 'user', login: 'admin', email: 'admin@example.com' },
];
const ADMIN = ['--login', 'admin'];
const ARM = [...ADMIN, '--minutes', '1', '--reason', 'A rehearsal'];

type Case = [command: string, options?: string[], prepare?: () => unknown];

describe('the documented permissions of', () => {
  beforeEach(damage);

  it.each<Case>([
    ['verify'],
    ['verify --repair'],
    ['password-keys'],
    ['person', ['--login', 'leaver'], () => gatehouse.makeUser('leaver')],
    ['person --forget', ['--login', 'goner'], () => gatehouse.makeUser('goner')],
    ['mails', [], leaveMail],
    ['mails --send', [], leaveMail],
    [
      'import',
      ['--apply', fileFor('import')],
      () => writeFileSync(fileFor('import'), jsonLines(RECORDS)),
    ],
    ['export', [fileFor('export')], addParameter],
    // An invitation has a reset key.
    ['adopt', [], () => gatehouse.makeUser('invited', { password: undefined })],
    [
      'first-admin',
      ['--login', 'root', '--email', 'root@bücher.example'],
      () => commit(gatehouse.table, [remove(rosterKey)]),
    ],
  ])('%s are those that it needs', async (command, options = [], prepare) => {
    await prepare?.();

    expect(await actionsOfRun(...command.split(' '), ...options)).toEqual(documentedFor(command));
  });

  it('adopt --original are those that it needs, and only reads the original', async () => {
    const { cloud } = gatehouse;
    // The adoption of another test has ended the sessions that the functions know.
    cloud.recycle();
    const token = await gatehouse.logIn('admin');
    const body = { login: 'former', email: 'former@bücher.example' };
    const { body: former } = await gatehouse.call('POST', '/api/users', { token, body });
    const before = await itemsOf(cloud);
    await gatehouse.call('PUT', '/api/users', {
      token,
      body: { ...former, email: 'later@bücher.example' },
    });
    const original = `Original-${randomUUID().slice(0, 8)}`;
    const key = 'arn:aws:kms:eu-central-1:000000000000:key/table';
    await createTable(cloud, original, await itemsOf(cloud), key);
    await restoreItems(cloud, before);

    const used = await actionsOfRun('adopt', '--original', original);

    const onOriginal = calls
      .filter(({ input }) => input.TableName === original)
      .flatMap(actionsFor);
    const ofAdopt = documentedFor('adopt');
    expect(new Set([...used, ...ofAdopt])).toEqual(
      new Set([...ofAdopt, ...documentedFor('adopt --original')]),
    );
    expect([...new Set(onOriginal)].sort()).toEqual([
      ...['dynamodb:GetItem', 'dynamodb:Query', 'kms:Decrypt'],
    ]);
  });

  // Last, because the administrator cannot log in any more.
  it.each<Case>([
    ['emergency', ARM],
    ['emergency --disarm', [], () => actionsOfRun('emergency', ...ARM)],
    ['first-admin --remove-second-factor', ADMIN],
    ['first-admin --new-password', ADMIN],
  ])('%s are those that it needs, on an account with a factor', async (...row) => {
    const [command, options = [], prepare] = row;
    await giveFactor();
    await prepare?.();

    expect(await actionsOfRun(...command.split(' '), ...options)).toEqual(documentedFor(command));
  });
});

it('the documented roles of a deployment are the roles in the cloud assembly', () => {
  const files = ['manifest.json', 'Gatehouse-dev.assets.json'].map((name) =>
    join(inject('assembly'), name),
  );
  const roles = files.flatMap(
    (file) => readFileSync(file, 'utf8').match(/cdk-hnb659fds-[\w-]+-role/g) ?? [],
  );
  const documented = DOCUMENT.match(/cdk-hnb659fds-[\w-]+-role/g) ?? [];

  expect([...new Set(documented)].sort()).toEqual([...new Set(roles)].sort());
});
