import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { marshall } from '@aws-sdk/util-dynamodb';
import { afterAll, afterEach, describe, expect, inject, it, vi } from 'vitest';
import { COMMANDS, type Verb } from '../../infra/commands/admin.ts';
import { formatKey, READABLE_FORMAT, WRITTEN_FORMAT } from '../../lib/table/format.ts';
import { totalKey } from '../../lib/table/item-kind.ts';
import { idText } from '../../lib/table/keys.ts';
import { loginGuardKey } from '../../lib/users/user-items.ts';
import { environmentWithoutAws, PROGRAM, runCommand } from '../support/commands/run-command.ts';
import { inMemoryScanner } from '../support/doubles/memory-table.ts';
import { execute } from '../support/doubles/output.ts';
import {
  type Input,
  respondFrom,
  type ScriptedResponse,
  scriptedAws,
} from '../support/doubles/scripted-aws.ts';
import { INTACT_ITEMS } from '../support/doubles/stored-items.ts';
import { freezeClock } from '../support/doubles/time.ts';
import { newFolder, removeFolders } from '../support/instance/folders.ts';

/* The operator's commands on a scripted table, in this process unless the process matters. */

const ROOT = join(import.meta.dirname, '../..');
const GATE = ['--table', 'Gate'];
const ADMINISTRATOR = ['--login', 'root', '--email', 'root@example.com'];

const stops: (() => void)[] = [];
afterAll(() => {
  for (const stop of stops) stop();
  removeFolders();
});
afterEach(() => vi.useRealTimers());

/** Replaces the response to a call; undefined for the table's own. */
type Override = (operation: string, input: Input) => ScriptedResponse | undefined;
const overrideOf =
  (operation: string, response: ScriptedResponse): Override =>
  (called) =>
    called === operation ? response : undefined;

/** What AWS says about a table that a restore has created. */
const TAGS = [
  ...['gatehouse:environment', 'gatehouse:pepper-key', 'gatehouse:values-key'],
  'aws:cloudformation:stack-name',
].map((Key) => ({ Key, Value: `${Key}-1` }));
const tableWith = (settings: object) => ({
  Table: { TableName: 'Gate', TableArn: 'arn:gate', TableStatus: 'ACTIVE', ...settings },
});
const TABLE_CALLS: Record<string, ScriptedResponse> = {
  DescribeTable: tableWith({ LatestStreamArn: 'arn:stream' }),
  ListTagsOfResource: { Tags: TAGS },
  TagResource: {},
  DescribeTimeToLive: { TimeToLiveDescription: { TimeToLiveStatus: 'DISABLED' } },
  UpdateTimeToLive: {},
  UpdateContinuousBackups: {},
  UpdateTable: {},
  // Of the first administrator.
  GenerateMac: { Mac: Buffer.alloc(32).toString('base64') },
  UpdateItem: { Attributes: { n: { N: '8' } } },
};

/** The response to the read of the format, which every command makes first. */
const formatIn = (operation: string, { Key }: Input, format: number) =>
  operation === 'GetItem' && Key.pk.S === formatKey.pk
    ? { Item: marshall({ ...formatKey, format }) }
    : undefined;

async function serve(items: readonly object[], override: Override = () => undefined) {
  const table = inMemoryScanner(items as typeof INTACT_ITEMS);
  const inputs: Record<string, Input[]> = {};
  const aws = await scriptedAws((operation, input) => {
    inputs[operation] = [...(inputs[operation] ?? []), input];
    return (
      override(operation, input) ??
      formatIn(operation, input, WRITTEN_FORMAT) ??
      (Object.hasOwn(TABLE_CALLS, operation)
        ? TABLE_CALLS[operation]
        : respondFrom(table, operation, input))
    );
  });
  stops.push(aws.stop);
  return { ...aws, table, inputs };
}

