import { type ExecFileException, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { marshall } from '@aws-sdk/util-dynamodb';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { command as adoptCommand } from '../../infra/commands/adopt/command.ts';
import { planSettings } from '../../infra/commands/adopt/restored-settings.ts';
import { explainError } from '../../infra/commands/explain-error.ts';
import { command as firstAdminCommand } from '../../infra/commands/first-admin/command.ts';
import { command as verifyCommand } from '../../infra/commands/verify/command.ts';
import { OPERATOR } from '../../infra/local/state/operator.ts';
import { verifyTable } from '../../lib/integrity/verify-table.ts';
import { idText, loginGuardKey, totalKey } from '../../lib/table/keys.ts';
import { openTableScanner, scannerClient } from '../../lib/table/table-scanner.ts';
import { environmentWithoutAws } from '../support/commands/environment-without-aws.ts';
import { COMMANDS } from '../support/commands/run-command.ts';
import { type InMemoryScanner, inMemoryScanner } from '../support/doubles/in-memory-scanner.ts';
import {
  type Input,
  respondFrom,
  type ScriptedResponse,
  scriptedAws,
} from '../support/doubles/scripted-aws.ts';
import { INTACT_ITEMS } from '../support/instance/intact-items.ts';

/*
 * Exit codes and complete output of the operator's commands on a scripted table: as a process once
 * for each exit code and each argument, otherwise in this process.
 */

const ROOT = join(import.meta.dirname, '../..');

const stops: (() => void)[] = [];
afterAll(() => {
  for (const stop of stops) stop();
});

/** Serves a table as AWS on loopback; an override replaces the response to a call. */
async function serve(table: InMemoryScanner, override: Override = () => undefined) {
  const aws = await scriptedAws(
    (operation, input) => override(operation, input) ?? respondFrom(table, operation, input),
  );
  stops.push(aws.stop);
  return aws;
}

const operatorsClient = (environment: Awaited<ReturnType<typeof serve>>['environment']) =>
  scannerClient({
    endpoint: environment.AWS_ENDPOINT_URL,
    region: environment.AWS_REGION,
    credentials: OPERATOR,
  });

/**
 * Serves a table as the engine of a new state folder. Returns the environment of a command that
 * opens it.
 */
async function serveLocally(table: InMemoryScanner, override: Override = () => undefined) {
  const { environment } = await serve(table, (operation, input) =>
    operation === 'ListTables' ? { TableNames: ['Gate'] } : override(operation, input),
  );
  return { STATE_DIR: newFolder(), AWS_ENDPOINT_URL_DYNAMODB: environment.AWS_ENDPOINT_URL };
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-commands-'));
  stops.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function run(
  script: string,
  options: readonly string[],
  environment: object = {},
  cwd = ROOT,
) {
  const { code, stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [join(ROOT, COMMANDS), script, ...options],
    {
      cwd,
      env: {
        ...environmentWithoutAws(),
        STATE_DIR: ':memory:',
        ...environment,
      },
    },
  )
    .then((output) => ({ code: 0, ...output }))
    .catch((error: ExecFileException & { stdout: string; stderr: string }) => error);
  return { code, stdout: stdout.split('\n').slice(0, -1), stderr: stderr.split('\n').slice(0, -1) };
}

/** Runs a command on the table Gate in this process, which takes less time than in its own. */
async function runHere(
  { execute }: typeof verifyCommand,
  options: readonly string[],
  environment: Record<string, string>,
) {
  const lines: Record<'stdout' | 'stderr', string[]> = { stdout: [], stderr: [] };
  const spies = (['stdout', 'stderr'] as const).map((stream) =>
    vi.spyOn(process[stream], 'write').mockImplementation((text) => {
      lines[stream].push(String(text).replace(/\n$/, ''));
      return true;
    }),
  );
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  try {
    return { code: await execute(['--table', 'Gate', ...options]), ...lines };
  } finally {
    vi.unstubAllEnvs();
    for (const spy of spies) spy.mockRestore();
  }
}

type Override = (operation: string, input: Input) => ScriptedResponse | undefined;
const overrideOf =
  (operation: string, response: ScriptedResponse): Override =>
  (called) =>
    called === operation ? response : undefined;

const cancelled = (...codes: string[]) => ({
  error: 'TransactionCanceledException',
  CancellationReasons: codes.map((Code) => ({ Code })),
});
/** Stands for an outage: the SDK does not retry it, so no test has to wait. */
const OUTAGE = { error: 'TransactionConflictException' };

describe('npm run verify', () => {
  const USAGE = 'Usage: npm run verify -- [--table NAME] [--repair]';
  const STARTED = ['Verifying Gate'];
  const SUMMARY = '18 items (users: 3, integrations: 1, parameters: 2):';
  const MISSING = [
    'login-guard-missing: User 3 has a login whose guard LOGIN#alice / GUARD does not exist.',
    '  --repair claims LOGIN#alice / GUARD for user 3',
  ];
  const GHOST = [
    'unknown-item: GHOST / x is of a kind that this version does not know.',
    '  cannot be repaired: its purpose is unknown; if a newer version has written it, ' +
      'verify with that version, otherwise delete it by hand',
  ];

  async function verify(
    repair: boolean,
    change: (table: InMemoryScanner) => void,
    override?: Override,
  ) {
    const table = inMemoryScanner(INTACT_ITEMS);
    change(table);
    const { environment, calls } = await serve(table, override);
    const options = repair ? ['--repair'] : [];
    return { ...(await runHere(verifyCommand, options, environment)), calls };
  }

  it('has findings when one cannot be repaired, even with --repair', async () => {
    const ghost = await verify(true, (table) => table.put({ pk: 'GHOST', sk: 'x' }, {}));

    expect(ghost).toEqual({
      code: 1,
      stdout: [
        ...STARTED,
        ...GHOST,
        '19 items (users: 3, integrations: 1, parameters: 2): 1 finding',
      ],
      stderr: [],
      calls: ['Scan', 'GetItem', 'GetItem', 'GetItem'],
    });
  });

  it('has findings when some remain after a repair, and prints both verifications', async () => {
    const both = await verify(true, (table) => {
      table.put({ pk: 'GHOST', sk: 'x' }, {});
      table.remove(loginGuardKey('alice'));
    });

    expect([both.code, both.stderr]).toEqual([1, []]);
    expect(both.stdout).toEqual([
      ...STARTED,
      ...GHOST,
      ...MISSING,
      `${SUMMARY} 2 findings`,
      'Repair: claims LOGIN#alice / GUARD for user 3',
      'Verifying the repaired table',
      ...GHOST,
      '19 items (users: 3, integrations: 1, parameters: 2): 1 finding',
    ]);
  });

  it.concurrent('exits with 0 when all is repaired, repairs nothing without --repair', async () => {
    const verifyDamaged = async (options: readonly string[]) => {
      const table = inMemoryScanner(INTACT_ITEMS);
      table.remove(loginGuardKey('alice'));
      const { environment, calls } = await serve(table);
      return { ...(await run('verify', ['--table', 'Gate', ...options], environment)), calls };
    };
    const [repaired, verified] = await Promise.all([
      verifyDamaged(['--repair']),
      verifyDamaged([]),
    ]);

    expect([repaired.code, repaired.stdout.at(-1)]).toEqual([0, `${SUMMARY} no findings`]);
    expect([verified.code, verified.stdout]).toEqual([
      1,
      [...STARTED, ...MISSING, '17 items (users: 3, integrations: 1, parameters: 2): 1 finding'],
    ]);
    expect(verified.calls).not.toContain('TransactWriteItems');
  });

  it('has not verified a total that stays undecided, unless there are findings', async () => {
    let changes = 0;
    const changing: Override = (operation, { Key }) =>
      operation === 'GetItem' && Key.pk.S === 'TOTAL'
        ? {
            Item: {
              pk: { S: 'TOTAL' },
              sk: { S: 'USER' },
              n: { N: '9' },
              changes: { N: String(++changes) },
            },
          }
        : undefined;
    const wrongTotal = (table: InMemoryScanner) => table.put(totalKey('USER'), { n: 9 });
    const undecided = await verify(false, wrongTotal, changing);
    const both = await verify(
      false,
      (table) => {
        wrongTotal(table);
        table.put({ pk: 'GHOST', sk: 'x' }, {});
      },
      changing,
    );

    const UNDECIDED =
      'Undecided: TOTAL / USER could not be verified: it kept changing. Verify again at ' +
      'a quieter time.';
    expect([undecided.code, undecided.stdout]).toEqual([
      2,
      [...STARTED, UNDECIDED, `${SUMMARY} no findings`],
    ]);
    expect([both.code, both.stdout.slice(1, -1)]).toEqual([1, [...GHOST, UNDECIDED]]);
  });

  it('reports its progress', async () => {
    const page = Array.from({ length: 10_000 }, (_, index) => ({
      pk: { S: `RESET#${index}` },
      sk: { S: 'RESET' },
      userId: { N: '1' },
      expires: { N: '1' },
    }));
    const pages = [{ Items: page }];
    const { stderr, code } = await verify(
      false,
      () => undefined,
      (operation) => (operation === 'Scan' ? pages.shift() : undefined),
    );

    expect(code).toBe(0);
    expect(stderr[0]).toMatch(/^\d+ items read$/);
  });

  it.each<[string, Override, string]>([
    [
      'a table of another application',
      overrideOf('Scan', { Items: [{ id: { S: 'x' } }] }),
      'Gate is not a Gatehouse table.',
    ],
    [
      'a missing table',
      overrideOf('Scan', {
        error: 'ResourceNotFoundException',
        message: 'Requested resource not found',
      }),
      'There is no table Gate in this account and region: check the credentials and AWS_REGION.',
    ],
  ])('prints one sentence for %s', async (_, override, sentence) => {
    const { code, stdout, stderr } = await verify(false, () => undefined, override);

    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: STARTED,
      stderr: [sentence],
    });
  });

  it.concurrent('exits with 2 when the local table is not a Gatehouse table', async () => {
    const foreign = overrideOf('Scan', { Items: [{ id: { S: 'x' } }] });
    const { code, stdout, stderr } = await run(
      'verify',
      [],
      await serveLocally(inMemoryScanner([]), foreign),
    );

    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: STARTED,
      stderr: ['Gate is not a Gatehouse table.'],
    });
  });

  it.concurrent('names the local database when its engine cannot read it', async () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'gatehouse.db'), 'not a database');
    const { code, stdout, stderr } = await run('verify', [], { STATE_DIR: folder });

    expect({ code, stdout }).toEqual({ code: 2, stdout: [] });
    expect(stderr).toEqual([
      expect.stringMatching(/gatehouse\.db is not a valid database: restore .+ from a backup/),
    ]);
  });

  it('prints one sentence when the outcome of a repair is unknown', async () => {
    const { code, stdout, stderr } = await verify(
      true,
      (table) => table.remove(loginGuardKey('alice')),
      overrideOf('TransactWriteItems', OUTAGE),
    );

    expect(code).toBe(2);
    expect(stdout.at(-1)).toBe('Repair: claims LOGIN#alice / GUARD for user 3');
    expect(stderr).toEqual([
      'The table did not respond in time. The last repair may have taken effect: verify again.',
    ]);
  });

  it.concurrent.each([
    [
      ['--table', ''],
      ['--table requires a value.', USAGE],
    ],
    [['Gate'], ['Unexpected argument: Gate.', USAGE]],
    [
      [],
      [
        'STATE_DIR=:memory: stores no table. Use --table with a running service: `npm ' +
          'start` prints its AWS_ENDPOINT_URL and table.',
      ],
    ],
  ] as [string[], string[]][])(
    'exits with 2 and a short message for the options %j',
    async (options, messages) => {
      expect(await run('verify', options)).toEqual({ code: 2, stdout: [], stderr: messages });
    },
  );
});

