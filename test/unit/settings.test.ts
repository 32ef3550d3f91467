import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { toJsonSchema } from '@valibot/to-json-schema';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { CONVERSION } from '../../infra/api-document/json-schema.ts';
import {
  EXAMPLE_FOLDER,
  environmentNames,
  OWN_FOLDER,
  readEnvironment,
} from '../../infra/settings/environment-files.ts';
import {
  LOCAL,
  readSettings,
  rejectPlaceholders,
  settingsOf,
} from '../../infra/settings/read-settings.ts';
import { settings } from '../../infra/settings/settings.ts';
import { withGenerated } from '../support/costs/generated-tables.ts';
import { OTHER_SETTINGS } from '../support/stack/other-settings.ts';
import { settingsTables } from '../support/stack/settings-tables.ts';

const ROOT = join(import.meta.dirname, '../..');
const FILE = 'environments/moon.json';

const read = (environment: object) => settingsOf({ ...environment }, FILE);

function streamOf(table: string): string {
  const tableArn = `arn:aws:dynamodb:ap-southeast-1:123456789012:table/${table}`;
  return `${tableArn}/stream/2030-01-01T00:00:00.000`;
}

const { unprotected: _, ...OTHERS } = OTHER_SETTINGS;
/** A valid environment with every possible field. */
const VALID = {
  ...OTHERS,
  keepData: true,
  region: 'ap-southeast-1',
  corsOrigins: ['https://one.example', 'https://two.example:9000'],
  domain: {
    ...OTHER_SETTINGS.domain,
    certificate: 'arn:aws:acm:ap-southeast-1:123456789012:certificate/0f2b7c1e',
  },
  alarms: 'arn:aws:sns:ap-southeast-1:123456789012:operators_of-gate-1',
  backup: {
    region: 'ap-southeast-2',
    days: 47,
    lockedDays: 1,
    existingReplicas: ['ValuesKey'],
  },
  existing: {
    table: 'Gate_house-prod.restored',
    tableStream: streamOf('Gate_house-prod.restored'),
    keys: {
      TableKey: 'arn:aws:kms:ap-southeast-1:123456789012:key/mrk-1234abcd12ab34cd56ef1234567890ab',
    },
  },
};
const ABSENT = Symbol('absent');

/** The valid environment with this value at a path, or without the path if the value is ABSENT. */
function withValue(path: string, value: unknown, from: object = VALID): Record<string, unknown> {
  const changed = structuredClone(from) as Record<string, unknown>;
  const names = path.split('.');
  const last = names.pop() as string;
  const parent = names.reduce((object, name) => object[name] as Record<string, unknown>, changed);
  if (value === ABSENT) delete parent[last];
  else parent[last] = value;
  return changed;
}

const readValid = (environment: object) => read(environment).settings;

// The only tests of the operator's own settings: all others have those of the examples.
it.each(
  [OWN_FOLDER, EXAMPLE_FOLDER].flatMap((folder) =>
    environmentNames(folder).map((name) => [folder, name]),
  ),
)('in %s/, the environment %s has no mistake', (folder, env) => {
  const example = String(folder === EXAMPLE_FOLDER);

  expect(readSettings({ env, example })).toMatchObject({ name: env, checked: true });
});

/** The sentence that rejects an environment, without its beginning. */
function rejectionOf(environment: object): string {
  try {
    readValid(environment);
  } catch (error) {
    const [, violations] =
      /^The settings in environments\/moon\.json are invalid\. (.*)$/.exec(
        (error as Error).message,
      ) ?? [];
    return String(violations).replace(/(.{1,40}?)\1{20,}/g, '$1…');
  }
  throw new Error('The environment is accepted.');
}