/** Serves a table as the engine of a new state folder. Returns the environment of a command. */
async function serveLocally(items: readonly object[], override: Override = () => undefined) {
  const { environment } = await serve(items, (operation, input) =>
    operation === 'ListTables' ? { TableNames: ['Gate'] } : override(operation, input),
  );
  return { STATE_DIR: newFolder(), AWS_ENDPOINT_URL_DYNAMODB: environment.AWS_ENDPOINT_URL };
}

/** Lines of output, without what differs between runs. */
const linesOf = (output: string): string[] =>
  output
    .replace(/20\d\d-[\d:.T-]+Z/g, 'TIME')
    .replace(/(assword(?: is|:) )[\w-]{20}(?![\w-])/g, '$1PASSWORD')
    .split('\n')
    .slice(0, -1);

async function run(verb: string, args: readonly string[], environment: object = {}, root = ROOT) {
  const env = { STATE_DIR: ':memory:', ...environment };
  const { code, stdout, stderr } = await runCommand(verb, args, env, root);
  return { code, stdout: linesOf(stdout), stderr: linesOf(stderr) };
}

/** Runs a command in this process, which takes less time than in its own. */
async function runHere(verb: string, args: readonly string[], environment: object = {}) {
  const { command } = await COMMANDS[verb as Verb][1]();
  const { code, stdout, stderr } = await execute(command, args, environment);
  return { code, stdout: linesOf(stdout), stderr: linesOf(stderr) };
}

