import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readCdkJson } from '../../infra/settings/read-cdk-json.ts';
import { readSettings } from '../../infra/settings/read-settings.ts';
import { withGenerated } from '../support/costs/generated-tables.ts';
import { OTHER_SETTINGS } from '../support/stack/other-settings.ts';
import { settingsTables } from '../support/stack/settings-tables.ts';
import { shippedSettings } from '../support/stack/shipped-context.ts';

const ROOT = join(import.meta.dirname, '../..');
const context = readCdkJson().context as { environments: object };

const readStrictly = (context: Record<string, unknown>) =>
  readSettings({ tryGetContext: (key: string) => context[key], getAllContext: () => context });
const readFrom = (context: Record<string, unknown>) =>
  readStrictly({ ...context, allowPlaceholders: 'true' });

function streamOf(table: string): string {
  const tableArn = `arn:aws-cn:dynamodb:cn-north-1:123456789012:table/${table}`;
  return `${tableArn}/stream/2030-01-01T00:00:00.000`;
}

/** A valid environment with every possible field. */
const VALID = {
  ...OTHER_SETTINGS,
  keepData: true,
  region: 'cn-north-1',
  corsOrigins: ['https://one.example', 'https://two.example:9000'],
  domain: {
    ...OTHER_SETTINGS.domain,
    certificate: 'arn:aws-cn:acm:cn-north-1:123456789012:certificate/0f2b7c1e',
  },
  alarms: 'arn:aws-cn:sns:cn-north-1:123456789012:operators_of-gate-1',
  existing: {
    table: 'Gate_house-prod.restored',
    tableStream: streamOf('Gate_house-prod.restored'),
    keys: {
      TableKey: 'arn:aws-cn:kms:cn-north-1:123456789012:key/mrk-1234abcd12ab34cd56ef1234567890ab',
    },
  },
};
const ABSENT = Symbol('absent');

/** The valid environment with this value at a path, or without the path if the value is ABSENT. */
function withValue(path: string, value: unknown): Record<string, unknown> {
  const changed = structuredClone(VALID) as Record<string, unknown>;
  const names = path.split('.');
  const last = names.pop() as string;
  const parent = names.reduce((object, name) => object[name] as Record<string, unknown>, changed);
  if (value === ABSENT) delete parent[last];
  else parent[last] = value;
  return changed;
}

const readValid = (environment: object) =>
  readFrom({ env: 'moon', environments: { moon: environment } }).settings;
const reading = (environment: object) => () => readValid(environment);

// The only tests of the operator's own settings: all others have those that this project ships.
it.each(Object.keys(context.environments))(
  'the environment %s in cdk.json has no mistake',
  (env) => {
    expect(readFrom({ ...context, env }).name).toBe(env);
  },
);

const placeholders = Object.keys(context.environments).flatMap(
  (env) => readFrom({ ...context, env }).placeholders,
);
// Whoever deploys an environment replaces its placeholders, and may then change whatever they like.
it.runIf(placeholders.length === 6)(
  'staging and prod in cdk.json are those of shipped-settings.json',
  () => {
    const { staging, prod } = shippedSettings.environments;

    expect(context.environments).toMatchObject({ staging, prod });
  },
);