describe('an environment', () => {
  it('is read unchanged', () => {
    expect(readValid(VALID)).toEqual(VALID);
  });

  it('needs five settings', () => {
    const { account, region, alarms } = VALID;
    const few = { account, region, alarms, mail: { sender: VALID.mail.sender } };

    expect(readValid(few)).toMatchObject({
      keepData: true,
      auditDays: 730,
      mail: { language: 'en' },
    });
    for (const name of Object.keys(few))
      expect(() => readValid({ ...few, [name]: undefined })).toThrow(name);
  });

  it.each<[string, Record<string, unknown>]>([
    ['is missing', { env: 'moon' }],
    ['has a path as its name', { env: '../prod' }],
    ['is not selected', {}],
    ['has a misspelled context key beside it', { env: 'prod', enviroment: 'prod' }],
    ['has another kind of deployment', { env: 'prod', deployment: 'at-once' }],
    ['has another transport', { env: 'prod', transport: 'none' }],
    ['is perhaps unprotected', { env: 'prod', unprotected: 'yes' }],
    ['is perhaps checked', { env: 'prod', checked: 'x' }],
    ['is perhaps an example', { env: 'prod', example: 'maybe' }],
  ])('is rejected with one sentence when it %s', (_, context) => {
    expect(() => readSettings({ example: 'true', ...context })).toThrowErrorMatchingSnapshot();
  });

  it('is rejected with all its errors in one message', () => {
    const wrong = { ...withValue('auditDays', 0), region: 7, moon: true };

    expect(rejectionOf(wrong)).toBe(
      'region: Invalid type: Expected string but received 7; ' +
        'auditDays: Invalid value: Expected >=1 but received 0; moon: unknown setting.',
    );
  });

  it('that is an example has an account to which nobody can deploy it, except locally', () => {
    const accountOf = (context: object) =>
      readSettings({ env: 'dev', example: true, ...context }).settings.account;

    expect([accountOf({}), accountOf({ [LOCAL]: true })]).toEqual(['123456789012', undefined]);
  });

  it('is deployed, protected and checked as the context says', () => {
    const context = { env: 'prod', example: true, '@aws-cdk/core:flag': true };
    const readWith = (changes: object) => {
      const { settings, checked } = readSettings({ ...context, ...changes });
      return [settings.deployment, settings.unprotected, settings.transport, checked];
    };

    expect(readWith({})).toEqual(['canary', false, 'minimal', true]);
    expect(readWith({ deployment: 'all-at-once', transport: 'sdk' })).toEqual([
      'all-at-once',
      false,
      'sdk',
      true,
    ]);
    for (const no of [false, 'false'])
      expect(readWith({ unprotected: no, checked: no })).toEqual([
        'canary',
        false,
        'minimal',
        false,
      ]);
    expect(readWith({ unprotected: 'true' })).toEqual(['canary', true, 'minimal', true]);
  });
});

/** Invalid numbers of requests, days or minutes. */
const NO_COUNT = ['7', 0, 1.5];
const NO_TEXT = [ABSENT, 7];
const noKeys = (name: string) => [
  ...['TableKey', `a${name}`, `${name}-2`, `${name} `].map((key) => [key]),
  ...[[], [name, name], name],
];
const KEY = 'arn:aws:kms:ap-southeast-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab';
const MULTI_REGION_KEY = VALID.existing.keys.TableKey;
const TOPIC = 'arn:aws:sns:ap-southeast-1:123456789012:operators';
const HASHES = ['a0', 'b1', 'c2'].map((pair) => pair.repeat(32));