/** Starts a command, interrupts it when AWS got a call, and returns how it ended. */
async function interrupt(
  signal: NodeJS.Signals,
  verb: string,
  args: readonly string[],
  operation: string,
  items: readonly object[] = [],
) {
  const { environment, calls } = await serve(items, overrideOf(operation, 'no-response'));
  const child = spawn(process.execPath, [PROGRAM, 'admin', verb, ...GATE, ...args], {
    cwd: ROOT,
    env: { ...environmentWithoutAws(), ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'exit');
  const stderr = text(child.stderr);
  while (!calls.includes(operation)) await new Promise((resolve) => setTimeout(resolve, 2));
  child.kill(signal);
  const [code] = await ended;
  return { code, stderr: linesOf(await stderr) };
}

/** Stands for an outage: the SDK does not retry it, so no test has to wait. */
const OUTAGE = { error: 'TransactionConflictException' };
const NO_TABLE = { error: 'ResourceNotFoundException', message: 'no such table' };
const FOREIGN = { Items: [{ id: { S: 'x' } }] };

describe('npm run admin -- verify', () => {
  const GHOST = { pk: 'GHOST', sk: 'x' };
  const DAMAGED = INTACT_ITEMS.filter(({ pk }) => pk !== loginGuardKey('alice').pk);
  const WRONG_TOTAL = [
    ...INTACT_ITEMS.filter(({ pk, sk }) => pk !== 'TOTAL' || sk !== 'USER'),
    { ...totalKey('USER'), n: 9 },
  ];
  let changes = 0;
  const keepsChanging: Override = (operation, { Key }) =>
    operation === 'GetItem' && Key.pk.S === 'TOTAL'
      ? { Item: marshall({ ...totalKey('USER'), n: 9, changes: ++changes }) }
      : undefined;

  const UNDECIDED = /^Undecided: TOTAL \/ USER could not be verified/m;

  it.each<[string, number, string[], object[], RegExp, Override?]>([
    [
      'repairs one of two findings',
      1,
      ['--repair'],
      [...DAMAGED, GHOST],
      /^unknown-item: GHOST(.|\n)*: 2 findings\nRepair: claims LOGIN#alice(.|\n)*: 1 finding$/m,
    ],
    ['repairs the only finding', 0, ['--repair'], DAMAGED, /: no findings$/m],
    ['repairs nothing without being asked', 1, [], DAMAGED, /: 1 finding$/m],
    [
      'has a finding beside an undecided total',
      1,
      [],
      [...WRONG_TOTAL, GHOST],
      UNDECIDED,
      keepsChanging,
    ],
    ['reads a foreign table', 2, [], [], /is not a Gatehouse table/, overrideOf('Scan', FOREIGN)],
    ['finds no table', 2, [], [], /^There is no table Gate in this/m, overrideOf('Scan', NO_TABLE)],
    [
      'does not learn the outcome of a repair',
      2,
      ['--repair'],
      DAMAGED,
      /The last repair may have taken effect: verify again\.$/,
      overrideOf('TransactWriteItems', OUTAGE),
    ],
  ])('%s and exits with %i', async (_, status, options, items, printed, override) => {
    const { environment, calls } = await serve(items, override);

    const { code, stdout, stderr } = await runHere('verify', [...GATE, ...options], environment);

    expect(calls.includes('TransactWriteItems')).toBe(options.includes('--repair'));
    expect([code, [...stdout, ...stderr].join('\n')]).toEqual([
      status,
      expect.stringMatching(printed),
    ]);
  });
});

it.each([
  ['verify', 2],
  ['adopt', 1],
])('npm run admin -- %s exits with %i on SIGINT and on SIGTERM', async (script, status) => {
  const operation = script === 'verify' ? 'Scan' : 'DescribeTable';
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    expect((await interrupt(signal, script, [], operation)).code).toBe(status);
});

describe('npm run admin -- adopt', () => {
  const SKIP_ONE = ['--skip', '1'];

  async function adopt(
    override?: Override,
    options = SKIP_ONE,
    items: readonly object[] = INTACT_ITEMS,
  ) {
    const served = await serve(items, override);
    return { ...(await runHere('adopt', [...GATE, ...options], served.environment)), ...served };
  }

  it.each([
    ['ahead of', 38_000],
    ['behind', -33_000],
    ['nearly like', 28_900],
  ])(
    'needs a clock that is right: %s the clock of DynamoDB by %i ms',
    async (direction, aheadMs) => {
      freezeClock(Date.now() + aheadMs);

      const { code, stderr, calls } = await adopt();

      if (direction === 'nearly like') return expect(code).toBe(0);
      expect(code).toBe(1);
      expect(stderr).toEqual([
        expect.stringMatching(
          `is 3\\d seconds ${direction} DynamoDB's clock: .* Nothing was changed`,
        ),
      ]);
      expect(calls).toEqual(['GetItem', 'DescribeTable']);
    },
  );

  it('does not enable what is enabled already, which DynamoDB would reject', async () => {
    const { code, stdout, calls } = await adopt((operation) => {
      if (operation === 'DescribeTimeToLive')
        return { TimeToLiveDescription: { TimeToLiveStatus: 'ENABLING' } };
      if (operation !== 'DescribeTable') return undefined;
      return tableWith({
        DeletionProtectionEnabled: true,
        OnDemandThroughput: { MaxReadRequestUnits: 8, MaxWriteRequestUnits: 7 },
        StreamSpecification: { StreamEnabled: true, StreamViewType: 'KEYS_ONLY' },
        LatestStreamArn: 'arn:old',
      });
    });

    expect(code).toBe(0);
    expect(calls.filter((call) => /^Update(TimeToLive|Table)$/.test(call))).toEqual([]);
    expect(stdout).toContain('Maximum: 8 read and 7 write units a second');
    expect(stdout).toContainEqual(expect.stringContaining('"tableStream": "arn:old"'));
  });

  it('waits until the table with the new stream is active before the next update', async () => {
    let described = 0;
    const { code, calls } = await adopt((operation) =>
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
    const { code, stdout } = await run('adopt', [], await serveLocally(INTACT_ITEMS));

    expect([code, stdout[0], stdout.at(-2)]).toEqual([0, 'Adopting Gate', 'Verifying Gate']);
  });

  it.each<[string, RegExp, Override]>([
    [
      'that the operator may not read',
      /^The adoption is incomplete\. A permission is missing .* Run the command again\.$/,
      (operation, input) =>
        operation === 'GetItem' && !formatIn(operation, input, WRITTEN_FORMAT)
          ? { error: 'AccessDeniedException', message: 'not authorized' }
          : undefined,
    ],
    [
      'that is unavailable',
      /^The adoption is incomplete\. The table did not respond in time/,
      (operation, input) =>
        operation === 'TransactWriteItems' ? OUTAGE : input.Key && { Item: { n: { N: '1' } } },
    ],
    [
      'that is missing',
      /^There is no table Gate in .* Nothing was changed\.$/,
      overrideOf('DescribeTable', NO_TABLE),
    ],
    [
      'that is being restored',
      /^Gate is CREATING: run the command again when it is ACTIVE/,
      overrideOf('DescribeTable', tableWith({ TableStatus: 'CREATING' })),
    ],
    [
      'with a stream of other content',
      /NEW_IMAGE instead of KEYS_ONLY: disable it with aws dynamodb update-table/,
      overrideOf(
        'DescribeTable',
        tableWith({
          StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_IMAGE' },
        }),
      ),
    ],
    [
      'without the tag of its environment',
      /add --like TABLE or --environment/,
      overrideOf('ListTagsOfResource', { Tags: TAGS.slice(1) }),
    ],
  ])('prints one sentence for a table %s', async (_, sentence, override) => {
    const { code, stdout, stderr } = await adopt(override, SKIP_ONE, []);

    expect({ code, stdout }).toEqual({ code: 1, stdout: ['Adopting Gate'] });
    expect(stderr).toEqual([expect.stringMatching(sentence)]);
  });
});

it.each([
  ['password-keys', 'users', []],
  ['export', 'records', [join(newFolder(), 'export.jsonl')]],
])('npm run admin -- %s reports its progress in %s', async (script, items, options) => {
  let users = 0;
  const page = () =>
    Array.from({ length: 1000 }, () =>
      marshall({ ...INTACT_ITEMS[0], sk: idText(++users), id: users }),
    );
  const { environment } = await serve([], (operation, { ExpressionAttributeValues }) =>
    operation === 'Query' && ExpressionAttributeValues[':pk'].S === 'USER' && users < 10_000
      ? { Items: page() }
      : undefined,
  );

  const { code, stderr } = await run(script, [...GATE, ...options], environment);

  expect([code, stderr[0]]).toEqual([0, expect.stringMatching(`^\\d+ ${items}$`)]);
});

describe('npm run admin -- first-admin', () => {
  const cancelledBy =
    (pk: string): Override =>
    (operation, { TransactItems = [] }) =>
      operation === 'TransactWriteItems'
        ? {
            error: 'TransactionCanceledException',
            CancellationReasons: TransactItems.map(({ Put }: Input) => ({
              Code: Put?.Item.pk.S === pk ? 'ConditionalCheckFailed' : 'None',
            })),
          }
        : undefined;

  const RECOVERED = ['--login', 'admin', '--new-password'];
  const REMOVE = '--remove-second-factor';
  const NEW_UNKNOWN = /may or may not exist\. If it does, its password is PASSWORD; otherwise run/;
  const UNKNOWN = /not be changed\. If it is, its password is PASSWORD; otherwise run/;
  const OF_FACTOR_UNKNOWN = /not be changed\. Run the command again\.$/;
  const TAKEN = /^The address root@example.com is taken\. Nothing/;
  const secondFactor = { nonce: 'n', key: 'k', lastStep: 1, recoveryNonce: 'r', recoveryCodes: 1 };
  const WITH_FACTOR = INTACT_ITEMS.map((item) =>
    item.id === 1 && item.pk === 'USER' ? { ...item, secondFactor } : item,
  );
  const NO_TAGS = overrideOf('ListTagsOfResource', { Tags: [] });
  const UNKNOWN_OUTCOME = overrideOf('TransactWriteItems', OUTAGE);

  it.each<[string, RegExp, Override, args?: string[]]>([
    ['the table has no tags', /lacks the tag gatehouse:pepper-key/, NO_TAGS],
    ['the address is taken', TAKEN, cancelledBy('EMAIL#root@example.com')],
    ['the outcome is unknown', NEW_UNKNOWN, UNKNOWN_OUTCOME],
    [
      'it is unknown whether the factor is removed',
      OF_FACTOR_UNKNOWN,
      UNKNOWN_OUTCOME,
      ['--login', 'admin', REMOVE],
    ],
    [
      'it is unknown whether it has another password',
      UNKNOWN,
      UNKNOWN_OUTCOME,
      [...RECOVERED, REMOVE],
    ],
  ])('exits with 1 and one sentence when %s', async (_, sentence, override, args) => {
    const { environment } = await serve(args ? WITH_FACTOR : [], override);

    const options = [...GATE, ...(args ?? ADMINISTRATOR)];
    const { code, stdout, stderr } = await runHere('first-admin', options, environment);

    expect({ code, stdout }).toEqual({ code: 1, stdout: [] });
    expect(stderr).toEqual([expect.stringMatching(sentence)]);
  });

  it('rejects the login of the operator, and consumes no id', async () => {
    const { environment, calls } = await serve([]);

    const args = [...GATE, ...ADMINISTRATOR, '--login', 'System'];
    const { code, stderr } = await runHere('first-admin', args, environment);

    expect([code, stderr]).toEqual([1, [expect.stringMatching(/^The login System is/)]]);
    expect(calls).not.toContain('UpdateItem');
  });

  it.each([
    ['SIGINT', RECOVERED, INTACT_ITEMS, /changed\. If it is, its password is PASSWORD;/],
    ['SIGTERM', ADMINISTRATOR, [], /exist\. If it does, its password is PASSWORD;/],
  ] as const)(
    'prints the password and exits with 1 on %s',
    async (signal, args, items, sentence) => {
      expect(await interrupt(signal, 'first-admin', args, 'TransactWriteItems', items)).toEqual({
        code: 1,
        stderr: [expect.stringMatching(sentence)],
      });
    },
  );
});

it.each(Object.keys(COMMANDS))(
  'npm run admin -- %s explains itself with --help',
  async (script) => {
    const { code, stdout, stderr } = await runHere(script, ['--help']);

    expect([code, stderr, stdout[0]]).toEqual([
      0,
      [],
      expect.stringMatching(`^Usage: npm run admin -- ${script} `),
    ]);
    expect(stdout).toContain('Exit status');
  },
);

it.each([
  ['', 2, 'COMMAND is missing.'],
  ['verfy', 2, 'There is no command "verfy".'],
  ['--help', 0, undefined],
])('npm run admin -- "%s" lists the commands', async (verb, status, mistake) => {
  const { code, stdout, stderr } = await run(verb, []);

  const [printed, nothing] = mistake ? [stderr, stdout] : [stdout, stderr];
  expect([code, nothing]).toEqual([status, []]);
  expect(printed.slice(0, 2)).toContain('Usage: npm run admin -- COMMAND [OPTIONS]');
  if (mistake) expect(printed[0]).toBe(mistake);
  expect(printed.filter((line) => /^ {2}verify +\w/.test(line))).toHaveLength(1);
});

const OF_TABLE =
  '--like, --environment, --pepper-key, --values-key and --unprotected require --table.';
const SKIP = '--skip must be a whole number from 1 to 999999999.';
const KEY = 'arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab';
const EMERGENCY = ['--login', 'emergency'];
const MINUTES = '--minutes must be a whole number from 1 to 240.';
const REASON = '--reason must have 1 to 200 characters in one line.';
const FOR_NEW = '--email is for a new administrator only: leave it out.';
it.each<[script: string, args: string[], sentence: string]>([
  ['verify', ['--table', ''], '--table requires a value.'],
  ['verify', ['Gate'], 'Unexpected argument: Gate.'],
  ['adopt', ['--nonsense'], "Unknown option '--nonsense'."],
  ['adopt', ['--skip=0'], SKIP],
  ['adopt', ['--skip=1000000000'], SKIP],
  ['adopt', ['--like', 'Another'], OF_TABLE],
  ['adopt', [...GATE, '--original', 'Gate'], '--original requires --table, and must be another'],
  ['adopt', [...GATE, '--environment', 'toString'], 'There is no environment toString'],
  ['adopt', [...GATE, '--pepper-key', `${KEY} alias/k`], '--pepper-key must be the ARN of a KMS'],
  ['first-admin', [...GATE, '--email', 'root@example.com'], '--login is missing.'],
  [
    'first-admin',
    [...GATE, '--login', 'root', '--email', 'r'],
    '--email must be an e-mail address.',
  ],
  ['first-admin', [...GATE, ...ADMINISTRATOR, '--new-password'], FOR_NEW],
  ['emergency', ['--minutes', '5', '--reason', 'x'], '--login is missing.'],
  ['emergency', [...EMERGENCY, '--reason', 'x'], MINUTES],
  ['emergency', [...EMERGENCY, '--reason', 'x', '--minutes', '0'], MINUTES],
  ['emergency', [...EMERGENCY, '--reason', 'x', '--minutes', '241'], MINUTES],
  ['emergency', [...EMERGENCY, '--minutes', '240'], REASON],
  ['emergency', [...EMERGENCY, '--minutes', '240', '--reason', 'a\nb'], REASON],
  ['emergency', [...EMERGENCY, '--disarm'], '--disarm needs no other option than --table.'],
  ['person', ['--forget'], '--login or --id is missing.'],
  ['person', ['--id', 'dora'], '--id must be the id of a user.'],
])('%s exits with 2 and its usage for %j', async (script, args, sentence) => {
  const { code, stdout, stderr } = await runHere(script, args);

  expect({ code, stdout }).toEqual({ code: 2, stdout: [] });
  expect(stderr[0]?.slice(0, sentence.length)).toBe(sentence);
  expect(stderr[1]).toMatch(`Usage: npm run admin -- ${script} `);
});

describe('a command', () => {
  const CREDENTIALS = { AWS_ACCESS_KEY_ID: 'operator', AWS_SECRET_ACCESS_KEY: 'local' };
  const NO_PROFILE = { AWS_EC2_METADATA_DISABLED: 'true', HOME: '/nowhere' };
  const REGION = { AWS_REGION: 'eu-north-1' };

  it.concurrent.for<[string, Record<string, string>, string]>([
    ['no region', { ...NO_PROFILE, ...CREDENTIALS }, 'There is no AWS region: set AWS_REGION.'],
    [
      'no credentials',
      { ...NO_PROFILE, ...REGION },
      'There are no AWS credentials, for example in AWS_PROFILE: Could not load ' +
        'credentials from any providers.',
    ],
    [
      'a host that does not exist',
      { ...CREDENTIALS, ...REGION, AWS_ENDPOINT_URL: 'http://gatehouse.invalid' },
      'The host gatehouse.invalid is unknown: check AWS_REGION and the network.',
    ],
  ])('prints one sentence for %s', async ([, environment, sentence]) => {
    const { code, stderr } = await run('verify', GATE, environment);

    expect([code, stderr]).toEqual([2, [sentence]]);
  });

  it('rejects an endpoint that is not a URL', async () => {
    const environment = { AWS_ENDPOINT_URL_DYNAMODB: 'localhost:8000' };
    const { code, stderr } = await runHere('verify', GATE, environment);

    const rule = expect.stringMatching(/^AWS_ENDPOINT_URL_DYNAMODB must be a URL/);
    expect([code, stderr]).toEqual([2, [rule]]);
  });

  const ON_TABLE: [script: string, args: string[], status: number][] = [
    ['verify', GATE, 2],
    ['adopt', GATE, 1],
    ['password-keys', GATE, 2],
    ['import', [...GATE, 'package.json'], 3],
    ['export', [...GATE, 'not-exported.jsonl'], 3],
    ['first-admin', [...GATE, ...ADMINISTRATOR], 1],
    ['person', [...GATE, '--login', 'root'], 1],
    ['emergency', [...GATE, '--disarm'], 1],
  ];

  it.each([...ON_TABLE, ['preflight', ['--env', 'dev'], 2]] as typeof ON_TABLE)(
    '%s %j rejects a profile beside keys before any request',
    async (script, args, status) => {
      const { environment, calls } = await serve([]);

      const { code, stderr } = await runHere(script, args, {
        ...environment,
        AWS_PROFILE: 'other',
      });

      const sentence = expect.stringMatching(/^AWS_PROFILE and AWS_ACCESS_KEY_ID are both set/);
      expect([code, stderr, calls]).toEqual([status, [sentence], []]);
    },
  );

  it.each([...ON_TABLE, ['mails', GATE, 1]] as typeof ON_TABLE)(
    '%s %j rejects a table of a newer format by its first read',
    async (script, args, status) => {
      const newer = READABLE_FORMAT + 1;
      const { environment, calls } = await serve([], (...call) => formatIn(...call, newer));

      const { code, stderr } = await runHere(script, args, environment);

      const sentence = expect.stringMatching(`^Gate has the format ${newer}, but this release`);
      expect([code, stderr, calls]).toEqual([status, [sentence], ['GetItem']]);
    },
  );
});

it.each([
  ['verify', 'There is no table in .local: '],
  ['password-keys', 'No service runs on STATE_DIR=.local. '],
])('%s takes an empty STATE_DIR as the default', async (script, sentence) => {
  const { stderr } = await run(script, [], { STATE_DIR: '' }, inject('repository'));

  expect(stderr).toEqual([expect.stringContaining(sentence)]);
});

it('password-keys names the user whose hash is not readable', async () => {
  const damaged = { id: { N: '7' }, sk: { S: '7' }, passwordHash: { S: 'damaged' } };
  const { environment } = await serve([], overrideOf('Query', { Items: [damaged] }));

  const { code, stderr } = await runHere('password-keys', GATE, environment);

  expect([code, stderr]).toEqual([2, ['User 7: A stored password hash is not readable.']]);
});

/* `npm run admin -- diff`. test/stack/upgrade.test.ts has the rules. */

const running = (template: object): ScriptedResponse => ({
  TemplateBody: JSON.stringify(template),
});

const templateWith = (id: string) => ({
  Description: `'A' & <B>`,
  Resources: {
    [id]: {
      Type: 'AWS::DynamoDB::Table',
      Properties: {
        KeySchema: [
          { AttributeName: 'pk', KeyType: 'HASH' },
          { AttributeName: 'sk', KeyType: 'RANGE' },
        ],
      },
      Metadata: { 'aws:cdk:path': 'Gatehouse-dev/Administration/Table/Resource' },
    },
  },
});

it.each<[string, ScriptedResponse, number, RegExp, RegExp]>([
  [
    'there is no stack yet',
    { error: 'ValidationError', message: 'Stack with id Gatehouse-dev does not exist' },
    0,
    /^Gatehouse-dev does not exist: the deployment would create it\n$/,
    /^$/,
  ],
  [
    'the table stays',
    running(templateWith('Table')),
    0,
    /^Changes of Gatehouse-dev\n.*\[\+\] AWS::KMS::Key (?!.*Metadata).*\[~\] AWS::DynamoDB::Table /s,
    /^$/,
  ],
  [
    'another table would take its place',
    running(templateWith('FormerTable')),
    1,
    /\[-\] AWS::DynamoDB::Table /,
    /^REFUSED {2}Gatehouse-dev: another AWS::DynamoDB::Table would take the place of FormerTable\n$/,
  ],
  [
    'the template cannot be read',
    { error: 'AccessDenied', message: 'not authorized to perform cloudformation:GetTemplate' },
    2,
    /^$/,
    /cloudformation:GetTemplate/,
  ],
])('exits with the documented status if %s', async (_, template, status, out, error) => {
  const responses: Record<string, ScriptedResponse> = {
    GetCallerIdentity: { Account: '210987654321' },
    GetTemplate: template,
  };
  const { environment, stop } = await scriptedAws((operation) => responses[operation]);
  stops.push(stop);

  const options = ['--env', 'dev'];
  const run = await runCommand('diff', options, environment, inject('repository'));

  expect([run.code, run.stdout, run.stderr]).toEqual([
    status,
    expect.stringMatching(out),
    expect.stringMatching(error),
  ]);
});