describe('an environment', () => {
  it('is read unchanged', () => {
    expect(readValid(VALID)).toEqual(VALID);
  });

  it.each(['prod', 'toString', 'constructor', 'undefined'])(
    'is rejected by name when it does not exist: %s',
    (env) => {
      expect(() => readFrom({ env, environments: { dev: {}, moon: {} } })).toThrow(
        `There is no environment ${env}: cdk.json has dev, moon.`,
      );
    },
  );

  it('is rejected when there are none', () => {
    expect(() => readFrom({ env: 'dev' })).toThrow(
      'There is no environment dev: cdk.json has none.',
    );
    expect(() => readFrom({})).toThrow('There is no environment undefined');
  });

  it('is rejected with all its errors in one message', () => {
    const wrong = { ...withValue('auditDays', 0), region: 7, moon: true, sun: true };

    expect(reading(wrong)).toThrow(
      'The settings of moon in cdk.json are invalid. region: Invalid type: Expected ' +
        'string but received 7; ' +
        'auditDays: Invalid value: Expected >=1 but received 0; moon: unknown setting; ' +
        'sun: unknown setting.',
    );
  });

  it('is rejected together with an unknown context key, unless the CDK knows it', () => {
    const context = {
      env: 'moon',
      environments: { moon: VALID },
      '@aws-cdk/core:flag': true,
      'cli-telemetry': false,
    };

    expect(readFrom(context).name).toBe('moon');
    expect(() => readFrom({ ...context, enviroment: 'prod' })).toThrow(
      /^There is no context key enviroment; there are env, transport, environments, mailTemplates, allowPlaceholders, unprotected, deployment, checked\.$/,
    );
  });

  it('is deployed as the context says', () => {
    const context = { env: 'moon', environments: { moon: { ...VALID, deployment: 'canary' } } };

    expect(readFrom({ ...context, deployment: 'all-at-once' }).settings.deployment).toBe(
      'all-at-once',
    );
    expect(readFrom(context).settings.deployment).toBe('canary');
    expect(() => readFrom({ ...context, deployment: 'at-once' })).toThrow('deployment: ');
  });

  it.each([true, 'true', false, 'false'])(
    'is unprotected as the context says: %j',
    (unprotected) => {
      const context = { env: 'moon', environments: { moon: { ...VALID, unprotected: true } } };

      expect(readFrom({ ...context, unprotected }).settings.unprotected).toBe(
        String(unprotected) === 'true',
      );
      expect(readFrom(context).settings.unprotected).toBe(true);
      expect(() => readFrom({ ...context, unprotected: 'yes' })).toThrow(
        'unprotected must be true or false, not yes.',
      );
    },
  );

  it.each([true, 'true', false, 'false'])('is checked as the context says: %j', (checked) => {
    const context = { env: 'moon', environments: { moon: VALID } };

    expect(readFrom({ ...context, checked }).checked).toBe(String(checked) === 'true');
    expect(readFrom(context).checked).toBe(true);
    expect(() => readFrom({ ...context, checked: 'x' })).toThrow(
      'checked must be true or false, not x.',
    );
  });

  it.each(['moon_1', 'moon 1', 'mönd', ''])(
    'is rejected when no stack can have its name: %j',
    (env) => {
      expect(() => readFrom({ env, environments: { [env]: VALID } })).toThrow(
        `The name of the environment "${env}" must consist of letters, digits and ` +
          'hyphens: its stacks are named after it.',
      );
      expect(readFrom({ env: 'Moon-1', environments: { 'Moon-1': VALID } }).name).toBe('Moon-1');
    },
  );

  it('is rejected when it is not an object', () => {
    for (const moon of [[], null, 7, 'moon']) {
      expect(() => readFrom({ env: 'moon', environments: { moon } })).toThrow(
        /^The environment moon in cdk\.json must be an object\.$/,
      );
    }
    for (const environments of [[], 7, 'moon']) {
      expect(() => readFrom({ env: 'moon', environments })).toThrow(
        /^The environments in cdk\.json must be an object\.$/,
      );
    }
  });

  it('has the shared mail templates unless it has its own', () => {
    const { templates, ...mail } = VALID.mail;
    const shared = structuredClone(templates);
    shared.en.reset.subject = 'Shared';
    const read = (environment: object) =>
      readFrom({ env: 'moon', environments: { moon: environment }, mailTemplates: shared }).settings
        .mail;

    expect(read({ ...VALID, mail })).toEqual({ ...mail, templates: shared });
    expect(read(VALID)).toEqual(VALID.mail);
    expect(() => read({ ...VALID, mail: undefined })).toThrow(/mail\.sender: .*mail\.linkBase: /);
  });
});

/** Invalid numbers of requests, days or minutes. */
const NO_COUNT = [ABSENT, '7', 0, -1, 1.5, null, Number.NaN, Number.POSITIVE_INFINITY];
/** Invalid rates of API Gateway, which may be fractions. */
const NO_RATE = [ABSENT, '7', 0, 0.99, -1, null, Number.NaN];
const NO_TEXT = [ABSENT, 7, null, ['a']];
const NO_OBJECT = [ABSENT, 7, null, 'a'];
const notice = (name: string): Record<string, unknown[]> => ({
  [`mail.templates.en.${name}`]: NO_OBJECT,
  [`mail.templates.en.${name}.subject`]: NO_TEXT,
  [`mail.templates.en.${name}.text`]: NO_TEXT,
  [`mail.templates.en.${name}.other`]: ['a'],
});
const LINK = /Invalid content: Expected "\{link\}"/;
const ORIGIN =
  'must be a scheme and a host in lower case, without a path, a trailing slash, a ' +
  'default port or a wildcard, ' +
  'such as https://admin.example.com';
