import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openStackTable } from '../../infra/commands/tables.ts';
import { openState } from '../../infra/local/state/state.ts';
import { totalKey } from '../../lib/table/keys.ts';
import { findUserByLogin } from '../../lib/users/user-table.ts';
import { operatorsEnvironment } from '../support/commands/run-command.ts';
import {
  bcryptHash,
  importHere,
  integrationRecord,
  jsonLines,
  runTransfer,
  startImport,
  userRecord,
} from '../support/commands/transfer.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { expectIntact } from '../support/instance/intact.ts';
import { itemsOf, restoreItems } from '../support/instance/items.ts';

/* npm run import and npm run export, as an operator runs them on the table of a running service. */

/** Called after each transaction of a command. */
let onCommit = (): void => undefined;
const gatehouse = await useGatehouse({
  async intercept({ functionName, operation }, forward) {
    const response = await forward();
    if (functionName === undefined && operation === 'TransactWriteItems') onCommit();
    return response;
  },
});
const { cloud, table } = gatehouse;
const token = await gatehouse.logIn('admin');
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-transfer-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
function fileOf(records: readonly unknown[]): string {
  const file = join(folder, `${++files}.jsonl`);
  writeFileSync(file, jsonLines(records));
  return file;
}

const run = async (script: 'import' | 'export', ...options: string[]) =>
  (
    await runTransfer(
      script,
      ['--table', cloud.tableName, ...options],
      operatorsEnvironment(gatehouse.cloud),
    )
  ).result;

const storedUser = (login: string) => findUserByLogin(table, login);
const statusOfLogin = async (username: string, password: string) =>
  (await gatehouse.call('POST', '/api/authenticate', { body: { username, password } })).status;