it.each([
  ['verify', 2],
  ['adopt', 1],
])('npm run %s exits with %i on SIGINT and on SIGTERM', async (script, status) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const { environment, calls } = await serve(inMemoryScanner([]), () => 'no-response');
    const child = spawn(process.execPath, [COMMANDS, script, '--table', 'Gate'], {
      cwd: ROOT,
      env: { ...environmentWithoutAws(), ...environment },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const ended = once(child, 'exit');

    await once(child.stdout, 'data');
    while (calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    child.kill(signal);

    expect(await ended).toEqual([status, null]);
  }
});

describe('npm run adopt', () => {
  afterEach(() => vi.useRealTimers());

  const USAGE = [
    'Usage: npm run adopt -- [--table NAME [--like TABLE] [--environment NAME] [--pepper-key ARN]',
    '                      [--values-key ARN] [--unprotected]',
    '                      [--original TABLE [--apply [--keep IDS]]]] [--skip IDS]',
  ];
  const REQUIRED = ['gatehouse:environment', 'gatehouse:pepper-key', 'gatehouse:values-key'];
  const TAGS = [...REQUIRED, 'aws:cloudformation:stack-name'].map((Key) => ({
    Key,
    Value: `of ${Key}`,
  }));
  const publicKey = { pk: 'JWKS', sk: 'kid', jwk: {} };
  const reset = (name: string) => ({ pk: `RESET#${name}`, sk: 'RESET', userId: 1, expires: 1 });

  const tableWith = (settings: object) => ({
    Table: { TableName: 'Gate', TableArn: 'arn:gate', ...settings },
  });
  const TABLE_CALLS: Record<string, ScriptedResponse> = {
    DescribeTable: tableWith({ TableStatus: 'ACTIVE', LatestStreamArn: 'arn:stream' }),
    ListTagsOfResource: { Tags: TAGS },
    TagResource: {},
    DescribeTimeToLive: { TimeToLiveDescription: { TimeToLiveStatus: 'DISABLED' } },
    UpdateTimeToLive: {},
    UpdateContinuousBackups: {},
    UpdateTable: {},
  };

  type Items = Parameters<typeof inMemoryScanner>[0];

  async function serveTable(items: Items, override?: Override) {
    const table = inMemoryScanner(items);
    const inputs: Record<string, Input> = {};
    const tableUpdates: Input[] = [];
    const { environment, calls } = await serve(table, (operation, input) => {
      inputs[operation] = input;
      if (operation === 'UpdateTable') tableUpdates.push(input);
      return (
        override?.(operation, input) ??
        (operation in TABLE_CALLS ? TABLE_CALLS[operation] : undefined)
      );
    });
    return { environment, table, inputs, tableUpdates, calls };
  }

  async function runAdopt(options: readonly string[], items: Items) {
    const served = await serveTable(items);
    return {
      ...(await run('adopt', ['--table', 'Gate', ...options], served.environment)),
      ...served,
    };
  }

  async function adopt(items: Items, override?: Override) {
    const { environment, calls } = await serveTable(items, override);
    return { ...(await runHere(adoptCommand, ['--skip', '1'], environment)), calls };
  }

  it.concurrent('sets what a restore does not copy, and prints every change', async () => {
    const { code, stdout, stderr, table, inputs, tableUpdates } = await runAdopt(
      [],
      [...INTACT_ITEMS, reset('a'), reset('b'), publicKey],
    );

    expect({ code, stderr }).toEqual({ code: 0, stderr: [] });
    expect(stdout).toEqual([
      'Adopting Gate',
      'The next USER id is 1000004; it was 4',
      'The next INTEGRATION id is 1000005; it was 5',
      expect.stringMatching(
        /^Tokens issued before 20\d\d-\S+:\d\d\.000Z are rejected: all users must log in again$/,
      ),
      'Deleted 2 reset keys: users who still need one must request another',
      'Public signing keys deleted, of which the first login publishes the current ones: 1',
      'Modules flagged to restart, because the restore may have undone their parameters: 1',
      'Accounts are as in the backup: deletions, deactivations, changes of roles and ' +
        'replaced passwords since then are undone. --original TABLE lists them if the ' +
        'original table still exists',
      'Tags: gatehouse:environment, gatehouse:pepper-key, gatehouse:values-key',
      'Expired items are deleted (time to live on expires)',
      'Deletion protection and point-in-time recovery are enabled',
      'Maximum: none. The deployment that adopts the table prints the command that sets ' +
        'tableMaximum',
      'Stream, of keys only. The setting of cdk.json: "existing": { "table": "Gate", ' +
        '"tableStream": "arn:stream" }',
      'Verifying Gate',
      expect.stringMatching(
        /^\d\d items \(users: 3, integrations: 1, parameters: 2\): no findings$/,
      ),
    ]);
    expect(table.items.filter(({ pk }) => pk.startsWith('RESET#'))).toEqual([]);
    expect(inputs.TagResource).toEqual({ ResourceArn: 'arn:gate', Tags: TAGS.slice(0, 3) });
    expect(inputs.UpdateTimeToLive?.TimeToLiveSpecification).toEqual({
      AttributeName: 'expires',
      Enabled: true,
    });
    expect(inputs.UpdateContinuousBackups?.PointInTimeRecoverySpecification).toEqual({
      PointInTimeRecoveryEnabled: true,
    });
    expect(tableUpdates).toEqual([
      {
        TableName: 'Gate',
        StreamSpecification: { StreamEnabled: true, StreamViewType: 'KEYS_ONLY' },
      },
      { TableName: 'Gate', DeletionProtectionEnabled: true },
    ]);
  });

  it.each([
    ['ahead of', 31_900],
    ['behind', -31_900],
  ])('changes nothing with a clock that is %s that of DynamoDB', async (direction, aheadMs) => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + aheadMs });

    const { code, stderr, calls } = await adopt(INTACT_ITEMS);

    expect(code).toBe(1);
    expect(stderr).toEqual([
      expect.stringMatching(
        `^The clock of this machine is 3[123] seconds ${direction} that of DynamoDB: ` +
          'correct it. Nothing was changed.$',
      ),
    ]);
    expect(calls).toEqual(['DescribeTable']);
  });

  it.each([28_900, -28_900])(
    'adopts a table with a clock that is %i ms ahead of that of DynamoDB',
    async (aheadMs) => {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + aheadMs });

      expect((await adopt(INTACT_ITEMS)).code).toBe(0);
    },
  );

  it('does not enable what is enabled already, which DynamoDB would reject', async () => {
    const { code, stdout, calls } = await adopt(INTACT_ITEMS, (operation) => {
      if (operation === 'DescribeTimeToLive')
        return { TimeToLiveDescription: { TimeToLiveStatus: 'ENABLING' } };
      const maximum = { MaxReadRequestUnits: 8, MaxWriteRequestUnits: 7 };
      const settings = {
        TableStatus: 'ACTIVE',
        DeletionProtectionEnabled: true,
        OnDemandThroughput: maximum,
      };
      const stream = {
        StreamSpecification: { StreamEnabled: true, StreamViewType: 'KEYS_ONLY' },
        LatestStreamArn: 'arn:old',
      };
      return operation === 'DescribeTable' ? tableWith({ ...settings, ...stream }) : undefined;
    });

    expect(code).toBe(0);
    expect(calls.filter((call) => /^Update(TimeToLive|Table)$/.test(call))).toEqual([]);
    expect(stdout).toContain('Maximum: 8 read and 7 write units a second');
    expect(stdout).toContainEqual(expect.stringContaining('"tableStream": "arn:old"'));
  });

  it('waits until the table with the new stream is active before the next update', async () => {
    let described = 0;
    const { code, calls } = await adopt(INTACT_ITEMS, (operation) =>
      operation === 'DescribeTable'
        ? tableWith({ TableStatus: ++described === 2 ? 'UPDATING' : 'ACTIVE' })
        : undefined,
    );

    expect(code).toBe(0);
    expect(calls.slice(calls.indexOf('UpdateTable')).slice(0, 5)).toEqual([
      ...['UpdateTable', 'DescribeTable', 'DescribeTable', 'DescribeTable', 'UpdateTable'],
    ]);
  });

  it.concurrent('adopts the local table without --table, and verifies it', async () => {
    const { code, stdout } = await run(
      'adopt',
      [],
      await serveLocally(inMemoryScanner(INTACT_ITEMS)),
    );

    expect([code, stdout[0], stdout.at(-2), stdout.at(-1)]).toEqual([
      0,
      'Adopting Gate',
      'Verifying Gate',
      expect.stringMatching(
        /^\d\d items \(users: 3, integrations: 1, parameters: 2\): no findings$/,
      ),
    ]);
  });

  it.concurrent('skips the given number of ids, and protects nothing if asked', async () => {
    const options = ['--skip', '999999999', '--unprotected'];
    const { code, stdout, calls, tableUpdates } = await runAdopt(options, [
      ...INTACT_ITEMS,
      reset('a'),
    ]);

    expect(code).toBe(0);
    expect(stdout[1]).toBe('The next USER id is 1000000003; it was 4');
    expect(stdout[4]).toBe('Deleted 1 reset key: users who still need one must request another');
    expect(stdout).toContain('The table is not protected');
    expect(calls).not.toContain('UpdateContinuousBackups');
    expect(tableUpdates).toMatchObject([{ StreamSpecification: {} }]);
  });

  it.each<[string, Override, string]>([
    [
      'a missing permission',
      overrideOf('GetItem', { error: 'AccessDeniedException', message: 'not authorized' }),
      'The adoption is incomplete. A permission is missing (docs/commands.md lists ' +
        'them): not authorized. Run the command again.',
    ],
    [
      'an unavailable table',
      (operation, input) =>
        operation === 'TransactWriteItems' ? OUTAGE : input.Key && { Item: { n: { N: '1' } } },
      'The adoption is incomplete. The table did not respond in time. Run the command again.',
    ],
    [
      'a missing table',
      overrideOf('DescribeTable', { error: 'ResourceNotFoundException', message: 'no such table' }),
      'There is no table Gate in this account and region: check the credentials and ' +
        'AWS_REGION. Nothing was changed.',
    ],
  ])('prints one sentence for %s', async (_, override, sentence) => {
    const { code, stdout, stderr } = await adopt([], override);

    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: ['Adopting Gate'],
      stderr: [sentence],
    });
  });

  it.each<[string, Record<string, ScriptedResponse>, string]>([
    [
      'is being restored',
      { DescribeTable: tableWith({ TableStatus: 'CREATING' }) },
      'Gate is CREATING: run the command again when it is ACTIVE.',
    ],
    [
      'has a stream of other content',
      {
        DescribeTable: tableWith({
          TableStatus: 'ACTIVE',
          StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_IMAGE' },
        }),
      },
      'Gate has a stream of NEW_IMAGE instead of KEYS_ONLY: disable it with aws dynamodb ' +
        'update-table --table-name Gate --stream-specification StreamEnabled=false.',
    ],
    [
      'lacks the tag of its environment',
      { ListTagsOfResource: { Tags: TAGS.slice(1) } },
      'Gate lacks the tag gatehouse:environment: add --like TABLE or --environment NAME.',
    ],
    [
      'lacks the tag of a key',
      { ListTagsOfResource: { Tags: TAGS.slice(0, 2) } },
      'Gate lacks the tag gatehouse:values-key: add --like TABLE or --values-key ARN.',
    ],
  ])('rejects a table that %s', async (_, responses, sentence) => {
    const { environment } = await serve(
      inMemoryScanner([]),
      (operation) => ({ ...TABLE_CALLS, ...responses })[operation],
    );

    const plan = planSettings(operatorsClient(environment), 'Gate', {
      tags: {},
      isProtected: true,
    });

    await expect(plan).rejects.toThrow(new Error(sentence));
  });

  it.concurrent.each([
    [['--skip='], ['--skip requires a value.', ...USAGE]],
    ...['0', '1.5', '1000000000'].map((skip): [string[], string[]] => [
      [`--skip=${skip}`],
      ['--skip must be a whole number from 1 to 999999999.', ...USAGE],
    ]),
    [['--nonsense'], ["Unknown option '--nonsense'.", ...USAGE]],
  ] as [string[], string[]][])(
    'exits with 2 and a short message for the options %j',
    async (options, messages) => {
      expect(await run('adopt', options)).toEqual({ code: 2, stdout: [], stderr: messages });
    },
  );

  it.concurrent('exits with 1 and one sentence for a table of another application', async () => {
    const { code, stdout, stderr } = await runAdopt([], []);

    const sentence =
      'Gate is not a Gatehouse table: it has no administrator roster. Nothing was changed.';
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: ['Adopting Gate'],
      stderr: [sentence],
    });
  });

  it.concurrent('exits with 1 when there is no local table', async () => {
    expect(await run('adopt', [])).toEqual({
      code: 1,
      stdout: [],
      stderr: [
        'STATE_DIR=:memory: stores no table. Use --table with a running service: `npm ' +
          'start` prints its AWS_ENDPOINT_URL and table.',
      ],
    });
  });

  it('reports its progress', async () => {
    const pages = [
      {
        Items: Array.from({ length: 10_000 }, (_, n) => ({ pk: { S: `X#${n}` }, sk: { S: 'X' } })),
      },
    ];
    const { code, stderr } = await adopt(INTACT_ITEMS, (operation) =>
      operation === 'Scan' && pages.length > 0 ? pages.pop() : undefined,
    );

    expect([code, stderr[0]]).toEqual([0, expect.stringMatching(/^\d+ items read$/)]);
  });
});