const WRONG: Record<string, readonly unknown[]> = {
  account: [ABSENT, 123456789012, '12345678901', '1234567890123', '123456789O12', '210987654321'],
  region: [...NO_TEXT, 'Frankfurt', 'eu-central-9', 'EU-CENTRAL-1', 'eu-central-1 '],
  keepData: ['true', false],
  logRetentionDays: [0, 8, '7'],
  auditDays: [...NO_COUNT, 3654],
  auditdays: [7],
  auditLogDays: [...NO_COUNT, 8],
  tableMaximum: ['a'],
  'tableMaximum.readUnits': [...NO_COUNT, 400_001],
  'tableMaximum.writeUnits': [...NO_COUNT, 400_001],
  'tableMaximum.units': [7],
  requestsPerSecond: [...NO_COUNT, 50_001],
  throttle: [{}],
  loginConcurrency: ['7', 0, 1.5, 2501],
  unreservedConcurrency: NO_COUNT,
  failuresPerSource: NO_COUNT,
  guessing: [{}],
  signingKeys: noKeys('SigningKey'),
  pepperKeys: [...noKeys('PepperKey'), ['', 2, 3, 4].map((number) => `PepperKey${number}`)],
  passwords: [true],
  'passwords.minimum': ['8', 3, 8.5, 65],
  'passwords.rejectCommon': ['yes', 1],
  'passwords.maximum': [100],
  tokenLife: [
    'a',
    { minutes: 8, rememberedMinutes: 7 },
    { minutes: 1441, rememberedMinutes: 1441 },
  ],
  'tokenLife.minutes': NO_COUNT,
  'tokenLife.rememberedMinutes': [...NO_COUNT, 43_201],
  'tokenLife.seconds': [7],
  console: ['false', 0],
  mail: [7],
  'mail.sender': [...NO_TEXT, 'gate@', 'Gate <gate@example.com>'],
  'mail.configurationSet': ['', 'with space', 'x'.repeat(65), 'pünktchen', 7],
  'mail.linkBase': [
    ...[7, 'one.example/key=', 'http://one.example/key='],
    `https://one.example/${'x'.repeat(3500)}`,
  ],
  'mail.confirmLinkBase': [7, 'one.example/key=', 'http://one.example/key='],
  'mail.replyTo': ['gate@example.com'],
  'mail.language': [7],
  'mail.templates': [{}],
  corsOrigins: [
    ...['https://one.example', ['one.example'], [7], ['null']],
    ...['/', '/path', ':443'].map((end) => [`https://one.example${end}`]),
    ...[['https://ok.example', 'https://Two.example'], ['https://*'], ['https://*.one.example']],
    ['https://one.example', 'http://two.example'],
    Array.from({ length: 200 }, (_, n) => `https://${n}.one.example.com`),
  ],
  existing: [true],
  'existing.table': [7, 'ab', 'x'.repeat(256), 'a table'],
  'existing.tableStream': ['latest', streamOf('other'), ABSENT],
  'existing.keys': [
    ...['TableKey', { TableKey: KEY, ValueKey: KEY, SigningKey: KEY }, { toString: KEY }],
    { TableKey: KEY.replace('ap-southeast-1', 'ap-southeast-2') },
  ],
  'existing.keys.TableKey': [7, 'alias/table', KEY.replace('key/', 'alias/'), `${KEY} `, `x${KEY}`],
  'existing.alias': [7],
  domain: [true, ABSENT],
  'domain.other': [7],
  'domain.name': [
    ...[...NO_TEXT, 'gate', 'Gate.one.example', 'gate.one.example/', '-gate.one.example'],
    ...['gate-.one.example', '127.0.0.1', '*.one.example', 'gate.one.example '],
  ],
  'domain.certificate': [
    ...NO_TEXT,
    ...['acm:ap-southeast-1:123456789012:certificate/', 'acm:ap-southeast-1::certificate/a'],
    ...[
      'iam:ap-southeast-1:123456789012:certificate/a',
      'acm:ap-southeast-1:123456789012:certificate/a ',
    ],
    'acm:us-east-1:123456789012:certificate/a',
  ].map((value) => (typeof value === 'string' ? `arn:aws:${value}` : value)),
  edge: [true],
  'edge.other': [7],
  'edge.hostName': [...NO_TEXT, 'api', OTHER_SETTINGS.domain.name],
  'edge.certificate': [...NO_TEXT, 'arn:aws:acm:ap-southeast-1:123456789012:certificate/a'],
  'edge.secret': [...NO_TEXT, '', 'a secret', 'x'.repeat(513)],
  'edge.secretHashes': [
    ...[ABSENT, HASHES[0], [], ['secret'], [`${HASHES[0]}a0`], ['A0'.repeat(32)]],
    ...[['g0'.repeat(32)], HASHES, [HASHES[0], HASHES[0]]],
  ],
  'edge.requestsPerSource': [...NO_COUNT, 9],
  'edge.loginsPerSource': [...NO_COUNT, 9, 1010],
  backup: [true],
  'backup.region': [...NO_TEXT, 'Ningxia', 'ap-southeast-1', 'cn-north-1'],
  'backup.days': [...NO_COUNT, 366],
  'backup.lockedDays': [...NO_COUNT, 48],
  'backup.existingReplicas': ['ValuesKey', [7], ['TableKey'], ['ValuesKey', 'ValuesKey']],
  'backup.vault': ['a'],
  dailyVerification: [{}, 7],
  deletionEndsSessions: ['yes', 1],
  credentialDays: [7],
  accessLogRetentionDays: [30],
  unprotected: [true],
  confirmEmailChanges: ['yes', 1],
  deployment: ['linear', true],
  transport: ['none', 1],
  alarms: [
    ...[ABSENT, 'operators', 'operators@', TOPIC.replace('sns', 'sqs'), `x${TOPIC}`, `${TOPIC} `],
    ...['12345678901', '1234567890123'].map((id) => TOPIC.replace('123456789012', id)),
    ...['arn:aws:sns:ap-southeast-1:123456789012:', `${TOPIC}:b`],
    TOPIC.replace('ap-southeast-1', 'eu-central-1'),
    TOPIC.replace('123456789012', '210987654321'),
  ],
  runbookUrl: [
    7,
    'wiki',
    'ftp://one.example',
    'https://one.example/#top',
    `https://${'x'.repeat(300)}`,
  ],
  monthlyBudget: NO_COUNT,
};

