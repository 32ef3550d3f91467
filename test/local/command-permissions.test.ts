import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UpdateTableCommand } from '@aws-sdk/client-dynamodb';
import { beforeEach, describe, expect, inject, it } from 'vitest';
import { actionsOf } from '../../infra/local/calls/actions.ts';
import type { AwsCall } from '../../infra/local/calls/aws-call.ts';
import { OPERATOR } from '../../infra/local/state/operator.ts';
import { commit } from '../../lib/table/change.ts';
import { totalKey } from '../../lib/table/item-kind.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { scannerClient } from '../../lib/table/table-scanner.ts';
import { remove, set } from '../../lib/table/write.ts';
import { emailGuardKey, loginGuardKey, rosterKey } from '../../lib/users/user-items.ts';
import { operatorsEnvironment, runCommand } from '../support/commands/run-command.ts';
import { integrationRecord, jsonLines, userRecord } from '../support/commands/transfer.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
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
  const { cloud } = gatehouse;
  const run = await runCommand(
    script,
    ['--table', cloud.tableName, ...options],
    operatorsEnvironment(cloud),
  );
  // `verify`, `adopt` and `mails` report what they find with status 1.
  expect(/^(verify|adopt|mails)$/.test(script) ? [0, 1] : [0], run.stderr).toContain(run.code);
  return [...new Set(calls.flatMap(actionsFor))].sort();
}

const EXISTS = { condition: 'attribute_exists(pk)', onConditionFailed: 'retry' } as const;
const ANY = {
  condition: 'attribute_exists(pk) OR attribute_not_exists(pk)',
  onConditionFailed: 'retry',
} as const;

const FACTOR = { nonce: 'n', key: 'k', lastStep: 1, recoveryNonce: 'r', recoveryCodes: 1 };

/** Otherwise an external engine could not delete the table at the end. */
async function unprotect(): Promise<void> {
  const { endpoint, region, tableName: TableName } = gatehouse.cloud;
  const client = scannerClient({ endpoint, region, credentials: OPERATOR });
  await client.send(new UpdateTableCommand({ TableName, DeletionProtectionEnabled: false }));
  client.destroy();
}

/** Leaves a guard, an excess guard, a wrong roster and a wrong total for each kind of repair. */
async function damage(): Promise<void> {
  const { table } = gatehouse;
  await commit(table, [
    remove(loginGuardKey('user'), EXISTS),
    set(emailGuardKey('nobody@example.com'), { id: 999 }, ANY),
    set(rosterKey, { ids: new Set([1, 2]) }, EXISTS),
    set(totalKey('USER'), { n: 9 }, EXISTS),
  ]);
}

describe('the documented permissions of', () => {
  beforeEach(damage);

  it.each(['verify', 'verify --repair', 'password-keys'])(
    '%s are those that it needs',
    async (command) => {
      expect(await actionsOfRun(...command.split(' '))).toEqual(documentedFor(command));
    },
  );

  it('person and person --forget are those that it needs', async () => {
    await gatehouse.makeUser('leaver');

    const of = ['--login', 'leaver'];
    expect(await actionsOfRun('person', ...of)).toEqual(documentedFor('person'));
    expect(await actionsOfRun('person', ...of, '--forget')).toEqual(
      documentedFor('person --forget'),
    );
  });

  it('adopt are those that it needs', async () => {
    // An invitation, which has a reset key.
    await gatehouse.makeUser('invited', { password: undefined });

    const used = await actionsOfRun('adopt');
    await unprotect();

    expect(used).toEqual(documentedFor('adopt'));
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
    await createTable(
      cloud,
      original,
      await itemsOf(cloud),
      'arn:aws:kms:eu-central-1:000000000000:key/table',
    );
    await restoreItems(cloud, before);

    const used = await actionsOfRun('adopt', '--original', original);
    await unprotect();

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

  it('mails and mails --send are those that it needs', async () => {
    const sk = `${new Date(Date.now() - 120_000).toISOString()}#1`;
    const mail = {
      occasion: 'reset',
      email: 'nobody@example.com',
      expires: Math.ceil(Date.now() / 1000) + 600,
    };
    await commit(gatehouse.table, [set({ pk: 'MAIL#1', sk }, mail, ANY)]);

    expect(await actionsOfRun('mails')).toEqual(documentedFor('mails'));
    expect(await actionsOfRun('mails', '--send')).toEqual(documentedFor('mails --send'));
  });

  it('first-admin are those that it needs', async () => {
    await commit(gatehouse.table, [remove(rosterKey, EXISTS)]);

    // Such an address has former keys, which a condition check requires to be unclaimed.
    const administrator = ['--login', 'root', '--email', 'root@bücher.example'];
    const used = await actionsOfRun('first-admin', ...administrator);

    expect(used).toEqual(documentedFor('first-admin'));
  });

  it('import are those that it needs', async () => {
    const records = [
      userRecord('ann', {
        email: 'ann@bücher.example',
        activated: true,
        authorities: ['ROLE_ADMIN'],
      }),
      integrationRecord('Gate', ['value']),
      // Already there.
      { type: 'user', login: 'admin', email: 'admin@example.com' },
    ];
    const file = join(inject('assembly'), '../import.jsonl');
    writeFileSync(file, jsonLines(records));

    expect(await actionsOfRun('import', '--apply', file)).toEqual(documentedFor('import'));
  });

  it('export are those that it needs', async () => {
    const token = await gatehouse.logIn('admin');
    const { body: integration } = await gatehouse.call('POST', '/api/utm-integrations', {
      token,
      body: { name: 'Gate', shortName: 'gate', integrationType: 'API' },
    });
    await gatehouse.call('POST', '/api/utm-integration-confs', {
      token,
      body: { integration: { id: integration.id }, confName: 'key', confValue: 'value' },
    });
    const file = join(inject('assembly'), '../export.jsonl');

    expect(await actionsOfRun('export', file)).toEqual(documentedFor('export'));
  });

  it('emergency and emergency --disarm are those that it needs', async () => {
    await commit(gatehouse.table, [set(entityKey('USER', 1), { secondFactor: FACTOR }, EXISTS)]);

    const arm = ['--login', 'admin', '--minutes', '1', '--reason', 'A rehearsal'];
    expect(await actionsOfRun('emergency', ...arm)).toEqual(documentedFor('emergency'));
    expect(await actionsOfRun('emergency', '--disarm')).toEqual(
      documentedFor('emergency --disarm'),
    );
  });

  // Last, because the administrator has another password then.
  it.each(['first-admin --remove-second-factor', 'first-admin --new-password'])(
    '%s are those that it needs',
    async (command) => {
      await commit(gatehouse.table, [set(entityKey('USER', 1), { secondFactor: FACTOR }, EXISTS)]);

      const used = await actionsOfRun(...command.split(' '), '--login', 'admin');

      expect(used).toEqual(documentedFor(command));
    },
  );
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