const NO_LINK = /Invalid content: Expected !"\{link\}"/;

const KEY = 'arn:aws-cn:kms:cn-north-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab';

const WRONG: Record<string, readonly unknown[]> = {
  region: [
    ...NO_TEXT,
    '',
    'eu',
    'eu-central',
    'EU-CENTRAL-1',
    'eu-central-1a',
    'eu-central-1 ',
    'Frankfurt',
    'eu-central-9',
    'us-west-3',
  ],
  keepData: [ABSENT, 'true', 1, null],
  logRetentionDays: [ABSENT, 0, 8, 29, 366, '7', null, 'ONE_WEEK'],
  auditDays: [...NO_COUNT, 3654, 9999],
  tableMaximum: NO_OBJECT,
  'tableMaximum.readUnits': NO_COUNT,
  'tableMaximum.writeUnits': NO_COUNT,
  'tableMaximum.units': [7],
  throttle: NO_OBJECT,
  'throttle.other': [{ rate: 1, burst: 1 }],
  'throttle.all': NO_OBJECT,
  'throttle.all.rate': NO_RATE,
  'throttle.all.burst': NO_COUNT,
  'throttle.all.other': [7],
  'throttle.login': NO_OBJECT,
  'throttle.login.rate': NO_RATE,
  'throttle.login.burst': NO_COUNT,
  loginConcurrency: NO_COUNT.filter((value) => value !== ABSENT),
  guessing: NO_OBJECT,
  'guessing.failuresPerSource': NO_COUNT,
  'guessing.requestsPerSource': NO_COUNT,
  'guessing.resetsPerSource': NO_COUNT,
  'guessing.other': [7],
  signingKeys: [
    [],
    ['TableKey'],
    ['signingKey'],
    ['SigningKey-2'],
    ['aSigningKey'],
    ['SigningKey '],
    [7],
    'SigningKey',
    null,
  ],
  pepperKeys: [
    [],
    ['TableKey'],
    ['pepperKey'],
    ['PepperKey-2'],
    ['aPepperKey'],
    ['PepperKey '],
    [7],
    'PepperKey',
    null,
  ],
  tokenLife: NO_OBJECT,
  'tokenLife.minutes': NO_COUNT,
  'tokenLife.rememberedMinutes': NO_COUNT,
  'tokenLife.seconds': [7],
  mail: [7],
  'mail.sender': [...NO_TEXT, 'gate', 'gate@', 'Gate <gate@example.com>'],
  'mail.configurationSet': ['', 'with space', 'all/*', 'x'.repeat(65), 'pünktchen', 7, null],
  'mail.linkBase': [...NO_TEXT, 'one.example/key=', '/account/reset'],
  'mail.replyTo': ['gate@example.com'],
  'mail.templates': NO_OBJECT.filter((value) => value !== ABSENT),
  'mail.templates.en.other': [{ subject: 'a', text: 'b' }],
  ...notice('reset'),
  ...notice('invitation'),
  ...notice('passwordChanged'),
  ...notice('emailChanged'),
  corsOrigins: [ABSENT, 'https://one.example', null, ['one.example'], [7], ['*'], ['null']],
  existing: [true, null, 7],
  'existing.table': [
    7,
    null,
    '',
    'ab',
    'x'.repeat(256),
    'a table',
    'arn:aws:dynamodb:cn-north-1:123456789012:table/T',
  ],
  'existing.tableStream': [7, null, '', 'latest', KEY, streamOf('other'), ABSENT],
  'existing.keys': [7, null, 'TableKey', { Table: KEY }, { SigningKey: KEY }, { toString: KEY }],
  'existing.keys.TableKey': [
    7,
    null,
    '',
    'alias/table',
    '1234abcd-12ab-34cd-56ef-1234567890ab',
    'arn:aws:kms:cn-north-1:123456789012:alias/table',
    `${KEY} `,
    `x${KEY}`,
  ],
  'existing.alias': [7],
  domain: [true, null, 7, 'gate.one.example'],
  'domain.other': [7],
  'domain.name': [
    ...[
      ...NO_TEXT,
      '',
      'gate',
      'Gate.one.example',
      'https://gate.one.example',
      'gate.one.example/',
    ],
    ...[
      '-gate.one.example',
      'gate-.one.example',
      '127.0.0.1',
      '*.one.example',
      'gate.one.example ',
    ],
  ],
  'domain.certificate': [
    ...[
      ...NO_TEXT,
      '',
      'arn:aws:acm:cn-north-1:123456789012:certificate/',
      'arn:aws:acm:cn-north-1::certificate/a',
    ],
    ...[
      'arn:aws:iam:cn-north-1:123456789012:certificate/a',
      'arn:aws:acm:cn-north-1:123456789012:certificate/a ',
    ],
  ],
  edge: [true, null, 7, 'api.one.example'],
  'edge.other': [7],
  'edge.hostName': [
    ...NO_TEXT,
    '',
    'api',
    'API.one.example',
    'https://api.one.example',
    '*.one.example',
  ],
  'edge.certificate': [...NO_TEXT, '', 'arn:aws:iam:us-east-1:123456789012:certificate/a'],
  'edge.secret': [
    ...NO_TEXT,
    '',
    'a secret',
    'x'.repeat(513),
    'arn:aws:secretsmanager:us-east-1:123456789012:secret:a',
  ],
  'edge.secretHashes': [
    ...[
      ABSENT,
      null,
      'a0'.repeat(32),
      [],
      [7],
      ['a0'.repeat(31)],
      ['a0'.repeat(33)],
      ['A0'.repeat(32)],
    ],
    ...[['g0'.repeat(32)], ['a0'.repeat(32), 'b1'.repeat(32), 'c2'.repeat(32)]],
  ],
  'edge.requestsPerSource': [...NO_COUNT, 9],
  'edge.loginsPerSource': [...NO_COUNT, 9],
  dailyVerification: [{}, null, 7],
  deployment: ['linear', null, true],
  alarms: [
    ABSENT,
    7,
    '',
    'operators',
    'operators@',
    'arn:aws:sqs:cn-north-1:123456789012:operators',
    'arn:aws:sns:cn-north-1:12345678901:operators',
    'arn:aws:sns:cn-north-1:1234567890123:operators',
    'arn:aws:sns:cn-north-1:123456789012:',
    'arn:aws:sns:cn-north-1:123456789012:a:b',
    'xarn:aws:sns:cn-north-1:123456789012:operators',
    'arn:aws:sns:cn-north-1:123456789012:operators ',
  ],
  other: [7],
};
const CASES = Object.entries(WRONG).flatMap(([path, values]) =>
  values.map((value) => ({ path, value })),
);

