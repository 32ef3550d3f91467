import { expect, it } from 'vitest';
import { Failure } from '../../lib/contract/failure.ts';
import { idText } from '../../lib/table/keys.ts';
import { findTokenUses, openTokenUses } from '../../lib/tokens/api-token.ts';
import { newSession } from '../../lib/users/new-session.ts';
import { hasProvidersFactor, isLive } from '../../lib/users/session-item.ts';
import { memoryTable, recordingTable } from '../support/doubles/memory-table.ts';
import { storedSession, storedUser } from '../support/doubles/stored-items.ts';

const NOW = Date.UTC(2030, 0, 1);
const SECONDS = NOW / 1000;
const SOURCE = { address: '203.0.113.7', arrivedAt: NOW };

const ada = storedUser(7, 'ada');

it('a session lasts as long as its token, and names no more of the client', () => {
  const traits = { remembered: false, secondFactor: true };
  const userAgent = `<b>é\u0000"curl"</b> (8.5; x_86/64: +a,b) ${'x'.repeat(300)}`;
  const session = newSession(ada, { ...SOURCE, userAgent }, traits, 3600, NOW + 999);

  expect(session).toEqual({
    jti: expect.stringMatching(/^0[a-z\d]{8}[\w-]{12}$/),
    startedAt: '2030-01-01T00:00:00.999Z',
    expires: SECONDS + 3600,
    ipAddress: '203.0.113.7',
    userAgent: `bcurl/b (8.5; x_86/64: +a,b) ${'x'.repeat(226)}`,
    ...traits,
    passwordChanges: 0,
    sessionEndings: 0,
  });
  expect(newSession(ada, SOURCE, traits, 3600, NOW).userAgent).toBe('');
  expect(newSession(ada, SOURCE, traits, 3600, NOW + 999).jti).not.toBe(session.jti);
  expect(newSession(ada, SOURCE, traits, 3600, NOW + 1000).jti > session.jti).toBe(true);
});

it.each<[string, object, number, boolean]>([
  ['is live in its last millisecond', {}, NOW + 59_999, true],
  ['has ended when its token expires', {}, NOW + 60_000, false],
  ['has ended after a new password', { passwordChanges: 3 }, NOW, false],
  ['has ended with all sessions', { sessionEndings: 2 }, NOW, false],
  [
    'is live if its user was read before the change that keeps it',
    { passwordChanges: 1, sessionEndings: undefined },
    NOW,
    true,
  ],
])('a session %s', (_, changes, now, expected) => {
  const user = { ...ada, passwordChanges: 2, sessionEndings: 1 };
  const session = storedSession(user, { expires: SECONDS + 60 });

  expect(isLive(session, { ...user, ...changes }, now)).toBe(expected);
});

it.each([
  ['https://idp.example.com', true, true],
  ['https://idp.example.com', false, false],
  [undefined, true, false],
])('a session of %s with a factor: %j has one of the provider: %j', (issuer, own, expected) => {
  const session = storedSession(ada, { secondFactor: own, ...(issuer && { issuer }) });

  expect(hasProvidersFactor(session)).toBe(expected);
});

it('a use of an API token that could not be stored is stored with the next request', async () => {
  const table = recordingTable();
  const recordUse = openTokenUses(table);
  table.updateOutcomes.push(new Failure('unavailable'));

  for (let n = 0; n < 3; n++)
    await recordUse({ id: 7, jti: 'series', expires: SECONDS, source: SOURCE.address });

  expect(table.updates).toHaveLength(2);
});

it('the uses of the newest API tokens are found after a thousand of an older one', async () => {
  const [pk, lastUsed] = [`TOKEN-USE#${idText(7)}`, '2030-01-01T00:00:00Z'];
  const use = (series: string, source: string) => ({
    pk,
    sk: `${series}#${source}`,
    series,
    source,
    lastUsed,
  });
  const older = Array.from({ length: 1000 }, (_, n) => use('a', `${n}`));

  const uses = await findTokenUses(memoryTable([...older, use('b', '0')]), 7, () => undefined);

  expect([...uses.keys()]).toEqual(['b', 'a']);
});
