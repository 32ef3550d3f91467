import { expect, it } from 'vitest';
import {
  confirms,
  hashOf,
  isUsable,
  newConfirmationKey,
  newResetKey,
  userIdIn,
} from '../../lib/users/mailed-keys.ts';
import type { User } from '../../lib/users/user.ts';

const NOW = 1_900_000_000_123;
const HOUR = 3_600_000;
const IDENTITY = { issuer: 'https://idp.example', subject: 'ada' };
const ada = { id: 7, email: 'ada@b.c', activated: true, securityStamp: 'first' } as User;

it.each<[string, Partial<User>, number, boolean]>([
  ['is usable', {}, NOW, true],
  ['is usable until it expires', {}, 1_900_086_399_999, true],
  ['is not usable from then on', {}, 1_900_086_400_000, false],
  ['is not usable by a deactivated user', { activated: false }, NOW, false],
  ['is not usable under another stamp', { securityStamp: 'other' }, NOW, false],
  ['is not usable with an identity only', { identities: [IDENTITY] }, NOW, false],
  ['is usable with a password as well', { identities: [IDENTITY], passwordHash: 'h' }, NOW, true],
  ['outlasts a new address for an hour', { email: 'new@b.c' }, NOW + HOUR - 1, true],
  ['does not outlast it longer', { email: 'new@b.c' }, NOW + HOUR, false],
  ['is usable in another spelling', { email: 'ADA@b.c' }, NOW + 2 * HOUR, true],
])('a key of a reset %s', (_, changed, now, expected) => {
  const { write } = newResetKey(ada, NOW);

  expect(isUsable(write.attributes as never, { ...ada, ...changed }, now)).toBe(expected);
});

const RANDOM = 'x-_4'.repeat(11).slice(1);

it.each<[string, number]>([
  [`7-${RANDOM}`, 7],
  [`9007199254740991-${RANDOM}`, Number.MAX_SAFE_INTEGER],
  ...[`-${RANDOM}`, `7-${RANDOM}x`, `7-${RANDOM.slice(1)}`, `x7-${RANDOM}`, `7-${RANDOM}\n`].map(
    (key): [string, number] => [key, 0],
  ),
  [`90071992547409910-${RANDOM}`, 0],
])('the key %j is of the user %i', (key, id) => {
  expect(userIdIn(key)).toBe(id);
});

it.each<[string, object, Partial<User>, number, boolean]>([
  ['confirms', {}, {}, NOW, true],
  ['confirms until it expires', {}, {}, 1_900_086_399_999, true],
  ['does not confirm from then on', {}, {}, 1_900_086_400_000, false],
  ['does not confirm by a later mail', { keyHash: hashOf('other') }, {}, NOW, false],
  ['does not confirm for a deactivated user', {}, { activated: false }, NOW, false],
  ['does not confirm under another stamp', {}, { securityStamp: 'other' }, NOW, false],
  ['does not confirm at another mailbox', {}, { email: 'new@b.c' }, NOW, false],
  ['confirms at another spelling', {}, { email: 'ADA@b.c' }, NOW, true],
])('a key of an address %s', (_, stored, changed, now, expected) => {
  const { key, write } = newConfirmationKey(ada, 'new@b.c', NOW);

  const pending = { ...write.attributes, ...stored } as never;
  expect(confirms(key, pending, { ...ada, ...changed }, now)).toBe(expected);
});