describe('a setting', () => {
  it.each(Object.entries(WRONG))('%s is rejected with an explanation', (path, values) => {
    expect(values.map((value) => rejectionOf(withValue(path, value)))).toMatchSnapshot();
  });

  it.each<[string, unknown]>([
    ['existing', {}],
    [
      'existing',
      {
        table: 'abc',
        tableStream: streamOf('abc'),
        keys: {
          TableKey: KEY,
          ValuesKey: MULTI_REGION_KEY,
          PepperKeyA: MULTI_REGION_KEY,
          SigningKeyA: KEY,
        },
      },
    ],
    ['logRetentionDays', 3653],
    ['auditDays', 1],
    ['auditDays', 3653],
    ['tableMaximum', { readUnits: 1, writeUnits: 1 }],
    ['tableMaximum', { readUnits: 400_000, writeUnits: 400_000 }],
    ['requestsPerSecond', 1],
    ['requestsPerSecond', 50_000],
    ['loginConcurrency', 1],
    ['loginConcurrency', 2500],
    ['unreservedConcurrency', 20_000],
    ['failuresPerSource', 1],
    ['passwords.minimum', 4],
    ['passwords.minimum', 64],
    ['tokenLife', { minutes: 1, rememberedMinutes: 1 }],
    ['tokenLife', { minutes: 1440, rememberedMinutes: 43_200 }],
    ['signingKeys', ['SigningKey2026', 'SigningKeyA', 'SigningKey']],
    ['pepperKeys', ['PepperKey', 'PepperKey2', 'PepperKey3']],
    ['mail.configurationSet', 'x'],
    ['mail.configurationSet', `aZ0_-${'x'.repeat(59)}`],
    ['corsOrigins', []],
    ['edge.secretHashes', [HASHES[0]]],
    ['edge.requestsPerSource', 31],
    ['edge.loginsPerSource', 10],
    ['backup.days', 1],
    ['backup.days', 365],
    ['dailyVerification', false],
    ['alarms', TOPIC],
    ['alarms', 'operators@example.org'],
  ])('%s can be %j', (path, value) => {
    const environment = withValue(path, value);

    expect(readValid(environment)).toEqual(environment);
  });

  it.each<[string, object?]>([
    ['keepData', { keepData: true }],
    ['logRetentionDays', { logRetentionDays: 365 }],
    ['auditDays', { auditDays: 730 }],
    ['tableMaximum', { tableMaximum: { readUnits: 12_000, writeUnits: 4000 } }],
    ['requestsPerSecond', { requestsPerSecond: 500 }],
    ['failuresPerSource', { failuresPerSource: 100 }],
    ['tokenLife', { tokenLife: { minutes: 60, rememberedMinutes: 1440 } }],
    ['corsOrigins', { corsOrigins: [] }],
    ['transport', { transport: 'minimal' }],
    ['loginConcurrency'],
    ['unreservedConcurrency'],
    ['auditLogDays'],
    ['runbookUrl'],
    ['edge'],
    ['backup'],
    ['backup.days', { backup: { ...VALID.backup, days: 35 } }],
    ['backup.lockedDays'],
    ['backup.existingReplicas'],
    ['mail.configurationSet'],
    ['existing'],
    ['dailyVerification', { dailyVerification: false }],
    ['deletionEndsSessions', { deletionEndsSessions: false }],
    ['confirmEmailChanges', { confirmEmailChanges: false }],
    ['console', { console: true }],
    ['mail.linkBase'],
    ['mail.confirmLinkBase'],
    ['mail.language', { mail: { ...VALID.mail, language: 'en' } }],
    ['monthlyBudget'],
    ['deployment', { deployment: 'all-at-once' }],
    ['signingKeys', { signingKeys: ['SigningKey'] }],
    ['pepperKeys', { pepperKeys: ['PepperKey'] }],
    ['passwords', { passwords: { minimum: 4, rejectCommon: false } }],
    ['passwords.minimum', { passwords: { minimum: 4, rejectCommon: true } }],
    ['passwords.rejectCommon', { passwords: { minimum: 15, rejectCommon: false } }],
  ])('%s is optional, with the default %j', (path, byDefault) => {
    const environment = withValue(path, ABSENT);

    expect(readValid(environment)).toStrictEqual({ ...environment, ...byDefault });
  });

  it('without the console, the pages that mailed links lead to are required', () => {
    const { confirmLinkBase: _, ...mail } = VALID.mail;
    const { linkBase: __, ...noPage } = mail;
    const environment = { ...VALID, mail, console: false, confirmEmailChanges: false };

    expect(readValid(environment)).toStrictEqual(environment);
    expect(rejectionOf({ ...environment, confirmEmailChanges: true })).toBe(
      'mail.confirmLinkBase: is required by confirmEmailChanges without the console: the URL of ' +
        'the page to which a mailed key is appended, and which sends the key to POST ' +
        '/api/account/confirm-email.',
    );
    expect(rejectionOf({ ...environment, mail: noPage })).toBe(
      'mail.linkBase: is required without the console: the URL of the page to which a mailed key ' +
        'is appended, and which sends the key to POST /api/account/reset-password/finish.',
    );
  });

  it('backup requires keepData, and keys that can be replicated', () => {
    const { existing: _, ...kept } = VALID;

    expect(rejectionOf({ ...kept, keepData: false })).toBe(
      'backup: requires keepData: without it, no data is kept.',
    );
    for (const id of ['ValuesKey', 'FactorKey', 'PepperKeyA'])
      expect(rejectionOf({ ...VALID, existing: { keys: { [id]: KEY } } })).toMatch(
        /^existing.keys: With backup, .* must be multi-Region keys/,
      );
  });

  it('domain is optional without an edge, and alarms without keepData and a canary', () => {
    const { edge: _, domain: __, ...ownUrl } = VALID;
    const { existing: ___, backup: ____, alarms: _____, monthlyBudget, ...rest } = VALID;
    const silent = { ...rest, keepData: false, deployment: 'all-at-once' };

    expect(readValid(ownUrl)).toStrictEqual(ownUrl);
    expect(readValid(silent)).toStrictEqual(silent);
    expect(rejectionOf({ ...silent, deployment: 'canary' })).toBe(
      'deployment: A canary requires alarms: they roll it back.',
    );
    expect(rejectionOf({ ...silent, monthlyBudget })).toMatch(/^monthlyBudget: requires alarms/);
  });
});

