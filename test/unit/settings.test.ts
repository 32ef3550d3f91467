import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import {
  EXAMPLE_FOLDER,
  environmentNames,
  OWN_FOLDER,
  readEnvironment,
} from '../../infra/settings/environment-files.ts';
import { environmentSchema } from '../../infra/settings/environment-schema.ts';
import {
  LOCAL,
  readSettings,
  rejectPlaceholders,
  settingsOf,
} from '../../infra/settings/read-settings.ts';
import { withGenerated } from '../support/costs/generated-tables.ts';
import { OTHER_SETTINGS } from '../support/stack/other-settings.ts';
import { settingsTable } from '../support/stack/settings-tables.ts';

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
  backup: { region: 'ap-southeast-2', days: 47, lockedDays: 1, existingReplicas: ['ValuesKey'] },
  existing: {
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

// The only tests of the operator's own settings: all others use the examples.
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

  it.each<[Record<string, unknown>, string]>([
    [{ env: 'moon' }, 'no environment moon: examples/environments/ has dev, prod, staging.'],
    [{}, 'No environment is selected: add -c env=NAME, the name of a file in environments/.'],
    [{ env: 'prod', enviroment: 'prod' }, 'There is no context key enviroment; there are env, '],
    [{ env: 'prod', x: 1 }, 'are env, example, unprotected, deployment, transport, checked.'],
    [{ env: 'prod', deployment: 'at-once' }, 'deployment: Invalid type'],
    [{ env: 'prod', unprotected: 'yes' }, 'unprotected must be true or false, not yes.'],
  ])('is rejected with one sentence for the context %j', (context, sentence) => {
    expect(() => readSettings({ example: 'true', ...context })).toThrow(sentence);
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
      const { deployment, unprotected, transport } = settings;
      return [deployment, unprotected, transport, checked].join(' ');
    };

    expect(readWith({})).toBe('canary false minimal true');
    const other = { deployment: 'all-at-once', transport: 'sdk' };
    expect(readWith(other)).toBe('all-at-once false sdk true');
    expect(readWith({ unprotected: 'false', checked: 'false' })).toBe('canary false minimal false');
    expect(readWith({ unprotected: 'true' })).toBe('canary true minimal true');
  });
});

const KEY = 'arn:aws:kms:ap-southeast-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab';
const MULTI_REGION_KEY = VALID.existing.keys.TableKey;
const TOPIC = 'arn:aws:sns:ap-southeast-1:123456789012:operators';
const HASHES = ['a0', 'b1', 'c2'].map((pair) => pair.repeat(32));
const NO_COUNT = [0, 1.5];
const noKeys = (name: string) => [
  ...['TableKey', `a${name}`, `${name}-2`, `${name} `].map((key) => [key]),
  ...[[], [name, name]],
];
const inAcm = (end: string) => `arn:aws:acm:${end}`;

const [CLUSTER] = VALID.moduleIssuers;
const [ISSUER] = OTHER_SETTINGS.issuers;
/** A list of one issuer, changed, or of others. */
const issuers = (...changes: object[]) => changes.map((change) => ({ ...ISSUER, ...change }));
const URLS = ['issuer', 'authorizationEndpoint', 'tokenEndpoint', 'keys'];

