import { readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openState } from '../../infra/local/state/state.ts';
import { findUserByLogin } from '../../lib/users/user-table.ts';
import { operatorsEnvironment } from '../support/commands/run-command.ts';
import {
  bcryptHash,
  integrationRecord,
  jsonLines,
  runTransfer,
  userRecord,
} from '../support/commands/transfer.ts';
import { newFolder, removeFolders } from '../support/instance/folders.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { expectIntact, itemsOf, restoreItems } from '../support/instance/items.ts';
import { turnOnFactor } from '../support/instance/users.ts';

/* npm run admin -- import and export, as an operator runs them on a running service. */

const gatehouse = await useGatehouse();
const { cloud, table } = gatehouse;
const token = await gatehouse.logIn('admin');
const folder = newFolder();
afterAll(removeFolders);

let files = 0;
function fileOf(records: readonly unknown[]): string {
  const file = join(folder, `${++files}.jsonl`);
  writeFileSync(file, jsonLines(records));
  return file;
}

function linkToNowhere(): string {
  const link = join(folder, `${++files}.jsonl`);
  symlinkSync(join(folder, 'nowhere'), link);
  return link;
}

const run = (script: 'import' | 'export', ...options: string[]) =>
  runTransfer(script, ['--table', cloud.tableName, ...options], operatorsEnvironment(cloud));

const storedUser = (login: string) => findUserByLogin(table, login);
const statusOfLogin = async (username: string, password: string) =>
  (await gatehouse.call('POST', '/api/authenticate', { body: { username, password } })).status;

describe('npm run admin -- import', () => {
  const VALUE = 'secret of the firewall';
  const file = fileOf([
    ...['$2a$', '$2b$', '$2y$'].map((prefix, index) =>
      userRecord(`old-${index}`, {
        activated: true,
        passwordHash: bcryptHash('old password', prefix),
      }),
    ),
    userRecord('same-mailbox', { email: 'OLD-1@old.example' }),
    userRecord('admin'),
    userRecord('bad', { email: 'bad', authorities: ['ROLE_SUPPORT'], nickname: 'b' }),
    integrationRecord('Firewall \u2028 1', [VALUE, 'b']),
  ]);
  const rejections = [
    expect.stringMatching(/^Line 4: email email-taken \(taken by (line 2|user \d+)\)$/),
    expect.stringMatching(/^Line 5: login login-taken \(taken by user \d+\)$/),
    'Line 6: email Email, authorities.0 Pattern (ROLE_SUPPORT is not one of ROLE_ADMIN, ' +
      'ROLE_USER, ROLE_ANALYST), nickname UnknownField',
  ];

  it('without --apply, reports what it would do and writes nothing', async () => {
    const before = await itemsOf(cloud);

    expect(await run('import', file)).toEqual({
      code: 1,
      stdout: [
        `Checking an import into ${cloud.tableName}`,
        ...rejections,
        '4 would be imported, 0 already there, 0 changed since, 0 removed since, 3 ' +
          'rejected. Nothing was written: add --apply to import',
      ],
      stderr: [],
    });
    expect(await itemsOf(cloud)).toEqual(before);
  });

  it('with --apply, imports valid records, and only once', async () => {
    const first = await run('import', '--apply', file);
    const after = await itemsOf(cloud);
    const second = await run('import', '--apply', file);

    const printed = [`Importing into ${cloud.tableName}`, ...rejections];
    const skipped = '0 changed since, 0 removed since, 3 rejected';
    expect([first, second]).toEqual([
      { code: 1, stdout: [...printed, `4 imported, 0 already there, ${skipped}`], stderr: [] },
      { code: 1, stdout: [...printed, `0 imported, 4 already there, ${skipped}`], stderr: [] },
    ]);
    expect(await itemsOf(cloud)).toEqual(after);
    await expectIntact(gatehouse);
  });

  it('seals the values of parameters, which the API then returns', async () => {
    const { body } = await gatehouse.call('GET', '/api/utm-integration-confs?sort=id,asc', {
      token,
    });
    const integration = { id: body[0].integration.id };
    const added = await gatehouse.call('POST', '/api/utm-integration-confs', {
      token,
      body: { integration, confName: 'another', confValue: 'c' },
    });

    expect(body).toMatchObject([
      { confName: 'name 0', confValue: VALUE },
      { confName: 'name 1', confValue: 'b' },
    ]);
    expect(added.status).toBe(201);
    expect(JSON.stringify([...(await itemsOf(cloud)).values()])).not.toContain(VALUE);
  });

  it('lets a user log in with the bcrypt hash of the former system, then replaces it', async () => {
    const wrong = await statusOfLogin('old-2', 'another password');
    const before = await storedUser('old-2');
    const right = await statusOfLogin('old-2', 'old password');
    const after = await storedUser('old-2');

    expect([wrong, right, await statusOfLogin('old-2', 'old password')]).toEqual([401, 200, 200]);
    expect(before?.passwordHash).toMatch(/^\$2y\$04\$/);
    expect(after?.passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1,/);
  });

  it('does not create again what was removed since, except with --again', async () => {
    const since = fileOf([userRecord('since')]);
    await run('import', '--apply', since);
    const deleted = await storedUser('since');
    await gatehouse.call('DELETE', '/api/users/since', { token });

    const repeated = await run('import', '--apply', since);
    const again = await run('import', '--apply', '--again', since);

    expect(repeated.stdout.slice(1)).toEqual([
      `Line 1: removed since its import as user ${deleted?.id}`,
      '0 imported, 0 already there, 0 changed since, 1 removed since, 0 rejected',
    ]);
    expect(again.stdout.slice(1)).toEqual([
      '1 imported, 0 already there, 0 changed since, 0 removed since, 0 rejected',
    ]);
    await expectIntact(gatehouse);
  });

  it('imports into the table of the local service without --table', async () => {
    const stateDir = join(folder, 'state');
    const file = fileOf([userRecord('local')]);
    // Some programs begin files with a byte order mark.
    writeFileSync(file, `\uFEFF${readFileSync(file, 'utf8')}`);

    const state = await openState(stateDir);
    const { endpoint, region, tableName } = cloud;
    state.record({ table: { endpoint, region, tableName } });
    const running = await runTransfer('import', ['--apply', file], {
      STATE_DIR: stateDir,
    });
    state.close();

    expect(running).toMatchObject({ code: 0, stderr: [] });
    expect(running.stdout.at(-1)).toBe(
      '1 imported, 0 already there, 0 changed since, 0 removed since, 0 rejected',
    );
  });
});

