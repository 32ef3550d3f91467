import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Rule } from '../../infra/local/aws/faults.ts';
import { AWAY, statuses, useAttempts } from '../support/instance/attempts.ts';
import type { Received } from '../support/instance/launch.ts';
import { LONG, RELEASE } from '../support/instance/run-variables.ts';

/* What an outage does to the counts of attempts. */

const {
  changePassword,
  deleteCounts,
  failuresOfSources,
  faults,
  gatehouse,
  hashes,
  logIn,
  watched,
} = await useAttempts();

describe('the right password', () => {
  const isTransactionOn = (key: string) => (operation: string, input: string) =>
    operation === 'TransactWriteItems' && input.includes(key);

  type Case = [title: string, fault: Omit<Rule, 'function'>, appliesTo?: typeof watched.isFaulty];
  const TRANSACTION = { operation: 'TransactWriteItems' };
  const UPDATE = { operation: 'UpdateItem' };
  const EITHER: Case[] = [
    ['the table is unavailable', { service: 'DynamoDB', fault: 'error-before' }],
    ['transactions are refused', { ...TRANSACTION, fault: 'error-before' }],
    ['the outcome of transactions is unknown', { ...TRANSACTION, fault: 'lost' }],
    ['updates are refused', { ...UPDATE, fault: 'error-before' }],
    ['the outcome of updates is unknown', { ...UPDATE, fault: 'lost' }],
    ['no password can be verified', { operation: 'GenerateMac', fault: 'error-before' }],
    ['its failures cannot be cleared', { fault: 'error-before' }, isTransactionOn('NETWORK#')],
  ];
  const LOGIN_ONLY: Case[] = [
    ['no token can be signed', { operation: 'Sign', fault: 'error-before' }],
  ];
  const CHANGE_ONLY: Case[] = [
    ['the change cannot be committed', { fault: 'error-before' }, isTransactionOn('"USER"')],
    ['the outcome of the change is unknown', { fault: 'lost' }, isTransactionOn('"USER"')],
  ];
  if (LONG) {
    EITHER.push(['transactions are throttled', { ...TRANSACTION, fault: 'throttle' }]);
    CHANGE_ONLY.push(['the user is always busy', { fault: 'conflict' }, isTransactionOn('"USER"')]);
  }
  const casesOf = (route: string, rows: Case[]) =>
    rows.map(([title, rule, appliesTo]) => ({ route, title, rule, appliesTo }));
  const LOG_IN = 'POST /api/authenticate';
  const cases = [
    ...casesOf(LOG_IN, [...EITHER, ...LOGIN_ONLY]),
    ...casesOf('POST /api/account/change-password', [...EITHER, ...CHANGE_ONLY]),
  ];

  it.each(cases)('never leads to a wait: $route, $title', async ({ route, rule, appliesTo }) => {
    const login = `right-${randomUUID().slice(0, 8)}`;
    await gatehouse.makeUser(login);
    const token = await gatehouse.tokenOf(login);
    await deleteCounts();
    watched.isFaulty = appliesTo;
    faults.inject([{ ...rule, function: route }]);

    const during: Received[] = [];
    for (let n = 0; n < 15; n++) {
      during.push(
        route === LOG_IN
          ? await logIn(login, login, { from: AWAY, mayCrash: true })
          : await changePassword(token, login, AWAY),
      );
    }
    faults.inject([]);

    expect(statuses(during)).not.toContain(429);
    expect(await failuresOfSources()).toEqual([]);
    expect((await logIn(login, login, { from: AWAY })).status).toBe(200);
  });
});

it('a log-in starts no session while no token can be signed', async () => {
  await gatehouse.makeUser('unsigned');
  faults.inject([{ operation: 'Sign', fault: 'error-before', function: 'POST /api/authenticate' }]);

  const { status } = await logIn('unsigned', 'unsigned', { mayCrash: true });

  const token = await gatehouse.adminToken();
  const sessions = await gatehouse.call('GET', '/api/users/unsigned/sessions', { token });
  expect([status, sessions.body]).toEqual([503, []]);
});

describe('a login attempt that cannot be counted', () => {
  beforeAll(deleteCounts);
  const item = 'ATTEMPTS#*';
  const [TRANSACTIONS, UPDATES] = ['TransactWriteItems', 'UpdateItem'];
  const CASES: [string, Rule][] = [
    ['the counts cannot be read', { operation: 'BatchGetItem', fault: 'error-before' }],
    ['the counts cannot be written', { operation: TRANSACTIONS, item, fault: 'reset' }],
    ['the count of the source cannot be written', { operation: UPDATES, item, fault: 'reset' }],
    ['the key that hides its login is unavailable', { service: 'KMS', fault: 'throttle' }],
  ];
  // A conflict is repeated until a change gives up, after eight seconds.
  if (LONG)
    CASES.push(
      ['the counts are always busy', { operation: TRANSACTIONS, item, fault: 'conflict' }],
      ['the count of the source is always busy', { operation: UPDATES, item, fault: 'conflict' }],
      ['it is unknown whether it was counted', { operation: TRANSACTIONS, item, fault: 'lost' }],
    );

  // The functions of a release cannot be restarted.
  it.skipIf(RELEASE).each(CASES)(
    'is rejected with 503 and computes no hash: %s',
    async (_, rule) => {
      // The key that hides logins is derived once per function instance.
      if (rule.service === 'KMS') gatehouse.cloud.recycle();
      faults.inject([{ ...rule, function: 'POST /api/authenticate' }]);
      watched.calls = [];

      const { status, headers, body } = await logIn('admin', 'admin');

      expect([status, headers['retry-after'], body.message]).toEqual([503, '1', 'error.http.503']);
      expect(hashes()).toBe(0);
    },
  );
});