describe('a setting', () => {
  it.each(CASES)('$path cannot be $value', ({ path, value }) => {
    const asPattern = path.replaceAll('.', '\\.');

    expect(reading(withValue(path, value))).toThrow(
      new RegExp(
        `^The settings of moon in cdk\\.json are invalid\\. (.*; )?${asPattern}(\\.\\w+)?: `,
      ),
    );
  });

  it.each<[string, unknown, RegExp | string]>([
    ['mail.templates.en.reset.text', 'no link', LINK],
    ['mail.templates.en.invitation.text', 'no link', LINK],
    ['mail.templates.en.passwordChanged.text', 'a {link}', NO_LINK],
    ['mail.templates.en.emailChanged.text', 'a {link}', NO_LINK],
    [
      'mail.templates',
      { de: VALID.mail.templates.en },
      'mail.templates: must contain English (en).',
    ],
    ['mail.templates', {}, 'mail.templates: must contain English (en).'],
    ['signingKeys', ['SigningKey', 'SigningKey'], 'signingKeys: Each key must be listed only once'],
    ['pepperKeys', ['PepperKey', 'PepperKey'], 'pepperKeys: Each key must be listed only once'],
    [
      'pepperKeys',
      ['PepperKey', 'PepperKey2', 'PepperKey3', 'PepperKey4'],
      'pepperKeys: There can be three at most',
    ],
    [
      'guessing',
      { failuresPerSource: 8, requestsPerSource: 7, resetsPerSource: 1 },
      'guessing: failuresPerSource must not exceed requestsPerSource: each failure is a request',
    ],
    [
      'tokenLife',
      { minutes: 8, rememberedMinutes: 7 },
      'tokenLife: minutes must not exceed rememberedMinutes: a token with a longer ' +
        'lifetime is rejected with 401',
    ],
    ['corsOrigins', ['one.example'], `corsOrigins.0: ${ORIGIN}, but is "one.example".`],
    [
      'corsOrigins',
      ['https://one.example/'],
      `corsOrigins.0: ${ORIGIN}, but is "https://one.example/".`,
    ],
    ['corsOrigins', ['https://one.example/path'], `corsOrigins.0: ${ORIGIN}`],
    ['corsOrigins', ['https://ok.example', 'https://Two.example'], `corsOrigins.1: ${ORIGIN}`],
    ['corsOrigins', ['https://one.example:443'], `corsOrigins.0: ${ORIGIN}`],
    ['corsOrigins', ['https://*'], `corsOrigins.0: ${ORIGIN}`],
    ['corsOrigins', ['https://*.one.example'], `corsOrigins.0: ${ORIGIN}`],
    [
      'region',
      'Frankfurt',
      'region: must be the name of an AWS region, such as eu-central-1, but is "Frankfurt".',
    ],
    ['auditDays', ABSENT, 'invalid. auditDays: missing.'],
    [
      'auditDays',
      3654,
      'auditDays: must not exceed 3653, which is ten years: a list may query each month',
    ],
    ['auditdays', 7, 'invalid. auditdays: unknown setting.'],
    [
      'alarms',
      ABSENT,
      'alarms: An environment that keeps its data requires a recipient of its alarms',
    ],
    [
      'alarms',
      'operators',
      'alarms: must be the ARN of an SNS topic or an e-mail address, but is "operators".',
    ],
    [
      'alarms',
      'arn:aws:sns:eu-central-1:123456789012:operators',
      'alarms: An alarm can only notify a topic in its own region, which is that of the ' +
        'environment.',
    ],
    [
      'domain.certificate',
      'arn:aws:acm:us-east-1:123456789012:certificate/0f2b7c1e',
      'domain.certificate: API Gateway can only use a certificate in its own region, ' +
        'which is that of the environment.',
    ],
    [
      'domain',
      ABSENT,
      'edge: requires domain: the edge reaches the API under a host name that does not change',
    ],
    [
      'edge.hostName',
      OTHER_SETTINGS.domain.name,
      'edge.hostName: must differ from domain.name, under which the edge reaches the API',
    ],
    [
      'edge.certificate',
      'arn:aws:acm:cn-north-1:123456789012:certificate/0f2b7c1e',
      'edge.certificate: CloudFront can only use a certificate in us-east-1',
    ],
    [
      'edge.secretHashes',
      Array(2).fill('a0'.repeat(32)),
      'edge.secretHashes: Each hash must be listed only once',
    ],
    [
      'edge.secretHashes',
      ['secret'],
      'edge.secretHashes.0: must be a SHA-256 hash: 64 hexadecimal digits in lower case, ' +
        'but is "secret".',
    ],
    [
      'edge.loginsPerSource',
      1010,
      'edge: loginsPerSource must not exceed requestsPerSource: each of these is a request',
    ],
    [
      'mail.linkBase',
      'http://one.example/key=',
      'mail.linkBase: With keepData, the page must be loaded over https: whoever reads ' +
        'the link can set the password.',
    ],
    [
      'corsOrigins',
      ['https://one.example', 'http://two.example'],
      'corsOrigins: With keepData, all origins must be https: whoever alters a page can ' +
        'use the tokens of its users.',
    ],
    [
      'existing.keys',
      { TableKey: KEY.replace('cn-north-1', 'cn-northwest-1') },
      'existing.keys: A key must be in the region of the environment',
    ],
    [
      'existing.keys',
      { TableKey: KEY, ValueKey: KEY, SigningKey: KEY },
      'existing.keys: There is no key ValueKey or SigningKey: there are only TableKey, ' +
        'ValuesKey and the keys in pepperKeys and signingKeys',
    ],
    ['keepData', false, 'existing: requires keepData'],
    [
      'mail.templates.en.reset.text',
      `{link}${'ü'.repeat(1800)}`,
      'mail: All texts and the other settings of mail together must not exceed 3,450 bytes',
    ],
    ['mail.templates.en.reset.text', `{link}${'\n'.repeat(1200)}`, 'mail: All texts'],
    ['mail.linkBase', `https://one.example/${'x'.repeat(3500)}`, 'mail: All texts'],
    [
      'corsOrigins',
      Array.from({ length: 200 }, (_, n) => `https://${n}.one.example.com`),
      'corsOrigins: corsOrigins and',
    ],
  ])('%s is rejected with an explanation when it is %j', (path, value, reason) => {
    expect(reading(withValue(path, value))).toThrow(reason);
  });

  it.each<[string, unknown]>([
    ['existing', {}],
    [
      'existing',
      {
        table: 'abc',
        tableStream: streamOf('abc'),
        keys: { TableKey: KEY, ValuesKey: KEY, PepperKeyA: KEY, SigningKeyA: KEY },
      },
    ],
    ['mail.templates.en.reset.text', `{link}${'x'.repeat(2048)}`],
    ['logRetentionDays', 1],
    ['logRetentionDays', 3653],
    ['auditDays', 1],
    ['auditDays', 3653],
    ['tableMaximum', { readUnits: 1, writeUnits: 1 }],
    ['throttle.all', { rate: 1, burst: 1 }],
    ['throttle.login', { rate: 1.5, burst: 1 }],
    ['loginConcurrency', 1],
    ['guessing', { failuresPerSource: 7, requestsPerSource: 7, resetsPerSource: 1 }],
    ['guessing', { failuresPerSource: 1, requestsPerSource: 1, resetsPerSource: 1 }],
    ['tokenLife', { minutes: 7, rememberedMinutes: 7 }],
    ['tokenLife', { minutes: 1, rememberedMinutes: 1 }],
    ['signingKeys', ['SigningKey']],
    ['signingKeys', ['SigningKey2026', 'SigningKeyA', 'SigningKey']],
    ['mail.configurationSet', 'x'],
    ['mail.configurationSet', `aZ0_-${'x'.repeat(59)}`],
    ['mail.templates', { en: VALID.mail.templates.en, 'pt-BR': VALID.mail.templates.en }],
    ['corsOrigins', []],
    ['corsOrigins', ['https://one.example:8443']],
    ['edge.secretHashes', ['a0'.repeat(32)]],
    ['edge.requestsPerSource', 31],
    ['edge.loginsPerSource', 10],
    ['dailyVerification', false],
    ['alarms', 'arn:aws:sns:cn-north-1:123456789012:operators'],
    ['alarms', 'operators@example.org'],
  ])('%s can be %j', (path, value) => {
    const environment = withValue(path, value);

    expect(readValid(environment)).toEqual(environment);
  });

  it.each(['loginConcurrency', 'edge', 'mail.configurationSet', 'existing', 'unprotected'])(
    '%s is optional and has no default',
    (path) => {
      const environment = withValue(path, ABSENT);

      expect(readValid(environment)).toStrictEqual(environment);
    },
  );

  it('domain is optional without an edge, and has no default', () => {
    const { edge: _, ...environment } = withValue('domain', ABSENT);

    expect(readValid(environment)).toStrictEqual(environment);
  });

  it('alarms is optional where the data is not kept, and has no default', () => {
    const { existing: _, ...rest } = withValue('alarms', ABSENT) as typeof VALID;
    const environment = { ...rest, keepData: false, deployment: 'all-at-once' };

    expect(readValid(environment)).toStrictEqual(environment);
  });

  it('deployment defaults to all-at-once, and canary requires alarms', () => {
    const silent = { ...withValue('alarms', ABSENT), existing: undefined, keepData: false };

    expect(readValid(withValue('deployment', ABSENT)).deployment).toBe('all-at-once');
    expect(reading(silent)).toThrow('deployment: A canary requires alarms: they roll it back');
  });

  it('dailyVerification defaults to false', () => {
    expect(readValid(withValue('dailyVerification', ABSENT))).toStrictEqual({
      ...VALID,
      dailyVerification: false,
    });
  });

  it.each([
    ['signingKeys', ['SigningKey']],
    ['pepperKeys', ['PepperKey']],
  ])('%s defaults to a single key', (name, keys) => {
    expect(readValid(withValue(name, ABSENT))).toStrictEqual({ ...VALID, [name]: keys });
  });
});

