import { expect, it } from 'vitest';
import { deploy } from '../../infra/local/deploy.ts';
import { readTemplate } from '../../infra/local/stack/template.ts';
import { openMemoryState } from '../../infra/local/state/state.ts';
import { credentialKey } from '../../lib/integrations/integration-items.ts';
import { entityKey, type Key } from '../../lib/table/keys.ts';
import { notBeforeKey, publicKeyItemKey } from '../../lib/tokens/token.ts';
import { armingKey } from '../../lib/users/emergency-account.ts';
import { apiTokenKey, sessionKey } from '../../lib/users/session-item.ts';
import { resetItemKey } from '../../lib/users/user-items.ts';
import { USER_UPDATES } from '../../lib/users/user-updates.ts';
import { assemblyWith } from '../support/stack/stack.ts';

/*
 * What a function can do if somebody takes it over, by its policy in the template of production,
 * with the settings that let functions do more. SECURITY.md says the same in words.
 */

const SETTINGS = { auditLogDays: 30, ssoOnly: { emergencyAccount: 'break-glass' } };
const state = openMemoryState();
const assembly = assemblyWith('prod', SETTINGS);
const { authorization, functions, table } = deploy(readTemplate(assembly), state);
state.close();

type Attempt = Parameters<typeof authorization.denialReason>[1];

type Act = 'Put' | 'Update' | 'Delete';

/** Each way to write an item, or an attribute of it: alone or in a transaction. */
function writesOf({ pk, sk }: Key, acts: readonly Act[], attribute?: string): Attempt[] {
  const key = { pk: { S: pk }, sk: { S: sk } };
  return acts.flatMap((act) => {
    const parts = {
      TableName: table.TableName,
      [act === 'Put' ? 'Item' : 'Key']: key,
      ...(act === 'Update' && attribute && { UpdateExpression: `REMOVE ${attribute}` }),
    };
    return [
      { service: 'DynamoDB', operation: `${act}Item`, input: parts },
      {
        service: 'DynamoDB',
        operation: 'TransactWriteItems',
        input: { TransactItems: [{ [act]: parts }] },
      },
    ] satisfies Attempt[];
  });
}

/** Each way to read an item: alone, with others, with its partition, or by a condition. */
function readsOf({ pk, sk }: Key): Attempt[] {
  const { TableName = '' } = table;
  const Key = { pk: { S: pk }, sk: { S: sk } };
  const range = {
    KeyConditionExpression: 'pk = :pk',
    ExpressionAttributeValues: { ':pk': Key.pk },
  };
  return Object.entries({
    GetItem: { TableName, Key },
    BatchGetItem: { RequestItems: { [TableName]: { Keys: [Key] } } },
    Query: { TableName, ...range },
    TransactWriteItems: { TransactItems: [{ ConditionCheck: { TableName, Key } }] },
  }).map(([operation, input]) => ({ service: 'DynamoDB', operation, input }));
}

/** Each way to write an attribute of a user. */
const writesOfUser = (attribute: string): Attempt[] =>
  writesOf(entityKey('USER', 1), ['Put', 'Update'], attribute);

/** A call of KMS with the first key that a variable names. */
function withKey(variable: string, operation: string): Attempt[] {
  const keys = functions.find(({ environment }) => environment[variable])?.environment[variable];
  const EncryptionContext = { service: 'gatehouse', integration: '1' };
  const KeyId = keys?.split(',')[0];
  return [{ service: 'KMS', operation, input: { KeyId, EncryptionContext } }];
}

/** The functions that can make one of these calls, of any function. */
const reachedBy = (attempts: readonly Attempt[]): string[] =>
  functions
    .map(({ name }) => name)
    .filter((name) => attempts.some((call) => !authorization.denialReason(name, call)));

const FACTOR = ['', '/confirm', '/disable', '/recovery-codes'].map(
  (path) => `POST /api/account/second-factor${path}`,
);

const SESSION = sessionKey({ id: 1, jti: 'series' });
const AUDIT: Key = { pk: 'AUDIT#2026-11', sk: '2026-11-22T06:24:30.123Z#id' };