it.each([
  ['password-keys', 'users', []],
  ['export', 'records', [join(newFolder(), 'export.jsonl')]],
])('npm run %s reports its progress in %s', async (script, items, options) => {
  let users = 0;
  const page = () =>
    Array.from({ length: 1000 }, () =>
      marshall({ ...INTACT_ITEMS[0], sk: idText(++users), id: users }),
    );
  const { environment } = await serve(
    inMemoryScanner([]),
    (operation, { ExpressionAttributeValues }) => {
      if (operation === 'DescribeTable') return { Table: { TableArn: 'arn:of-gate' } };
      if (operation === 'ListTagsOfResource')
        return {
          Tags: ['pepper', 'values'].map((key) => ({
            Key: `gatehouse:${key}-key`,
            Value: 'arn:key',
          })),
        };
      const isPage =
        operation === 'Query' && ExpressionAttributeValues[':pk'].S === 'USER' && users < 10_000;
      return isPage ? { Items: page() } : undefined;
    },
  );
  const { code, stderr } = await run(script, ['--table', 'Gate', ...options], environment);

  expect([code, stderr[0]]).toEqual([0, expect.stringMatching(`^\\d+ ${items}$`)]);
});

describe('npm run first-admin', () => {
  const USAGE = 'Usage: npm run first-admin -- --table NAME --login LOGIN --email ADDRESS';
  const ADMINISTRATOR = ['--login', 'root', '--email', 'root@example.com'];

  async function serveTable(
    table: InMemoryScanner,
    override: Override = () => undefined,
    tags = [{ Key: 'gatehouse:pepper-key', Value: 'pepper-1' }],
  ) {
    const inputs: Record<string, Input[]> = {};
    const { environment } = await serve(table, (operation, input) => {
      inputs[operation] = [...(inputs[operation] ?? []), input];
      const overridden = override(operation, input);
      if (overridden) return overridden;
      if (operation === 'DescribeTable') return { Table: { TableArn: 'arn:of-gate' } };
      if (operation === 'ListTagsOfResource')
        return { Tags: [{ Key: 'other', Value: 'x' }, ...tags] };
      if (operation === 'GenerateMac') return { Mac: Buffer.alloc(32).toString('base64') };
      if (operation === 'UpdateItem') return { Attributes: { n: { N: '8' } } };
      return undefined;
    });
    return { environment, inputs };
  }

  const runFirstAdmin = (environment: object) =>
    run('first-admin', ['--table', 'Gate', ...ADMINISTRATOR], environment);

  async function firstAdmin(...served: Parameters<typeof serveTable>) {
    const { environment } = await serveTable(...served);
    return runHere(firstAdminCommand, ADMINISTRATOR, environment);
  }

  it.concurrent('prints the password of the new administrator once', async () => {
    const { environment, inputs } = await serveTable(inMemoryScanner([]));
    const { code, stdout, stderr } = await runFirstAdmin(environment);

    expect({ code, stderr }).toEqual({ code: 0, stderr: [] });
    expect(stdout).toEqual([
      'root is now an administrator of Gate.',
      expect.stringMatching(/^Password: [\w-]{20}$/),
      'The password is shown only once and stored nowhere: log in and change it.',
    ]);
    expect(inputs.DescribeTable?.[0]).toEqual({ TableName: 'Gate' });
    expect(inputs.ListTagsOfResource?.[0]).toEqual({ ResourceArn: 'arn:of-gate' });
    expect(inputs.GenerateMac?.[0]?.KeyId).toBe('pepper-1');
  });

  it.concurrent('exits with 1 and one sentence for a table that has an administrator', async () => {
    const hasAdministrator = overrideOf('GetItem', { Item: { ids: { NS: ['1'] } } });
    const { environment } = await serveTable(inMemoryScanner([]), hasAdministrator);
    const { code, stdout, stderr } = await runFirstAdmin(environment);

    const sentence = 'Gate already has an administrator. Nothing was changed.';
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: [], stderr: [sentence] });
  });

  it.each<[string, Override, { Key: string; Value: string }[], string]>([
    [
      'a table without the tag',
      () => undefined,
      [],
      'Gate is not a Gatehouse table: it lacks the tag gatehouse:pepper-key.',
    ],
    [
      'a missing table',
      overrideOf('DescribeTable', { error: 'ResourceNotFoundException', message: 'no such table' }),
      [],
      'There is no table Gate in this account and region: check the credentials and AWS_REGION.',
    ],
    [
      'a login that is taken',
      (operation, { TransactItems = [] }) =>
        operation === 'TransactWriteItems'
          ? cancelled(
              ...TransactItems.map(({ Put }: Input) =>
                Put?.Item.pk.S === loginGuardKey('root').pk ? 'ConditionalCheckFailed' : 'None',
              ),
            )
          : undefined,
      [{ Key: 'gatehouse:pepper-key', Value: 'k' }],
      'The login root is taken. Nothing was changed.',
    ],
  ])('prints one sentence for %s', async (_, override, tags, sentence) => {
    const { code, stdout, stderr } = await firstAdmin(inMemoryScanner([]), override, tags);

    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: [], stderr: [sentence] });
  });

  it('prints the password even when the outcome is unknown', async () => {
    const outage = overrideOf('TransactWriteItems', OUTAGE);
    const { code, stdout, stderr } = await firstAdmin(inMemoryScanner([]), outage);

    expect({ code, stdout }).toEqual({ code: 1, stdout: [] });
    expect(stderr).toEqual([
      expect.stringMatching(
        /^The table did not respond.* If it does, its password is [\w-]{20}; otherwise run the command again\.$/,
      ),
    ]);
  });

  it.each(['SIGINT', 'SIGTERM'] as const)(
    'prints the password and exits with 1 on %s',
    async (signal) => {
      const neverResponds = overrideOf('TransactWriteItems', 'no-response');
      const { environment, inputs } = await serveTable(inMemoryScanner([]), neverResponds);
      const child = spawn(
        process.execPath,
        [COMMANDS, 'first-admin', '--table', 'Gate', ...ADMINISTRATOR],
        {
          cwd: ROOT,
          env: { ...environmentWithoutAws(), ...environment },
        },
      );
      const ended = once(child, 'exit');
      const stderr = text(child.stderr);

      while (!inputs.TransactWriteItems) await new Promise((resolve) => setTimeout(resolve, 2));
      child.kill(signal);

      expect(await ended).toEqual([1, null]);
      expect(await stderr).toMatch(
        /^The command was interrupted.* If it does, its password is [\w-]{20}; otherwise run the command again\.\n$/,
      );
    },
  );

  it.concurrent.each([
    [[], '--table is missing.'],
    [['--table', 'Gate', '--email', 'root@example.com'], '--login is missing.'],
    [['--table', 'Gate', '--login', 'root'], '--email is missing.'],
    [
      ['--table', 'Gate', '--login', 'a b', '--email', 'root'],
      expect.stringMatching(/^--login must have 1 to 50 /),
    ],
    [
      ['--table', 'Gate', '--login', 'root', '--email', 'root'],
      '--email must be an e-mail address.',
    ],
    [['--nonsense'], "Unknown option '--nonsense'."],
  ])('exits with 2 and one sentence for the options %j', async (options, sentence) => {
    expect(await run('first-admin', options)).toEqual({
      code: 2,
      stdout: [],
      stderr: [sentence, USAGE],
    });
  });
});