describe('a placeholder', () => {
  /** An environment without any. */
  const REAL = {
    ...VALID,
    account: '210987654321',
    existing: undefined,
    monthlyBudget: undefined,
    corsOrigins: ['https://admin.gatehouse.dev'],
    domain: {
      name: 'gatehouse.dev',
      certificate: 'arn:aws:acm:ap-southeast-1:210987654321:certificate/0f2b7c1e',
    },
    edge: {
      ...VALID.edge,
      hostName: 'api.gatehouse.dev',
      certificate: 'arn:aws:acm:us-east-1:210987654321:certificate/0f2b7c1e',
    },
    mail: {
      ...VALID.mail,
      sender: 'gate@gatehouse.dev',
      linkBase: 'https://admin.gatehouse.dev/reset?key=',
      confirmLinkBase: 'https://admin.gatehouse.dev/confirm?key=',
    },
    alarms: 'arn:aws:sns:ap-southeast-1:210987654321:operators',
    runbookUrl: 'https://wiki.gatehouse.dev/runbook',
  };
  it.each<[string, string]>([
    ['mail.sender', 'gate@mail.example.org'],
    ['mail.sender', 'gate@Example.com'],
    ['mail.linkBase', 'https://example.net'],
    ['mail.linkBase', 'https://gatehouse.invalid?key='],
    ['mail.linkBase', 'https://localhost/?key='],
    ['mail.linkBase', 'https://127.0.0.1:9000/?key='],
    ['corsOrigins.0', 'https://one.example:8443'],
    ['corsOrigins.0', 'https://gate.test'],
    ['alarms', 'arn:aws:sns:ap-southeast-1:123456789012:operators'],
    ['domain.name', 'gate.example.com'],
  ])('in %s is rejected: %s', (path, value) => {
    expect(() => rejectPlaceholders(read(withValue(path, value, REAL)))).toThrow(
      `The settings in ${FILE} are invalid. ${path}: replace the placeholder "${value}".`,
    );
  });

  it('is none of these', () => {
    const changes = {
      signingKeys: ['SigningKeyTest'],
      mail: {
        ...REAL.mail,
        sender: 'test@myexample.com',
        configurationSet: 'test',
        linkBase: 'https://example.com.gatehouse.dev/test/example?key=',
      },
    };

    expect(read({ ...REAL, ...changes }).placeholders).toEqual([]);
  });
});

