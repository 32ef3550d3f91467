import { expect, it } from 'vitest';
import { hashOf, isUsable, mailboxHashOf, newResetKey } from '../../lib/users/reset-key.ts';
import type { User } from '../../lib/users/user.ts';

const NOW = 1_900_000_000_123;
const HOUR = 3_600_000;
const ada = { id: 7, email: 'ada@b.c', activated: true, securityStamp: 'first' } as User;

it('a new key is random, and stored as its hash for a day', () => {
  const [{ key, write }, other] = [newResetKey(ada, NOW), newResetKey(ada, NOW)];

  expect(key).toMatch(/^[\w-]{43}$/);
  expect(other.key).not.toBe(key);
  expect(write).toMatchObject({
    act: 'Put',
    key: { pk: `RESET#${hashOf(key)}`, sk: 'RESET' },
    attributes: {
      userId: 7,
      securityStamp: 'first',
      mailbox: mailboxHashOf(ada),
      issuedAt: NOW,
      expires: 1_900_086_400,
    },
    condition: 'attribute_not_exists(pk)',
    onConditionFailed: 'retry',
  });
});

it.each<[string, Partial<User>, number, boolean]>([
  ['is usable', {}, NOW, true],
  ['is usable until it expires', {}, 1_900_086_399_999, true],
  ['is not usable from then on', {}, 1_900_086_400_000, false],
  ['is not usable by a deactivated user', { activated: false }, NOW, false],
  ['is not usable under another stamp', { securityStamp: 'other' }, NOW, false],
  ['outlasts a new address for an hour', { email: 'new@b.c' }, NOW + HOUR - 1, true],
  ['does not outlast it longer', { email: 'new@b.c' }, NOW + HOUR, false],
  ['is usable in another spelling', { email: 'ADA@b.c' }, NOW + 2 * HOUR, true],
])('a key %s', (_, changed, now, expected) => {
  const { write } = newResetKey(ada, NOW);

  expect(isUsable(write.attributes as never, { ...ada, ...changed }, now)).toBe(expected);
});