const WRONG: Record<string, readonly unknown[]> = {
  account: [ABSENT, '12345678901', '1234567890123', '210987654321'],
  region: [ABSENT, 'eu-central-9', 'EU-CENTRAL-1'],
  keepData: ['true'],
  logRetentionDays: [0, 8],
  auditDays: [...NO_COUNT, 3654],
  auditLogDays: [8],
  'tableMaximum.readUnits': [...NO_COUNT, 400_001],
  'tableMaximum.writeUnits': [...NO_COUNT, 400_001],
  requestsPerSecond: [...NO_COUNT, 50_001],
  loginConcurrency: [...NO_COUNT, 2501],
  unreservedConcurrency: NO_COUNT,
  failuresPerSource: NO_COUNT,
  signingKeys: noKeys('SigningKey'),
  moduleKeys: noKeys('ModuleKey'),
  pepperKeys: [...noKeys('PepperKey'), ['', 2, 3, 4].map((number) => `PepperKey${number}`)],
  'passwords.minimum': [3, 8.5, 65],
  secondFactor: [{ requiredFor: ['ROLE_ADMIN'] }],
  'secondFactor.requiredFor': [[], ['ROLE_ROOT'], ['ROLE_ADMIN', 'ROLE_ADMIN']],
  'secondFactor.from': ['2031-02-30', 'tomorrow'],
  tokenLife: [
    { minutes: 8, rememberedMinutes: 7 },
    { minutes: 1441, rememberedMinutes: 1441 },
  ],
  'tokenLife.minutes': NO_COUNT,
  'tokenLife.rememberedMinutes': [...NO_COUNT, 43_201],
  'mail.sender': [ABSENT, 'gate@', 'Gate <gate@example.com>'],
  'mail.configurationSet': ['', 'with space', 'x'.repeat(65)],
  'mail.linkBase': ['one.example/key=', 'http://one.example/', `https://a.io/${'x'.repeat(988)}`],
  'mail.confirmLinkBase': ['http://one.example/', `https://a.io/${'ü'.repeat(494)}`],
  corsOrigins: [
    ...[['one.example'], ['null'], ['https://*'], ['https://*.one.example']],
    ...['/', ':443'].map((end) => [`https://one.example${end}`]),
    ['https://ok.example', 'https://Two.example'],
    ['https://one.example', 'http://two.example'],
    [`https://${'x'.repeat(2478)}`],
    // Too long beside the issuers.
    [`https://${'x'.repeat(2000)}.example`],
  ],
  issuers: [
    ...URLS.flatMap((name) =>
      ['login.example.org', 'http://a.example', 'https://a.example/?b', 'https://a.example/#b'].map(
        (url) => issuers({ [name]: url }),
      ),
    ),
    ...[{ name: '' }, { name: 'x'.repeat(51) }, { clientId: '' }, { loginClaim: 'a claim' }],
    ...[{ algorithms: [] }, { algorithms: ['HS256'] }, { algorithms: ['none'] }],
    ...[{ roles: { ROLE_ROOT: ['a'] } }, { roles: { ROLE_USER: [] } }, { roles: undefined }],
    ...[{ creates: 'everybody' }, { secondFactor: 'perhaps' }, { requiredAcr: [] }],
    ...[{ secret: 'x' }, { roles: { ROLE_USER: ['a', 'a'] } }, { keys: undefined }],
    issuers({}, { name: 'The same issuer' }),
  ].map((each) => (Array.isArray(each) ? each : issuers(each))),
  'existing.tableStream': [
    ...['latest', streamOf('ab'), streamOf('x'.repeat(256))],
    streamOf('abc').replace('ap-southeast-1', 'ap-southeast-2'),
  ],
  'existing.keys': [
    ...[{ TableKey: KEY, ValueKey: KEY }, { toString: KEY }],
    { TableKey: KEY.replace('ap-southeast-1', 'ap-southeast-2') },
  ],
  'existing.keys.TableKey': [KEY.replace('key/', 'alias/'), `${KEY} `, `x${KEY}`],
  'domain.name': [
    ...[ABSENT, 'gate', 'Gate.one.example', '-gate.one.example'],
    ...['gate-.one.example', '127.0.0.1', '*.one.example'],
  ],
  'domain.certificate': [
    ...[ABSENT, inAcm('ap-southeast-1:123456789012:certificate/')],
    ...[inAcm('us-east-1:123456789012:certificate/a')],
    VALID.domain.certificate.replace('acm', 'iam'),
  ],
  'edge.hostName': [ABSENT, 'api', OTHER_SETTINGS.domain.name],
  'edge.certificate': [ABSENT, inAcm('ap-southeast-1:123456789012:certificate/a')],
  'edge.secret': [ABSENT, '', 'a secret', 'x'.repeat(513)],
  'edge.secretHashes': [
    ...[ABSENT, [], [`${HASHES[0]}a0`], ['A0'.repeat(32)], HASHES, [HASHES[0], HASHES[0]]],
  ],
  'edge.requestsPerSource': [9, 10.5],
  'edge.loginsPerSource': [9, 10.5],
  edge: [{ ...VALID.edge, loginsPerSource: 1010 }],
  'backup.region': [ABSENT, 'Ningxia', 'ap-southeast-1', 'cn-north-1'],
  'backup.days': [...NO_COUNT, 366],
  'backup.lockedDays': [...NO_COUNT, 48],
  'backup.existingReplicas': [['TableKey'], ['ValuesKey', 'ValuesKey']],
  'moduleIssuers.0.ageMinutesMaximum': [0, 61],
  moduleIssuers: [
    [CLUSTER, CLUSTER],
    [{ ...CLUSTER, issuer: VALID.issuers[0]?.issuer }],
    [{ ...CLUSTER, keys: 'http://one.example/keys' }],
  ],
  deployment: ['linear'],
  transport: ['none'],
  alarms: [
    ...[ABSENT, 'operators@', TOPIC.replace('sns', 'sqs'), `x${TOPIC}`, `${TOPIC}:b`],
    TOPIC.replace('ap-southeast-1', 'eu-central-1'),
  ],
  runbookUrl: ['ftp://one.example', 'https://a.io/#top', `https://${'x'.repeat(300)}`],
  monthlyBudget: NO_COUNT,
};