it.each(['us-gov-west-1', 'cn-north-1', 'ap-southeast-7', 'mx-central-1'])(
  'region can be %s',
  (region) => {
    const { domain: _, edge: __, existing: ___, backup: ____, ...rest } = VALID;
    const environment = { ...rest, alarms: 'operators@example.com' };

    expect(readValid({ ...environment, region }).region).toBe(region);
  },
);

it.each(['eusc-de-east-1', 'us-iso-east-1'])(
  'region cannot be %s, where no integration of API Gateway may have a role',
  (region) => {
    const { domain: _, edge: __, existing: ___, backup: ____, ...rest } = VALID;
    const environment = { ...rest, alarms: 'operators@example.com', region };

    expect(() => read(environment)).toThrow('must be in the partition aws, aws-cn or aws-us-gov');
  },
);

it.each([
  [{ edge: VALID.edge }, 'is possible only in the partition aws'],
  [{ backup: { region: 'us-gov-east-1', days: 7 } }, 'both in the partition aws'],
])('GovCloud has neither an edge nor backups in another region: %j', (changes, sentence) => {
  const { edge: _, existing: __, backup: ___, ...rest } = VALID;
  const domain = {
    ...VALID.domain,
    certificate: 'arn:aws-us-gov:acm:us-gov-west-1:123456789012:certificate/0f2b7c1e',
  };
  const place = { region: 'us-gov-west-1', alarms: 'operators@example.com' };

  expect(() => read({ ...rest, domain, ...place, ...changes })).toThrow(sentence);
});

// After an intended change, update the file with `npx vitest run test/unit/settings.test.ts -u`.
it('docs/environment.schema.json describes the files of environments for editors', async () => {
  const { properties, ...rest } = toJsonSchema(settings, {
    ...CONVERSION,
    ignoreActions: ['check'],
  });
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'The settings of an environment of Gatehouse, in environments/NAME.json',
    ...rest,
    properties: { $schema: { type: 'string' }, ...properties },
  };
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
  const examples = environmentNames(EXAMPLE_FOLDER).map((name) =>
    readEnvironment(name, EXAMPLE_FOLDER),
  );

  await expect(`${JSON.stringify(schema, undefined, 2)}\n`).toMatchFileSnapshot(
    '../../docs/environment.schema.json',
  );
  for (const environment of [VALID, ...examples]) expect(validate(environment)).toBe(true);
  for (const path of ['region', 'moon', 'auditDays', 'mail.sender'])
    expect(validate(withValue(path, 7.5))).toBe(false);
});

describe('docs/settings.md', () => {
  const document = withGenerated(
    readFileSync(join(ROOT, 'docs/settings.md'), 'utf8'),
    settingsTables(readEnvironment('prod', EXAMPLE_FOLDER)),
  );

  it('matches infra/settings/settings.ts; -u updates it', () =>
    expect(document).toMatchFileSnapshot('../../docs/settings.md'));

  it('gives the meaning of every setting', () => {
    const withoutMeaning = document
      .split('\n')
      .filter((line) => /^\| `[\w.]+` \| {2}\|/.test(line));

    expect(withoutMeaning).toEqual([]);
  });

  it('names every environment variable that a command reads', () => {
    const sources = globSync(
      ['infra/{commands,local}/**/*.ts', 'test/{long,support/model}/**/*.ts'],
      {
        cwd: ROOT,
      },
    );
    const text = sources.map((file) => readFileSync(join(ROOT, file), 'utf8')).join('\n');
    const names = [
      ...[...text.matchAll(/process\.env\.(\w+)/g)].map(([, name]) => name),
      ...[...text.matchAll(/\{([^}]*)\} = process\.env/g)].flatMap(([, list = '']) =>
        list.match(/\b[A-Z_]{2,}\b/g),
      ),
    ];

    expect(names).toContain('PORT');
    expect(names.filter((name) => !document.includes(`\`${name}\``))).toEqual([]);
  });
});
