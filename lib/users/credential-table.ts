import { entityKey } from '../table/keys.ts';
import { attributesAre, set, type Write } from '../table/write.ts';
import { allSessionsAndTokensEnded, type allSessionsEnded, type Session } from './session-item.ts';
import { type Identity, newRandomText, type User } from './user.ts';
import { linkedWith } from './user-table.ts';

/* The writes of what a user logs in with, password and second factor, and of what ends sessions. */

/**
 * The write of a new password, on condition that neither the password, the second factor nor
 * anything visible has changed since the read: the notice of it goes to the address that was read,
 * and with a factor it proves less. All sessions end, unless a write of its own keeps one.
 */
export const passwordChange = (user: User, passwordHash: string): Write =>
  setPassword(user, newPassword(user, passwordHash));

/**
 * The write of a password that was set with a mailed key, and of what the key proves besides; as
 * `passwordChange` otherwise.
 */
export const passwordReset = (
  user: User,
  passwordHash: string,
  proven: Pick<User, 'emailUnproven' | 'admittedAt'>,
): Write => setPassword(user, { ...newPassword(user, passwordHash), ...proven });

const newPassword = ({ passwordChanges }: User, passwordHash?: string) => ({
  passwordHash,
  passwordChanges: passwordChanges + 1,
  invitedAt: undefined,
  securityStamp: newRandomText(),
});

/**
 * The write that voids the password, or unlinks former identities, or both, on condition that
 * neither the password nor anything visible has changed since the read. Who is left without an
 * identity sets another password by requesting a reset.
 */
export function accessVoided(
  user: User,
  { voidsPassword, former }: { voidsPassword: boolean; former: readonly Identity[] },
): Write {
  const left = user.identities?.filter((identity) => !former.includes(identity)) ?? [];
  return setPassword(user, {
    ...(voidsPassword && newPassword(user)),
    ...(former.length > 0 && linkedWith(left, user)),
  });
}

/**
 * The write of the log-in that starts a session, with a new hash of the same password if it was
 * outdated, and the second factor as the code leaves it. Its conditions hold while the user has the
 * login and the password that were verified, while the sessions have not been ended, as by a
 * deactivation, and while the code has not been used.
 */
export function loggedIn(
  user: User,
  { startedAt, jti }: Session,
  { passwordHash, secondFactor }: Pick<User, 'passwordHash' | 'secondFactor'> = {},
): Write {
  const { id, login, passwordChanges, sessionEndings } = user;
  return set(
    entityKey('USER', id),
    {
      lastLogin: startedAt,
      latestSession: jti,
      ...(passwordHash && { passwordHash }),
      ...(secondFactor && { secondFactor }),
    },
    attributesAre({ login, passwordChanges, sessionEndings, secondFactor: user.secondFactor }),
  );
}

/**
 * The write of attributes of the second factor, on condition that neither it nor anything visible
 * has changed since the read, because the notice of it goes to the address that was read, and that
 * the sessions have not been ended since, because it can end them as well.
 */
export function factorChange(
  user: User,
  changed: Partial<Pick<User, 'secondFactor' | 'pendingFactor'>> &
    Partial<ReturnType<typeof allSessionsEnded | typeof allSessionsAndTokensEnded>>,
): Write {
  const { id, version, secondFactor, pendingFactor, factorChanges = 0 } = user;
  const { sessionEndings } = user;
  return set(
    entityKey('USER', id),
    { ...changed, ...('secondFactor' in changed && { factorChanges: factorChanges + 1 }) },
    attributesAre({ version, secondFactor, pendingFactor, sessionEndings }),
  );
}

/**
 * The write that removes the second factor of a user, sets another password, or both, on condition
 * that neither they nor anything visible has changed since the read, and that the sessions have not
 * been ended since. All sessions and API tokens end.
 */
export function accessRecovered(
  user: User,
  { removesFactor, passwordHash }: { removesFactor: boolean; passwordHash: string | undefined },
): Write {
  const { version, secondFactor, factorChanges = 0 } = user;
  const { passwordChanges, sessionEndings } = user;
  return set(
    entityKey('USER', user.id),
    {
      ...allSessionsAndTokensEnded(user),
      ...(passwordHash !== undefined && newPassword(user, passwordHash)),
      ...(removesFactor && {
        secondFactor: undefined,
        pendingFactor: undefined,
        factorChanges: factorChanges + 1,
      }),
    },
    attributesAre({ version, secondFactor, passwordChanges, sessionEndings }),
  );
}

/**
 * The write that ends all sessions and API tokens of a user, on condition that they have not been
 * ended since the read and that nothing visible has changed: the login is audited.
 */
export function sessionsAndTokensEnded(user: User): Write {
  const { version, sessionEndings } = user;
  return set(
    entityKey('USER', user.id),
    allSessionsAndTokensEnded(user),
    attributesAre({ version, sessionEndings }),
  );
}

function setPassword(user: User, attributes: Record<string, unknown>): Write {
  const { id, version, passwordHash, factorChanges } = user;
  const isUnchanged = attributesAre({ version, passwordHash, factorChanges });
  return set(entityKey('USER', id), attributes, isUnchanged);
}