describe('npm run import', () => {
  const file = fileOf([
    userRecord('old-admin', {
      activated: true,
      authorities: ['ROLE_ADMIN', 'ROLE_USER'],
      passwordHash: bcryptHash('old password', '$2a$'),
      createdBy: 'founder',
      createdDate: '2019-03-04T06:06:07.5+01:00',
      lastModifiedBy: null,
    }),
    userRecord('old-b', { passwordHash: bcryptHash('old password', '$2b$') }),
    userRecord('old-y', { passwordHash: bcryptHash('old password', '$2y$'), activated: false }),
    { ...userRecord('old-admin'), email: 'another@old.example' },
    userRecord('same-mailbox', { email: 'OLD-B@old.example' }),
    userRecord('admin'),
    userRecord('new-login', { email: 'Admin@example.com' }),
    userRecord('bad', { email: 'bad', authorities: ['ROLE_SUPPORT'], nickname: 'b' }),
    integrationRecord('Firewall \u2028 1', ['secret of the firewall', 'b']),
    integrationRecord('Firewall \u2028 1', ['secret of another firewall']),
  ]);
  const rejections = [
    'Line 4: login login-taken',
    'Line 5: email email-taken',
    'Line 6: login login-taken',
    'Line 7: email email-taken',
    'Line 8: email Email, authorities.0 Pattern, nickname UnknownField',
  ];

  it('without --apply, reports what it would do and writes nothing', async () => {
    const before = await itemsOf(cloud);

    const { code, stdout, stderr } = await run('import', file);

    expect({ code, stderr }).toEqual({ code: 1, stderr: [] });
    expect(stdout).toEqual([
      `Checking an import into ${cloud.tableName}`,
      ...rejections,
      '5 would be imported, 0 already there, 0 changed since, 0 removed since, 5 ' +
        'rejected. Nothing was written: add --apply to import',
    ]);
    expect(await itemsOf(cloud)).toEqual(before);
  });

  it('with --apply, imports valid records, and only once', async () => {
    const first = await run('import', '--apply', file);
    const after = await itemsOf(cloud);
    const second = await run('import', '--apply', file);

    const started = `Importing into ${cloud.tableName}`;
    const expected = { code: 1, stderr: [] };
    expect(first).toEqual({
      ...expected,
      stdout: [
        started,
        ...rejections,
        '5 imported, 0 already there, 0 changed since, 0 removed since, 5 rejected',
      ],
    });
    expect(second).toEqual({
      ...expected,
      stdout: [
        started,
        ...rejections,
        '0 imported, 5 already there, 0 changed since, 0 removed since, 5 rejected',
      ],
    });
    expect(await itemsOf(cloud)).toEqual(after);
    await expectIntact(gatehouse);
  });

  it('keeps the fields of a user, and records the import in the audit trail', async () => {
    const { body } = await gatehouse.call('GET', '/api/users/old-admin', { token });
    const audits = await gatehouse.call('GET', `/api/audits?target.equals=user/${body.id}`, {
      token,
    });

    expect(body).toEqual({
      id: body.id,
      login: 'old-admin',
      firstName: null,
      lastName: null,
      email: 'old-admin@old.example',
      imageUrl: null,
      activated: true,
      langKey: 'en',
      authorities: ['ROLE_ADMIN', 'ROLE_USER'],
      createdBy: 'founder',
      createdDate: '2019-03-04T05:06:07.500Z',
      lastModifiedBy: 'founder',
      lastModifiedDate: '2019-03-04T05:06:07.500Z',
    });
    expect(audits.body).toMatchObject([
      { actor: 'system', action: 'user.created', targetName: 'old-admin' },
    ]);
  });

  it('seals the values of parameters, which the API then returns', async () => {
    const { body: integrations } = await gatehouse.call(
      'GET',
      '/api/utm-integrations?sort=id,asc&shortName.equals=OLD',
      {
        token,
      },
    );
    const { body } = await gatehouse.call(
      'GET',
      `/api/utm-integration-confs?sort=id,asc&integrationId.equals=${integrations[0].id}`,
      { token },
    );
    const added = await gatehouse.call('POST', '/api/utm-integration-confs', {
      token,
      body: { integration: { id: integrations[0].id }, confName: 'another', confValue: 'c' },
    });

    expect(integrations).toHaveLength(2);
    expect(
      body.map(({ confName, confValue }: Record<string, string>) => [confName, confValue]),
    ).toEqual([
      ['name 0', 'secret of the firewall'],
      ['name 1', 'b'],
    ]);
    expect(added.status).toBe(201);
    const items = [...(await itemsOf(cloud)).values()];
    expect(items.some((item) => JSON.stringify(item).includes('secret of the firewall'))).toBe(
      false,
    );
  });

  it.each([
    ['$2a$', 'old-admin'],
    ['$2b$', 'old-b'],
  ])(
    'lets a user with a %s hash log in with the password of the former system, and then ' +
      'replaces the hash',
    async (prefix, login) => {
      const before = await storedUser(login);

      const wrong = await statusOfLogin(login, 'another password');
      const unchanged = await storedUser(login);
      const right = await statusOfLogin(login, 'old password');
      const after = await storedUser(login);
      const again = [
        await statusOfLogin(login, 'old password'),
        await statusOfLogin(login, 'another password'),
      ];

      expect([wrong, right, ...again]).toEqual([401, 200, 200, 401]);
      expect(before?.passwordHash).toContain(`${prefix}04$`);
      expect(unchanged).toEqual(before);
      expect(after?.passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1,/);
      expect(after).toEqual({ ...before, passwordHash: after?.passwordHash });
    },
  );

  it('lets a deactivated user with a $2y$ hash log in only after the activation', async () => {
    const { body } = await gatehouse.call('GET', '/api/users/old-y', { token });

    const deactivated = await statusOfLogin('old-y', 'old password');
    await gatehouse.call('PUT', '/api/users', { token, body: { ...body, activated: true } });
    const own = await gatehouse.logIn('old-y', 'old password');
    const changed = await gatehouse.call('POST', '/api/account/change-password', {
      token: own,
      body: { currentPassword: 'old password', newPassword: 'new password' },
    });

    expect([deactivated, changed.status]).toEqual([401, 200]);
    expect(await statusOfLogin('old-y', 'new password')).toBe(200);
  });

  it.each(['', 'ab', '😀'.repeat(3), 'x'.repeat(101)])(
    'lets no user log in with a password that Gatehouse does not allow: %j',
    async (password) => {
      const login = `short-${password.length}`;
      await importHere(gatehouse, [userRecord(login, { passwordHash: bcryptHash(password) })]);

      expect(await statusOfLogin(login, password)).toBe(401);
      expect((await storedUser(login))?.passwordHash).toMatch(/^\$2a\$/);
    },
  );

  it('rejects the login of the operator', async () => {
    const { rejected } = await importHere(gatehouse, [userRecord('System')]);

    expect(rejected).toEqual(['1 login login-taken']);
  });

  it('does not create again what was removed since, except with --again', async () => {
    const records = [
      ...['deleted', 'renamed', 'moved', 'kept'].map((name) => userRecord(`since-${name}`)),
      ...['Since 1', 'Since 1', 'Since 2', 'Since 3'].map((name, index) =>
        integrationRecord(name, [`since ${index}`]),
      ),
    ];
    const since = fileOf([...records, userRecord('since-rejected', { email: 'bad' })]);
    await run('import', '--apply', since);
    const user = async (name: string) =>
      (await storedUser(`since-${name}`)) as { id: number; login: string };
    const [deleted, renamed, moved] = [
      await user('deleted'),
      await user('renamed'),
      await user('moved'),
    ];
    const { body } = await gatehouse.call(
      'GET',
      '/api/utm-integrations?sort=id,asc&name.contains=Since',
      { token },
    );
    const [first, , second] = body;
    await gatehouse.call('DELETE', '/api/users/since-deleted', { token });
    await gatehouse.call('PUT', '/api/users', {
      token,
      body: { ...renamed, login: 'since-other' },
    });
    await gatehouse.call('PUT', '/api/users', {
      token,
      body: { ...moved, email: 'since-other@new.example' },
    });
    await gatehouse.call('DELETE', `/api/utm-integrations/${first.id}`, { token });
    await gatehouse.call('PUT', '/api/utm-integrations', {
      token,
      body: { ...second, name: 'Renamed' },
    });
    const before = await itemsOf(cloud);
    const corrected = fileOf([
      ...records,
      userRecord('since-rejected', { email: 'good@old.example' }),
    ]);

    const checked = await run('import', corrected);
    const unchanged = await itemsOf(cloud);
    const repeated = await run('import', '--apply', corrected);
    const again = await run('import', '--apply', '--again', corrected);
    const last = await run('import', '--apply', '--again', corrected);

    const changedLines = [
      `Line 2: changed since its import as user ${renamed.id}`,
      `Line 3: changed since its import as user ${moved.id}`,
      `Line 7: changed since its import as integration ${second.id}`,
    ];
    const lines = [
      `Line 1: removed since its import as user ${deleted.id}`,
      ...changedLines.slice(0, 2),
      `Line 5: removed since its import as integration ${first.id}`,
      ...changedLines.slice(2),
    ];
    expect(unchanged).toEqual(before);
    expect(checked.stdout.slice(1, -1)).toEqual(lines);
    expect(repeated.stdout.slice(1)).toEqual([
      ...lines,
      '1 imported, 3 already there, 3 changed since, 2 removed since, 0 rejected',
    ]);
    expect(again.stdout.slice(1)).toEqual([
      ...changedLines,
      '2 imported, 4 already there, 3 changed since, 0 removed since, 0 rejected',
    ]);
    expect(last.stdout.at(-1)).toBe(
      '0 imported, 6 already there, 3 changed since, 0 removed since, 0 rejected',
    );
    await expectIntact(gatehouse);
  });

  it('notes what the table already has, so that it is not created after its deletion', async () => {
    const body = { ...integrationRecord('Noted'), parameters: undefined, type: undefined };
    const { body: integration } = await gatehouse.call('POST', '/api/utm-integrations', {
      token,
      body,
    });
    await gatehouse.makeUser('noted', { email: 'noted@old.example' });
    const records = [userRecord('noted'), integrationRecord('Noted'), integrationRecord('Noted')];

    const first = await importHere(gatehouse, records);
    await gatehouse.call('DELETE', '/api/users/noted', { token });
    await gatehouse.call('DELETE', `/api/utm-integrations/${integration.id}`, { token });
    const second = await importHere(gatehouse, records);
    await gatehouse.makeUser('noted', { email: 'noted@old.example' });
    const third = await importHere(gatehouse, records);

    expect(first.tally).toMatchObject({ imported: 1, present: 2 });
    expect(second.tally).toMatchObject({ imported: 0, present: 1, removed: 2 });
    expect(third.tally).toMatchObject({ imported: 0, present: 2, removed: 1 });
  });

  it('creates each record once if two imports run at the same time', async () => {
    const records = Array.from({ length: 12 }, (_, index) =>
      index % 2 ? integrationRecord(`Twin ${index % 3}`, ['a']) : userRecord(`twin-${index}`),
    );

    const imports = await Promise.all([
      importHere(gatehouse, records),
      importHere(gatehouse, records),
    ]);

    expect(imports.flatMap(({ rejected, skipped }) => [...rejected, ...skipped])).toEqual([]);
    expect(imports.reduce((sum, { tally }) => sum + tally.imported, 0)).toBe(records.length);
    expect(imports.reduce((sum, { tally }) => sum + tally.present, 0)).toBe(records.length);
    await expectIntact(gatehouse);
  });

  it('can be killed at any moment and repeated', { timeout: 60_000 }, async () => {
    const records = [
      ...Array.from({ length: 60 }, (_, index) =>
        userRecord(`killed-${index}`, { authorities: index % 2 ? [] : ['ROLE_ADMIN'] }),
      ),
      ...Array.from({ length: 6 }, (_, index) =>
        integrationRecord(`Killed ${index % 2}`, [`${index}`, 'b', 'c']),
      ),
    ];
    // Alternating, so that a kill can hit either kind.
    const file = fileOf(records.sort(() => Math.random() - 0.5));
    const total = async () => Number((await table.get(totalKey('USER')))?.n);
    const before = await total();
    const options = ['--table', cloud.tableName, '--apply', file];

    for (const round of [1, 2, 3]) {
      const child = startImport(options, operatorsEnvironment(gatehouse.cloud));
      const ended = once(child, 'exit');
      // Three rounds of three commits import at least three users, because there are six
      // integrations.
      let commitsLeft = 3 + Math.floor(Math.random() * 8);
      onCommit = () => {
        if (--commitsLeft === 0) setTimeout(() => child.kill('SIGKILL'), Math.random() * 5);
      };

      expect(await ended, `round ${round}`).toEqual([null, 'SIGKILL']);
      await expectIntact(gatehouse);
    }
    onCommit = () => undefined;
    const imported = (await total()) - before;
    const { tally, rejected } = await importHere(gatehouse, records);

    expect(imported).toBeGreaterThan(2);
    expect(rejected).toEqual([]);
    expect(tally.imported + tally.present).toBe(records.length);
    expect((await total()) - before).toBe(60);
    const { body } = await gatehouse.call(
      'GET',
      '/api/utm-integration-confs?size=100&confName.equals=name%200',
      {
        token,
      },
    );
    const values = body.map(({ confValue }: { confValue: string }) => confValue).sort();
    expect(values.slice(0, 6)).toEqual(['0', '1', '2', '3', '4', '5']);
    await expectIntact(gatehouse);
  });

  it('reports its progress', async () => {
    const file = fileOf(Array(10_000).fill('not a record'));

    const { result, progress } = await runTransfer(
      'import',
      ['--table', cloud.tableName, file],
      operatorsEnvironment(gatehouse.cloud),
    );

    expect(progress).not.toEqual([]);
    expect(result.stdout).toHaveLength(10_002);
    expect(result.stdout.at(-2)).toBe('Line 10000: malformed');
  });

  it('rejects lines that are not in UTF-8, and keeps every character of the others', async () => {
    const value = '€'.repeat(5000);
    // Longer than a chunk of 64 KiB, so that a character can be split between two.
    const records = Array.from({ length: 16 }, (_, index) =>
      integrationRecord(`Zürich ${index}`, [value]),
    );
    const inLatin1 = Buffer.from(jsonLines([integrationRecord('Latin', ['pässword'])]), 'latin1');
    const file = fileOf([]);
    writeFileSync(file, Buffer.concat([inLatin1, Buffer.from(jsonLines(records))]));

    const { code, stdout } = await run('import', '--apply', file);

    expect([code, ...stdout.slice(1)]).toEqual([
      1,
      'Line 1: malformed',
      '16 imported, 0 already there, 0 changed since, 0 removed since, 1 rejected',
    ]);
    const { body } = await gatehouse.call(
      'GET',
      '/api/utm-integration-confs?size=100&sort=id,desc',
      { token },
    );
    const imported = body.filter(({ integration }: { integration: { name: string } }) =>
      /^Zürich \d+$/.test(integration.name),
    );
    expect(
      imported.filter(({ confValue }: { confValue: string }) => confValue === value),
    ).toHaveLength(16);
  });

  it.each([
    [
      'a file that does not exist',
      join(folder, 'missing'),
      `${join(folder, 'missing')} cannot be read.`,
    ],
    ['a folder', folder, `${folder} is a folder.`],
  ])('rejects %s as a wrong argument', async (_, path, sentence) => {
    const { result } = await runTransfer('import', [path], {});

    expect([result.code, result.stdout, result.stderr[0]]).toEqual([2, [], sentence]);
    expect(result.stderr[1]).toMatch(/^Usage: /);
  });

  it('imports into the table of the local service without --table', async () => {
    const stateDir = join(folder, 'state');
    const file = fileOf([userRecord('local')]);
    // Some programs begin files with a byte order mark.
    writeFileSync(file, `\uFEFF${readFileSync(file, 'utf8')}`);

    const { result: stopped } = await runTransfer('import', [file], { STATE_DIR: stateDir });
    const state = await openState(stateDir);
    state.recordTable({
      endpoint: cloud.endpoint,
      region: cloud.region,
      tableName: cloud.tableName,
    });
    const { result: running } = await runTransfer('import', ['--apply', file], {
      STATE_DIR: stateDir,
    });
    state.close();

    expect(stopped).toEqual({
      code: 3,
      stdout: [],
      stderr: [
        `No service runs on STATE_DIR=${stateDir}. ` +
          'Start it with `npm start`, or name a table with --table.',
      ],
    });
    expect(running).toMatchObject({ code: 0, stderr: [] });
    expect(running.stdout.at(-1)).toBe(
      '1 imported, 0 already there, 0 changed since, 0 removed since, 0 rejected',
    );
  });
});

