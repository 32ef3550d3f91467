import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { put } from '../../lib/table/write.ts';
import { lastFailedAgo } from '../support/instance/attempts.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { itemsOf } from '../support/instance/items.ts';
import { turnOnFactor } from '../support/instance/users.ts';

/*
 * An owner of a second factor whose login others know, or whose password, or whose mailbox. Each
 * 127.0.n is a separate network; the factor is turned on in another one.
 */

const ATTACKER = '127.0.77.1';
const HOTEL = '127.0.88.1';

let calls: string[] = [];
const gatehouse = await useGatehouse({
  intercept(call, forward) {
    const { ExpressionAttributeValues: values } = call.input as SourceCount;
    const failures = values?.[':failures']?.N;
    if (call.functionName === 'POST /api/authenticate')
      calls.push(failures ? `count ${failures} failures` : call.operation);
    return forward();
  },
});

interface SourceCount {
  readonly ExpressionAttributeValues?: { readonly ':failures'?: { readonly N?: string } };
}

const logIn = (username: string, password: string, code: string | null, from = HOTEL) =>
  gatehouse.call('POST', '/api/authenticate', { body: { username, password, code }, from });

async function enrolled(login: string) {
  await gatehouse.makeUser(login, { authorities: ['ROLE_USER'] });
  return turnOnFactor(gatehouse, login);
}

/** Makes one wrong attempt and changes its count, because each attempt would cost a hash. */
async function exhaustAttempts(login: string) {
  const before = await itemsOf(gatehouse.cloud);
  await logIn(login, 'wrong', null, ATTACKER);
  for (const [name, item] of await itemsOf(gatehouse.cloud)) {
    if (item.sk !== 'ELSEWHERE' || before.get(name)?.last === item.last) continue;
    const { pk, sk, ...count } = item;
    const full = { ...count, n: 30, last: Date.now() };
    await gatehouse.table.transact([put({ pk, sk }, full)], randomUUID());
  }
}

async function resetByMail(login: string, newPassword: string) {
  const email = `${login}@example.com`;
  await gatehouse.call('POST', '/api/account/reset-password/init', { body: { email } });
  const key = await gatehouse.keyMailedTo(email);
  const body = { key, newPassword };
  return gatehouse.call('POST', '/api/account/reset-password/finish', { body, from: HOTEL });
}

const statuses = async (times: number, attempt: (n: number) => ReturnType<typeof logIn>) => {
  const seen: number[] = [];
  for (let n = 0; n < times; n++) seen.push((await attempt(n)).status);
  return seen;
};

describe('an owner whose login others use up', () => {
  it('is let in with a recovery code, which an attacker cannot use up', async () => {
    const { recoveryCodes } = await enrolled('faye');
    await exhaustAttempts('faye');

    const guesses = await statuses(8, (n) =>
      logIn('faye', 'faye', `AAAA-AAA${'ABCDEFGH'[n]}`, ATTACKER),
    );
    const plain = await logIn('faye', 'faye', null);
    calls = [];
    const owner = await logIn('faye', 'faye', recoveryCodes[0] as string);

    expect(guesses).toEqual(Array(8).fill(429));
    expect([plain.status, owner.status]).toEqual([429, 200]);
    expect(calls.filter((call) => call.startsWith('count'))).toEqual(['count 0 failures']);
    // The network is known by then.
    expect((await resetByMail('faye', 'second')).status).toBe(200);
  });

  it('has five wrong passwords a day with a right recovery code during a wait', async () => {
    const { recoveryCodes } = await enrolled('thief');
    await exhaustAttempts('thief');

    const guess = (n: number) => logIn('thief', `guess ${n}`, recoveryCodes[n] as string, ATTACKER);
    const guesses = await statuses(6, guess);
    calls = [];
    guesses.push((await guess(6)).status);

    expect(guesses).toEqual([401, 401, 401, 401, 401, 429, 429]);
    // What cannot succeed is not checked.
    expect(calls).toEqual(['BatchGetItem']);
  });

  it('is let in by a reset, with ten attempts more and once a day', async () => {
    const { recoveryCodes } = await enrolled('gusto');
    await exhaustAttempts('gusto');
    const before = await logIn('gusto', 'gusto', '');

    expect((await resetByMail('gusto', 'second')).status).toBe(200);
    const guess = (n: number) => logIn('gusto', 'second', `0000${n + 10}`);
    const guesses = await statuses(10, guess);
    await lastFailedAgo(gatehouse, -60);
    const [eleventh] = await statuses(1, guess);
    expect((await resetByMail('gusto', 'third')).status).toBe(200);
    const after = await logIn('gusto', 'third', '000099');

    expect(before.status).toBe(429);
    expect([...guesses, eleventh]).toEqual([...Array(10).fill(401), 429]);
    expect(after.status).toBe(429);
    expect((await logIn('gusto', 'third', recoveryCodes[0] as string)).status).toBe(200);
  });

  it('costs the same calls as an unknown login, with a code that has the form', async () => {
    await gatehouse.makeUser('plain', { authorities: ['ROLE_USER'] });
    await enrolled('holder');
    for (const login of ['plain', 'holder', 'nobody-at-all']) await exhaustAttempts(login);

    const seen = [];
    for (const login of ['plain', 'holder', 'nobody-at-all']) {
      await logIn(login, login, 'AAAAAAAA', ATTACKER);
      calls = [];
      const { status } = await logIn(login, login, 'AAAAAAAB', ATTACKER);
      seen.push([status, ...calls]);
    }

    const counted = ['count 0 failures', 'GetItem', 'GenerateMac', 'count 1 failures'];
    expect(seen).toEqual(Array(3).fill([429, 'BatchGetItem', ...counted]));
  });
});

describe('the right password with a wrong code', () => {
  it('is audited and told to the owner by mail, once a day', async () => {
    await enrolled('patty');
    const { id } = (
      await gatehouse.call('GET', '/api/users/patty', {
        token: await gatehouse.adminToken(),
      })
    ).body;

    await logIn('patty', 'wrong', '111111', ATTACKER);
    await logIn('patty', 'patty', '', ATTACKER);
    const of = async () => {
      const path = `/api/audits?target.equals=user/${id}`;
      const { body } = await gatehouse.call('GET', path, { token: await gatehouse.adminToken() });
      return body.filter(({ action }: { action: string }) => action === 'login.codeRejected');
    };
    const before = await of();
    for (const code of ['111111', '222222', '333333'])
      await logIn('patty', 'patty', code, ATTACKER);

    expect(before).toEqual([]);
    expect(await of()).toMatchObject([
      { actor: 'anonymous', targetName: 'patty', source: ATTACKER },
    ]);
    const mails = await gatehouse.mailsTo('patty@example.com');
    expect(mails.map(({ subject }) => subject)).toEqual([
      'Your second factor was changed',
      'Your password was used with a wrong code',
    ]);
  });
});