describe('a placeholder', () => {
  /** An environment without any. */
  const REAL = {
    ...VALID,
    existing: undefined,
    corsOrigins: ['https://admin.gatehouse.dev'],
    domain: {
      name: 'gatehouse.dev',
      certificate: 'arn:aws-cn:acm:cn-north-1:210987654321:certificate/0f2b7c1e',
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
    },
    alarms: 'arn:aws-cn:sns:cn-north-1:210987654321:operators',
  };
  const reading = (environment: object, allowPlaceholders = 'false') =>
    readStrictly({ env: 'moon', environments: { moon: environment }, allowPlaceholders });

  it.each<[string, object]>([
    ['mail.sender', { mail: { ...REAL.mail, sender: 'gate@mail.example.org' } }],
    ['mail.sender', { mail: { ...REAL.mail, sender: 'gate@Example.com' } }],
    ['mail.linkBase', { mail: { ...REAL.mail, linkBase: 'https://example.net' } }],
    ['mail.linkBase', { mail: { ...REAL.mail, linkBase: 'https://gatehouse.invalid?key=' } }],
    ['mail.linkBase', { mail: { ...REAL.mail, linkBase: 'https://localhost/?key=' } }],
    ['mail.linkBase', { mail: { ...REAL.mail, linkBase: 'https://127.0.0.1:9000/?key=' } }],
    ['corsOrigins.1', { corsOrigins: ['https://gatehouse.dev', 'https://one.example:8443'] }],
    ['corsOrigins.0', { corsOrigins: ['https://gate.test'] }],
    ['alarms', { alarms: 'arn:aws-cn:sns:cn-north-1:123456789012:operators' }],
    ['alarms', { alarms: 'operators@example.com' }],
    ['domain.name', { domain: { ...REAL.domain, name: 'gate.example.com' } }],
    ['domain.name', { domain: { ...REAL.domain, name: 'gate.example' } }],
    ['edge.hostName', { edge: { ...REAL.edge, hostName: 'api.example.com' } }],
    ['edge.certificate', { edge: { ...REAL.edge, certificate: VALID.edge.certificate } }],
  ])('in %s is rejected with keepData, and allowed without: %j', (path, changes) => {
    const environment = { ...REAL, ...changes };

    expect(() => reading(environment)).toThrow(
      new RegExp(
        `^The settings of moon in cdk\\.json are invalid\\. ${path}: replace the ` +
          'placeholder "\\S+"\\.$',
      ),
    );
    expect(reading({ ...environment, keepData: false }).placeholders).toEqual([]);
    expect(reading(environment, 'true').placeholders).toEqual([path]);
  });

  it('is allowed with true or false only', () => {
    expect(() => reading(REAL, 'maybe')).toThrow(
      'allowPlaceholders must be true or false, not maybe.',
    );
  });

  it('is none of these, nor any name in a text', () => {
    const changes = {
      signingKeys: ['SigningKeyTest'],
      mail: {
        ...REAL.mail,
        sender: 'test@myexample.com',
        configurationSet: 'test',
        linkBase: 'https://example.com.gatehouse.dev/test/example?key=',
        templates: {
          en: {
            ...REAL.mail.templates.en,
            reset: { subject: 'Write to help@example.com', text: '{link}' },
          },
        },
      },
    };

    expect(reading({ ...REAL, ...changes }).placeholders).toEqual([]);
  });
});

it.each(['us-gov-west-1', 'eusc-de-east-1', 'ap-southeast-7', 'mx-central-1'])(
  'region can be %s',
  (region) => {
    const { domain: _, edge: __, existing: ___, ...rest } = VALID;
    const environment = { ...rest, alarms: 'operators@example.com' };

    expect(readValid({ ...environment, region }).region).toBe(region);
  },
);

describe('docs/settings.md', () => {
  const document = withGenerated(
    readFileSync(join(ROOT, 'docs/settings.md'), 'utf8'),
    settingsTables(shippedSettings.environments.prod),
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
      ['infra/*.ts', 'infra/local/**/*.ts', 'test/{soak,support/long,support/seed}.ts'],
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