describe('npm run export', () => {
  /** What the API shows of the table, except for ids and modules. */
  async function contentOfTable() {
    const token = await gatehouse.logIn('admin');
    const list = async (path: string): Promise<Record<string, unknown>[]> =>
      (await gatehouse.call('GET', `${path}&size=100`, { token })).body;
    const [users, integrations, parameters] = await Promise.all([
      list('/api/users?sort=login,asc'),
      list('/api/utm-integrations?sort=name,asc'),
      list('/api/utm-integration-confs?sort=confName,asc'),
    ]);
    return {
      users: users.map(({ id: _, ...user }) => user),
      integrations: integrations.map(({ id: _, ...integration }) => integration),
      parameters: parameters
        .map(({ confName, confValue, confDescription, integration }) =>
          [(integration as { name: string }).name, confName, confValue, confDescription].join(),
        )
        .sort(),
    };
  }

  it('creates a file that only its owner can read, which restores an empty table', async () => {
    const file = join(folder, 'export.jsonl');
    await gatehouse.logIn('user');
    const before = await contentOfTable();

    const exported = await run('export', file);
    await restoreItems(cloud, new Map());
    const imported = await run('import', '--apply', file);

    const [users, integrations] = [before.users.length, before.integrations.length];
    expect(exported).toEqual({
      code: 0,
      stdout: [
        `Exporting ${cloud.tableName}`,
        `${users} users and ${integrations} integrations exported. The file contains ` +
          'secrets: protect it',
      ],
      stderr: [],
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(imported).toMatchObject({ code: 0, stderr: [] });
    expect(imported.stdout.at(-1)).toBe(
      `${users + integrations} imported, 0 already there, 0 changed since, 0 removed ` +
        'since, 0 rejected',
    );
    expect(await contentOfTable()).toEqual(before);
    expect(await statusOfLogin('user', 'user')).toBe(200);
    await expectIntact(gatehouse);
  });

  const USAGE = 'Usage: npm run export -- [--table NAME] FILE';

  it('does not replace a file', async () => {
    const file = fileOf([]);

    const { code, stdout, stderr } = await run('export', file);

    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: [],
      stderr: [`${file} already exists.`, USAGE],
    });
    expect(readFileSync(file, 'utf8')).toBe('');
  });

  it.each(['', '.partial'])(
    'does not replace a link to a file that does not exist: FILE%s',
    async (suffix) => {
      const file = join(folder, `link${suffix}.jsonl`);
      symlinkSync(join(folder, 'nowhere'), `${file}${suffix}`);

      const { code, stderr } = await run('export', file);

      expect([code, stderr[0]]).toEqual(
        suffix
          ? [3, expect.stringContaining('was left by an interrupted export')]
          : [2, `${file} already exists.`],
      );
    },
  );

  it.each(['export', 'import'] as const)('npm run %s rejects an empty FILE', async (command) => {
    const { code, stdout, stderr } = await run(command, '');

    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: [],
      stderr: ['FILE is missing.', expect.stringContaining(`Usage: npm run ${command} -- `)],
    });
  });

  it('rejects a file in a folder that does not exist', async () => {
    const file = join(folder, 'missing/export.jsonl');

    const { code, stderr } = await run('export', file);

    const reason = 'its folder does not exist or cannot be written to.';
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: [`${file} cannot be created: ${reason}`, USAGE],
    });
  });

  it('names the file with secrets that was left by an interrupted export', async () => {
    const file = join(folder, 'interrupted.jsonl');
    writeFileSync(`${file}.partial`, 'secret');

    const { code, stdout, stderr } = await run('export', file);

    const causes = 'by an interrupted export, or another export is running';
    const sentence = `${file}.partial was left ${causes}. It contains secrets: delete it.`;
    expect({ code, stdout, stderr }).toEqual({ code: 3, stdout: [], stderr: [sentence] });
    expect(readFileSync(`${file}.partial`, 'utf8')).toBe('secret');
  });
});

it('the commands do not wait forever for a response of KMS', async () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  for (const [name, value] of Object.entries(operatorsEnvironment(cloud))) vi.stubEnv(name, value);

  const { kms } = await openStackTable({ tableName: cloud.tableName });

  // biome-ignore lint/suspicious/noExplicitAny: the SDK hides the type of this configuration
  expect(await (kms.config.requestHandler as any).configProvider).toMatchObject({
    connectionTimeout: 3000,
    requestTimeout: 20_000,
    throwOnRequestTimeout: true,
  });
  expect(await kms.config.maxAttempts()).toBe(6);
});