it.each<[string, Attempt[], string[]]>([
  ['sign a token of a person', withKey('SIGNING_KEYS', 'Sign'), ['POST /api/authenticate']],
  ['sign a token of a module', withKey('MODULE_KEYS', 'Sign'), ['POST /api/oauth2/token']],
  [
    'compute the hash of a password',
    withKey('PEPPER_KEYS', 'GenerateMac'),
    [
      'POST /api/authenticate',
      'POST /api/account/confirm-email',
      'POST /api/account/change-password',
      'POST /api/account/identities',
      ...FACTOR,
      'POST /api/account/reset-password/init',
      'POST /api/account/reset-password/finish',
      'POST /api/users',
      'POST /api/oauth2/token',
    ],
  ],
  [
    'compute a code of a second factor',
    withKey('FACTOR_KEY', 'GenerateMac'),
    ['POST /api/authenticate', 'POST /api/account/identities', ...FACTOR],
  ],
  [
    'publish a public key',
    writesOf(publicKeyItemKey('kid'), ['Put', 'Update']),
    ['POST /api/authenticate'],
  ],
  ['arm the emergency account', writesOf(armingKey, ['Put', 'Update', 'Delete']), []],
  [
    'read whether it is armed',
    readsOf(armingKey),
    ['POST /api/authenticate', 'verifies the table once a day'],
  ],
  ['accept ended tokens again', writesOf(notBeforeKey, ['Update', 'Delete']), []],
  [
    'read a sealed value',
    withKey('VALUES_KEY', 'Decrypt'),
    [
      'GET /api/utm-integrations/{id}/module',
      'GET /api/utm-integration-confs',
      'GET /api/utm-integration-confs/{id}',
      'POST /api/plan',
      'POST /api/apply',
    ],
  ],
  [
    'make a credential',
    writesOf(credentialKey('module-1-a'), ['Put', 'Update']),
    ['POST /api/utm-integrations/{id}/credentials'],
  ],
  [
    'grant a role',
    writesOfUser('authorities'),
    ['POST /api/users', 'PUT /api/users', 'POST /api/apply'],
  ],
  [
    'activate a user',
    writesOfUser('activated'),
    [
      'POST /api/users',
      'PUT /api/users',
      'POST /api/apply',
      'PATCH /scim/v2/Users/{id}',
      'DELETE /scim/v2/Users/{id}',
    ],
  ],
  [
    'rename a user',
    writesOfUser('login'),
    ['POST /api/authenticate', 'POST /api/users', 'PUT /api/users', 'POST /api/apply'],
  ],
  [
    'change an address',
    writesOfUser('email'),
    [
      'POST /api/account',
      'POST /api/account/confirm-email',
      'POST /api/users',
      'PUT /api/users',
      'POST /api/apply',
    ],
  ],
  [
    'set a password',
    writesOfUser('passwordHash'),
    [
      'POST /api/authenticate',
      'POST /api/account/change-password',
      'POST /api/account/reset-password/finish',
      'POST /api/users',
      'POST /api/apply',
    ],
  ],
  [
    'change a second factor',
    [...writesOfUser('secondFactor'), ...writesOfUser('pendingFactor')],
    [
      'POST /api/authenticate',
      'POST /api/account/identities',
      ...FACTOR,
      'POST /api/users',
      'POST /api/users/{login}/second-factor/remove',
      'POST /api/apply',
    ],
  ],
  [
    'make an API token',
    writesOf(apiTokenKey('series'), ['Put', 'Update']),
    ['POST /api/account/tokens'],
  ],
  ['start a session', writesOf(SESSION, ['Put']), ['POST /api/authenticate']],
  [
    'bring back a session that ended with all others',
    writesOf(SESSION, ['Update'], 'sessionEndings'),
    [
      'POST /api/account/change-password',
      'POST /api/account/end-other-sessions',
      'POST /api/account/second-factor/confirm',
    ],
  ],
  ['prolong a session', writesOf(SESSION, ['Update'], 'expires'), []],
  ['change the audit trail', writesOf(AUDIT, ['Update', 'Delete']), []],
  [
    'make a key that sets a password',
    writesOf(resetItemKey('a'), ['Put', 'Update']),
    ['sends mail'],
  ],
  [
    'scan the table',
    [{ service: 'DynamoDB', operation: 'Scan', input: { TableName: table.TableName } }],
    ['verifies the table once a day'],
  ],
])('only these functions can %s', (_, attempts, expected) => {
  expect(reachedBy(attempts)).toEqual(expected);
});

it('the functions that end sessions can update nothing else of users', () => {
  const attributes = new Set(Object.values(USER_UPDATES).flat());
  const reached = (route: string) =>
    [...attributes].filter((name) => reachedBy(writesOfUser(name)).includes(route));

  for (const route of [
    'POST /api/logout',
    'POST /api/account/sessions/{series}/end',
    'POST /api/users/{login}/sessions/{series}/end',
  ])
    expect(reached(route)).toEqual([]);
  for (const route of [
    'POST /api/account/end-other-sessions',
    'POST /api/users/{login}/end-sessions',
  ])
    expect(reached(route).sort()).toEqual([
      'factorChanges',
      'passwordChanges',
      'sessionEndings',
      'tokens',
      'version',
    ]);
});