describe('npm run admin -- export', () => {
  const recordsIn = (file: string) => readFileSync(file, 'utf8').trimEnd().split('\n').sort();

  it('creates a file that only its owner can read, which restores an empty table', async () => {
    const file = join(folder, 'export.jsonl');
    const copy = join(folder, 'copy.jsonl');
    await turnOnFactor(gatehouse, 'user');

    const exported = await run('export', file);
    await restoreItems(cloud, new Map());
    const imported = await run('import', '--apply', file);
    const again = await run('export', copy);

    const records = recordsIn(file);
    const printed = [
      `Exporting ${cloud.tableName}`,
      `${records.length - 1} users and 1 integration exported. ` +
        'The file contains secrets: protect it',
    ];
    const notExported = 'Not exported: second factors of 1 user';
    expect(exported).toEqual({ code: 0, stdout: [...printed, notExported], stderr: [] });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(imported).toMatchObject({ code: 0, stderr: [] });
    expect(imported.stdout.at(-1)).toMatch(
      new RegExp(`^${records.length} imported, .* 0 rejected$`),
    );
    expect(again.stdout).toEqual(printed);
    expect(recordsIn(copy)).toEqual(records);
    expect(await statusOfLogin('user', 'user')).toBe(200);
    await expectIntact(gatehouse);
  });
});

it.each<['import' | 'export', string, () => string, number, string]>([
  ['import', 'an empty FILE', () => '', 2, 'FILE is missing.'],
  ['import', 'a folder', () => folder, 2, 'FILE is a folder, not a file in JSON Lines.'],
  ['export', 'a file', () => fileOf([]), 2, 'FILE already exists.'],
  ['export', 'a link to nowhere', linkToNowhere, 2, 'FILE already exists.'],
  [
    'export',
    'a folder that does not exist',
    () => join(folder, 'missing/export.jsonl'),
    2,
    "ENOENT: no such file or directory, open 'FILE.partial'.",
  ],
])('npm run admin -- %s rejects %s', async (command, _, prepare, status, sentence) => {
  const file = prepare();

  const { code, stdout, stderr } = await run(command, file);

  expect({ code, stdout, stderr }).toEqual({
    code: status,
    stdout: [],
    stderr: [
      file ? sentence.replace('FILE', file) : sentence,
      ...(status === 2 ? [expect.stringContaining(`Usage: npm run admin -- ${command} `)] : []),
    ],
  });
});
