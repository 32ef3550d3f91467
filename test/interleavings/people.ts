import { type Role, SCOPES } from '../../lib/contract/contract.ts';
import { emailKey } from '../../lib/mail/address.ts';
import { sequenceKey, totalKey } from '../../lib/table/item-kind.ts';
import { entityKey } from '../../lib/table/keys.ts';
import type { Item } from '../../lib/table/table.ts';
import type { Caller } from '../../lib/users/caller.ts';
import { hashOf, mailboxHashOf } from '../../lib/users/mailed-keys.ts';
import { apiTokenKey, type Session, sessionKey } from '../../lib/users/session-item.ts';
import type { User } from '../../lib/users/user.ts';
import { ALL_RECOVERY_CODES } from '../../lib/users/user-factor.ts';
import {
  emailGuardKey,
  loginGuardKey,
  pendingEmailKey,
  resetItemKey,
  rosterKey,
} from '../../lib/users/user-items.ts';
import { storedSession, storedUser } from '../support/doubles/stored-items.ts';
import { NOW } from './determinism.ts';
import { hashOfPassword, OUTDATED, presentCode, recoveryCode } from './doubles.ts';
import { FIRST_ID } from './worlds.ts';

/* Users with sessions, keys and factors. */

export const ADMINISTRATOR: readonly Role[] = ['ROLE_ADMIN', 'ROLE_USER'];
const FACTOR = {
  nonce: 'nonce',
  key: 'factor-key',
  lastStep: 0,
  recoveryNonce: 'CODES',
  recoveryCodes: ALL_RECOVERY_CODES,
};

/** A user whose password is the login. */
const person = (id: number, login: string, fields: Partial<User> = {}): User =>
  storedUser(id, login, {
    passwordHash: hashOfPassword(login),
    incarnation: `${login}-first`,
    securityStamp: `${login}-stamp`,
    version: `1-${login}`,
    ...fields,
  });

export const [ada, bob, cyd] = [
  person(1, 'ada', { authorities: ADMINISTRATOR }),
  person(2, 'bob', { authorities: ADMINISTRATOR }),
  person(3, 'cyd', { authorities: ADMINISTRATOR }),
] as const;
/** Has a second factor. */
export const fay = person(4, 'fay', { secondFactor: FACTOR });
/** Has requested a second factor. */
export const pia = person(5, 'pia', {
  pendingFactor: { nonce: 'pending', session: 'pia-1', expires: NOW / 1000 + 600 },
});

/** Has a password whose hash is outdated. */
export const odo = person(7, 'odo', { passwordHash: OUTDATED + hashOfPassword('odo') });
/** Has an id that the first request draws again, as after a sequence was put back. */
export const ida = person(FIRST_ID, 'ida');
/** Was deactivated, which has ended both sessions. */
export const una = person(6, 'una', { activated: false, sessionEndings: 1 });

/** Has no password: was invited, or not yet. */
export const ivo = person(8, 'ivo', {
  passwordHash: undefined,
  invitedAt: new Date(NOW - 1000).toISOString(),
});
export const ivoUninvited: User = { ...ivo, invitedAt: undefined };

/** One of the two sessions of a user, or the API token. */
export type CallerName = number | 'token';
export const seriesOf = ({ login }: User, name: CallerName = 1): string => `${login}-${name}`;

const EXPIRES = NOW / 1000 + 3600;
/** The caller of one of the two sessions of a user, or of the API token. */
export const callerOf = (user: User, name: CallerName = 1): Caller => ({
  id: user.id,
  jti: seriesOf(user, name),
  expires: EXPIRES,
  ...(name === 'token' && { scopes: SCOPES }),
});

/** A user as an administrator with an API token. */
export const withToken = (user: User): User => ({
  ...user,
  authorities: ADMINISTRATOR,
  tokens: [{ series: seriesOf(user, 'token'), expires: EXPIRES }],
});

export const resetKeyOf = ({ login }: User): string => `reset key of ${login}`;
export const newEmailOf = ({ login }: User): string => `new-${login}@example.com`;
export const confirmationKeyOf = ({ id, login }: User): string => `${id}-${login.padEnd(43, 'k')}`;

/** A table with these users, each with two sessions, a reset key and an address to confirm. */
export function tableOf(...users: readonly User[]): Item[] {
  const administrators = users.filter(
    ({ activated, authorities }) => activated && authorities.includes('ROLE_ADMIN'),
  );
  return [
    ...users.flatMap(itemsAbout),
    { ...rosterKey, ids: new Set(administrators.map(({ id }) => id)) },
    { ...totalKey('USER'), n: users.length, changes: users.length },
    { ...sequenceKey('USER'), n: 100_000 },
    { ...sequenceKey('INTEGRATION'), n: 100_000 },
  ];
}

function itemsAbout(user: User): Item[] {
  const { id, login, email, securityStamp } = user;
  const mailbox = mailboxHashOf(user);
  const expires = NOW / 1000 + 3600;
  const issued = { userId: id, securityStamp, mailbox, issuedAt: NOW - 1000, expires };
  const confirmable = { securityStamp, mailbox, expires };
  return [
    { ...entityKey('USER', id), ...user },
    { ...loginGuardKey(login), id },
    { ...emailGuardKey(emailKey(email)), id },
    ...sessionsOf(user),
    ...(user.tokens ?? []).map((token) => ({
      ...apiTokenKey(token.series),
      ...token,
      userId: id,
      hash: 'hash',
      name: 'script',
      scopes: SCOPES,
      createdDate: user.createdDate,
    })),
    { ...resetItemKey(hashOf(resetKeyOf(user))), ...issued },
    {
      ...pendingEmailKey(id),
      email: newEmailOf(user),
      keyHash: hashOf(confirmationKeyOf(user)),
      ...confirmable,
    },
  ];
}

/** The two sessions of a user, with these fields. */
const sessionsOf = (user: User, fields?: Partial<Session>): Item[] =>
  [1, 2].map((number) => ({
    ...sessionKey(callerOf(user, number)),
    ...storedSession(user, {
      ...callerOf(user, number),
      ...(!user.activated && { sessionEndings: 0 }),
      ...fields,
    }),
  }));
/** What is left of a deleted user whose sessions have not expired. */
export const outlivingSessions = (user: User): Item[] =>
  sessionsOf(user, { deletedUser: { authorities: user.authorities, secondFactor: false } });

/** The present code of the factor of a user. */
export const codeNow = ({ id }: User): string => presentCode(id, FACTOR.nonce);
/** The first recovery code of a user with a factor. */
export const firstRecoveryCode = (): string => recoveryCode(FACTOR.recoveryNonce, 0);