describe('a setting', () => {
  it.each(Object.entries(WRONG).flatMap(([path, values]) => values.map((value) => [path, value])))(
    '%s cannot be %j',
    (path, value) => {
      expect(rejectionOf(withValue(path as string, value))).toMatch(new RegExp(`^${path}[.:]`));
    },
  );

  it.each<[string, unknown]>([
    ['auditdays', 7],
    ['mail.replyTo', 'gate@example.com'],
    ['unprotected', true],
    ['edge.other', 7],
  ])('%s does not exist', (path, value) => {
    expect(rejectionOf(withValue(path, value))).toBe(`${path}: unknown setting.`);
  });

  it.each<[string, unknown, string]>([
    ['keepData', false, 'existing: requires keepData: without it, a table and keys that the'],
    ['alarms', TOPIC.replace('123456789012', '210987654321'), 'account: The topic of the alarms'],
    ['mail.linkBase', 'javascript:alert(1)', 'mail.linkBase: must have the scheme http or https'],
    ['domain', ABSENT, 'edge: requires domain: the edge reaches the API under a host name that'],
  ])('%s cannot be %j beside the others', (path, value, sentence) => {
    expect(rejectionOf(withValue(path, value))).toContain(sentence);
  });

  it.each<[string, unknown]>([
    ['existing', {}],
    ['existing.tableStream', streamOf('abc')],
    ['existing.keys', { TableKey: KEY, ValuesKey: MULTI_REGION_KEY }],
    ['existing.keys', { SigningKeyA: KEY, PepperKeyA: MULTI_REGION_KEY }],
    ['logRetentionDays', 3653],
    ['tableMaximum', { readUnits: 1, writeUnits: 1 }],
    ['tableMaximum', { readUnits: 400_000, writeUnits: 400_000 }],
    ['requestsPerSecond', 50_000],
    ['loginConcurrency', 2500],
    ['passwords.minimum', 64],
    ['tokenLife', { minutes: 1440, rememberedMinutes: 43_200 }],
    ['signingKeys', ['SigningKey2026', 'SigningKeyA', 'SigningKey']],
    ['pepperKeys', ['PepperKey', 'PepperKey2', 'PepperKey3']],
    ['mail.linkBase', `https://a.io/${'x'.repeat(987)}`],
    ['mail.configurationSet', `aZ0_-${'x'.repeat(59)}`],
    ['domain.name', 'api.xn--p1ai'],
    ['edge.secretHashes', [HASHES[0]]],
    ['edge.loginsPerSource', 10],
    ['backup.days', 365],
    ['alarms', 'operators@example.org'],
  ])('%s can be %j', (path, value) => {
    const environment = withValue(path, value);

    expect(readValid(environment)).toEqual(environment);
  });

  it.each<[string, object?]>([
    ['edge'],
    ['backup'],
    ['backup.days', { backup: { ...VALID.backup, days: 35 } }],
    ['backup.lockedDays'],
    ['backup.existingReplicas'],
    ['existing'],
    ['deletionEndsSessions', { deletionEndsSessions: false }],
    ['confirmEmailChanges', { confirmEmailChanges: false }],
    ['mail.confirmLinkBase'],
    ['passwords', { passwords: { minimum: 4, rejectCommon: false } }],
    ['passwords.minimum', { passwords: { minimum: 4, rejectCommon: true } }],
    ['passwords.rejectCommon', { passwords: { minimum: 15, rejectCommon: false } }],
  ])('%s is optional, with the default %j', (path, byDefault) => {
    const environment = withValue(path, ABSENT);

    expect(readValid(environment)).toStrictEqual({ ...environment, ...byDefault });
  });

  it('an issuer needs its URLs, its name and the client id; log-ins then change no roles', () => {
    const few = Object.fromEntries(
      [...URLS, 'name', 'clientId'].map((name) => [name, ISSUER?.[name as 'name']]),
    );

    expect(readValid(withValue('issuers', [few])).issuers).toEqual([
      {
        ...few,
        algorithms: ['RS256'],
        loginClaim: 'preferred_username',
        groupsClaim: 'groups',
        creates: 'nobody',
        secondFactor: 'amr',
      },
    ]);
    for (const name of Object.keys(few))
      expect(rejectionOf(withValue('issuers', [{ ...few, [name]: undefined }]))).toContain(name);
  });

  it('without the console, the pages that mailed links lead to are required', () => {
    const { confirmLinkBase: _, ...mail } = VALID.mail;
    const { linkBase: __, ...noPage } = mail;
    const environment = { ...VALID, mail, console: false, confirmEmailChanges: false };

    expect(readValid(environment)).toStrictEqual(environment);
    const page =
      'the URL of the page to which a mailed key is appended, and which sends the key to';
    expect(rejectionOf({ ...environment, confirmEmailChanges: true })).toBe(
      'mail.confirmLinkBase: is required by confirmEmailChanges without the console: ' +
        `${page} POST /api/account/confirm-email.`,
    );
    expect(rejectionOf({ ...environment, mail: noPage })).toBe(
      `mail.linkBase: is required without the console: ${page} POST ` +
        '/api/account/reset-password/finish.',
    );
  });

  it('issuers are optional, unless they are the only way in', () => {
    const { issuers: _, ssoOnly, ...others } = VALID;

    expect(readValid(others).issuers).toEqual([]);
    expect(rejectionOf({ ...others, ssoOnly })).toBe(
      'ssoOnly: requires issuers: otherwise nobody could log in.',
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
  const REAL = {
    keepData: false,
    region: VALID.region,
    corsOrigins: ['https://admin.gatehouse.dev'],
    mail: { sender: 'gate@gatehouse.dev', linkBase: 'https://gatehouse.dev/reset?key=' },
    alarms: 'arn:aws:sns:ap-southeast-1:210987654321:operators',
  };

  it('is in no field of an environment without any', () => {
    expect(() => rejectPlaceholders(read(REAL))).not.toThrow();
  });

  it.each<[string, string]>([
    ['mail.sender', 'gate@mail.example.org'],
    ['mail.linkBase', 'https://gatehouse.invalid?key='],
    ['mail.linkBase', 'https://localhost/?key='],
    ['corsOrigins.0', 'https://one.example:8443'],
    ['alarms', 'arn:aws:sns:ap-southeast-1:123456789012:operators'],
  ])('in %s is rejected: %s', (path, value) => {
    expect(() => rejectPlaceholders(read(withValue(path, value, REAL)))).toThrow(
      `The settings in ${FILE} are invalid. ${path}: replace the placeholder "${value}".`,
    );
  });
});

/** What the valid environment has in no particular region. */
const { domain: _d, edge: _e, existing: _x, backup: _b, alarms: _a, ...REST } = VALID;
const ANYWHERE = { ...REST, alarms: 'operators@example.com' };

it.each(['us-gov-west-1', 'cn-north-1', 'ap-southeast-7', 'mx-central-1'])(
  'region can be %s',
  (region) => {
    expect(readValid({ ...ANYWHERE, region }).region).toBe(region);
  },
);

it.each(['eusc-de-east-1', 'us-iso-east-1'])(
  'region cannot be %s, where no integration of API Gateway may have a role',
  (region) => {
    expect(rejectionOf({ ...ANYWHERE, region })).toContain('aws, aws-cn or aws-us-gov');
  },
);

it.each([
  [{ edge: VALID.edge }, 'is possible only in the partition aws'],
  [{ backup: { region: 'us-gov-east-1', days: 7 } }, 'both in the partition aws'],
])('GovCloud has neither an edge nor backups in another region: %j', (changes, sentence) => {
  const domain = {
    ...VALID.domain,
    certificate: 'arn:aws-us-gov:acm:us-gov-west-1:123456789012:certificate/0f2b7c1e',
  };
  const environment = { ...ANYWHERE, region: 'us-gov-west-1', domain, ...changes };

  expect(rejectionOf(environment)).toContain(sentence);
});

it('the schema for editors accepts what a synthesis accepts, and rejects mistakes', () => {
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(
    environmentSchema(),
  );
  const examples = environmentNames(EXAMPLE_FOLDER).map((name) =>
    readEnvironment(name, EXAMPLE_FOLDER),
  );

  for (const environment of [VALID, ...examples]) expect(validate(environment)).toBe(true);
  for (const path of ['region', 'moon', 'auditDays', 'mail.sender'])
    expect(validate(withValue(path, 7.5))).toBe(false);
});

describe('docs/settings.md', () => {
  const document = withGenerated(readFileSync(join(ROOT, 'docs/settings.md'), 'utf8'), {
    settings: settingsTable(readEnvironment('prod', EXAMPLE_FOLDER)),
  });

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
      ['infra/{commands,local}/**/*.ts', 'test/support/instance/run-variables.ts'],
      { cwd: ROOT },
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