const SCRIPTS = ['verify', 'adopt', 'first-admin', 'import', 'export', 'password-keys'];
it.concurrent.each(SCRIPTS)('npm run %s explains itself with --help', async (script) => {
  const { code, stdout, stderr } = await run(script, ['--help']);

  expect([code, stderr, stdout[0]]).toEqual([
    0,
    [],
    expect.stringMatching(`^Usage: npm run ${script} -- `),
  ]);
  expect(stdout).toContain('Exit status');
});

describe.concurrent('a command', () => {
  const CREDENTIALS = { AWS_ACCESS_KEY_ID: 'operator', AWS_SECRET_ACCESS_KEY: 'local' };
  const NO_PROFILE = { AWS_EC2_METADATA_DISABLED: 'true', HOME: '/nowhere' };
  const REGION = { AWS_REGION: 'eu-north-1' };

  it.each<[string, Record<string, string>, string]>([
    ['no region', { ...NO_PROFILE, ...CREDENTIALS }, 'There is no AWS region: set AWS_REGION.'],
    [
      'no credentials',
      { ...NO_PROFILE, ...REGION },
      'There are no AWS credentials, for example in AWS_PROFILE: Could not load ' +
        'credentials from any providers.',
    ],
    [
      'an endpoint without a server',
      { ...CREDENTIALS, ...REGION, AWS_ENDPOINT_URL: 'http://127.0.0.1:9' },
      'The table cannot be reached: the service may have been stopped.',
    ],
    [
      'a host that does not exist',
      { ...CREDENTIALS, ...REGION, AWS_ENDPOINT_URL: 'http://gatehouse.invalid' },
      'The host gatehouse.invalid is unknown: check AWS_REGION and the network.',
    ],
  ])('prints one sentence for %s', async (_, environment, sentence) => {
    const { code, stderr } = await run('verify', ['--table', 'Gate'], environment);

    expect([code, stderr]).toEqual([2, [sentence]]);
  });

  it.each<[script: string, options: string[], variable: string, status: number]>([
    ['verify', ['--table', 'Gate'], 'AWS_ENDPOINT_URL_DYNAMODB', 2],
    ['verify', ['--table', 'Gate'], 'AWS_ENDPOINT_URL', 2],
    ['import', ['--table', 'Gate', 'package.json'], 'AWS_ENDPOINT_URL', 3],
    [
      'first-admin',
      ['--table', 'Gate', '--login', 'a', '--email', 'a@example.com'],
      'AWS_ENDPOINT_URL',
      1,
    ],
    ['preflight', ['--env', 'dev'], 'AWS_ENDPOINT_URL', 2],
  ])('%s %j rejects %s without a URL', async (script, options, variable, status) => {
    const environment = { ...CREDENTIALS, ...REGION, [variable]: 'localhost:8000' };
    const { code, stderr } = await run(script, options, environment);

    const rule =
      'must be a URL that starts with http:// or https://, for example http://127.0.0.1:8000';
    expect([code, stderr]).toEqual([status, [`${variable} ${rule}, not localhost:8000.`]]);
  });

  it.each<[script: string, options: string[], status: number]>([
    ['verify', ['--table', 'Gate'], 2],
    ['adopt', ['--table', 'Gate'], 1],
    ['password-keys', ['--table', 'Gate'], 2],
    ['import', ['--table', 'Gate', 'package.json'], 3],
    ['export', ['--table', 'Gate', 'not-exported.jsonl'], 3],
    ['first-admin', ['--table', 'Gate', '--login', 'a', '--email', 'a@example.com'], 1],
    ['preflight', ['--env', 'dev'], 2],
  ])('%s %j rejects a profile beside keys before any request', async (script, options, status) => {
    const { environment, calls } = await serve(inMemoryScanner([]));

    const { code, stderr } = await run(script, options, { ...environment, AWS_PROFILE: 'other' });

    const sentence =
      'AWS_PROFILE and AWS_ACCESS_KEY_ID are both set, and can be of different accounts: ' +
      'unset AWS_PROFILE, or ' +
      'AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.';
    expect([code, stderr, calls]).toEqual([status, [sentence], []]);
  });

  it.each([
    ['keys with a session token', { AWS_SESSION_TOKEN: 'token' }],
    ['keys with an empty profile', { AWS_PROFILE: '' }],
    [
      'a profile without keys',
      { AWS_PROFILE: 'other', AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' },
    ],
  ])('uses %s', async (_, variables) => {
    const { environment, calls } = await serve(inMemoryScanner([]));
    const profiles = join(newFolder(), 'credentials');
    writeFileSync(
      profiles,
      '[other]\naws_access_key_id = operator\naws_secret_access_key = local\n',
    );

    const { stderr } = await run('verify', ['--table', 'Gate'], {
      ...environment,
      ...variables,
      AWS_SHARED_CREDENTIALS_FILE: profiles,
    });

    expect([stderr, calls]).toEqual([[], expect.arrayContaining(['Scan'])]);
  });
});

// In this process. The tests above show that each command prints such a sentence and ends with its
// own status.
describe.concurrent('an error of AWS', () => {
  const message = 'so\n  it is.';

  it.each<[string, ScriptedResponse, string]>([
    [
      'a broken connection',
      'cut',
      'The table cannot be reached: the service may have been stopped.',
    ],
    [
      'a missing permission',
      { error: 'AccessDeniedException', message },
      'A permission is missing (docs/commands.md lists them): so it is.',
    ],
    [
      'expired credentials',
      { error: 'ExpiredTokenException' },
      'The AWS credentials have expired: renew them and run the command again.',
    ],
    [
      'unknown credentials',
      { error: 'UnrecognizedClientException', message },
      'AWS rejects the credentials: so it is.',
    ],
    [
      'any other error',
      { error: 'ValidationException', message },
      'ValidationException: so it is.',
    ],
  ])('is explained in one sentence: %s', async (_, response, sentence) => {
    const { environment } = await serve(inMemoryScanner([]), () => response);
    const scanner = openTableScanner([], 'Gate', operatorsClient(environment));

    const error = await verifyTable(scanner).catch((error) => error);

    expect(explainError(error, 'Gate')).toBe(sentence);
  });
});

it.each([
  ['verify', 'There is no table in .local yet: '],
  ['password-keys', 'No service runs on STATE_DIR=.local. '],
])('%s takes an empty STATE_DIR as the default', async (script, sentence) => {
  const { stderr } = await run(script, [], { STATE_DIR: '' }, newFolder());

  expect(stderr).toEqual([expect.stringContaining(sentence)]);
});

it('password-keys names the user whose hash is not readable', async () => {
  const { environment } = await serve(inMemoryScanner([]), (operation) => {
    if (operation === 'DescribeTable') return { Table: { TableArn: 'arn:of-gate' } };
    if (operation === 'ListTagsOfResource')
      return {
        Tags: ['pepper', 'values'].map((key) => ({
          Key: `gatehouse:${key}-key`,
          Value: 'arn:key',
        })),
      };
    return { Items: [{ id: { N: '7' }, sk: { S: '7' }, passwordHash: { S: 'damaged' } }] };
  });

  const { code, stderr } = await run('password-keys', ['--table', 'Gate'], environment);

  expect([code, stderr]).toEqual([2, ['User 7: A stored password hash is not readable.']]);
});
