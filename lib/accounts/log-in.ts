import { auditEntry } from '../audit/audit-entry.ts';
import { Failure } from '../contract/failure.ts';
import type { Source } from '../contract/source.ts';
import { openPasswords, type Passwords } from '../passwords/passwords.ts';
import {
  type DeriveFactorSecrets,
  type FactorSecrets,
  openFactorSecrets,
} from '../second-factor/factor-secrets.ts';
import { factorAfter, isRecoveryForm, separateCode } from '../second-factor/second-factor.ts';
import { type Decision, loadDecideCommit } from '../table/change.ts';
import { entityKey, type Key } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import type { Write } from '../table/write.ts';
import { type LoginThrottle, openLoginThrottle } from '../throttle/login-throttle.ts';
import type { Rejected } from '../throttle/run-attempt.ts';
import { openIssuer } from '../tokens/issue-token.ts';
import { tokenLifetimeSeconds } from '../tokens/token.ts';
import { loggedIn } from '../users/credential-table.ts';
import {
  type Arming,
  armingKey,
  emergencyUsed,
  isArmedFor,
  logEmergency,
  readEmergency,
} from '../users/emergency-account.ts';
import { newSession } from '../users/new-session.ts';
import { type Session, sessionStarted } from '../users/session-item.ts';
import type { User } from '../users/user.ts';
import {
  type FactorRequirement,
  factorRequiredFrom,
  openFactorRequirement,
} from '../users/user-factor.ts';
import { loginGuardKey } from '../users/user-items.ts';
import { isLogin } from '../users/user-schema.ts';
import { actorOf, auditEventFor, findUser, userOf } from '../users/user-table.ts';

/** What a login needs. `issueToken` creates the token of a session. */
interface Services {
  readonly table: Table;
  readonly passwords: Passwords;
  readonly factorSecrets: DeriveFactorSecrets;
  readonly requirement: FactorRequirement | undefined;
  readonly throttle: LoginThrottle;
  /** With ssoOnly, the login of the only account that a password can admit. */
  readonly emergencyAccount: string | undefined;
  readonly issueToken: (user: User, session: Session) => Promise<string>;
}

/** Opens what a login needs, with the keys and settings of the stack. */
export const openLogIn = (table: Table): Services => ({
  table,
  passwords: openPasswords(),
  factorSecrets: openFactorSecrets(),
  requirement: openFactorRequirement(),
  throttle: openLoginThrottle(table),
  emergencyAccount: process.env.EMERGENCY_ACCOUNT,
  issueToken: openIssuer(table),
});

interface Credentials {
  readonly username: string;
  readonly password: string;
  /**
   * A code of the second factor or a recovery code; empty if the client will ask for one, and null
   * if it does not know of codes: the password of a user with a factor then ends with the code.
   */
  readonly code: string | null;
  /** Whether the session has the longer lifetime. */
  readonly rememberMe: boolean;
}

/** The token of a session, its user, and the day from which that user needs a second factor. */
export interface LoggedIn {
  readonly token: string;
  readonly userId: number;
  readonly factorRequiredFrom: string | undefined;
}

/**
 * Starts a session for the user that the login, the password and the code authenticate. Fails with
 * bad-credentials for an unknown login, a wrong password or a deactivated account, after the same
 * amount of work in each case, so that the timing reveals neither which logins exist nor who has a
 * second factor. After the right password, fails with code-required without a code, and with
 * bad-credentials for one that is wrong or was used. Fails with too-many-attempts before any of
 * that work, and with unavailable when the session could not be stored. With ssoOnly, every
 * password is as a wrong one, except for the emergency account while it is armed.
 */
export async function logIn(
  services: Services,
  source: Source,
  credentials: Credentials,
): Promise<LoggedIn> {
  const { table, throttle, emergencyAccount } = services;
  const { username: login, password, code } = credentials;
  // An invalid login may be too long for a key. The guard of an empty login is read instead; none
  // exists.
  const guardKey = loginGuardKey(isLogin(login) ? login : '');
  const typedCode = separateCode(password, code).code;
  return throttle.attempt(
    {
      login,
      source,
      alsoRead: emergencyAccount === undefined ? [guardKey] : [guardKey, armingKey],
      userIdIn: ([guard]) => guard?.id as number | undefined,
    },
    {
      load: async ([guard, arming]) => ({
        user: await readUser(table, login, guard, guardKey),
        arming: arming as Arming | undefined,
      }),
      ...(isRecoveryForm(typedCode) && {
        isRecoveryCode: ({ user }: Loaded) => isRecoveryCode(services, user, typedCode),
      }),
      async verify(loaded) {
        const verified = await verify(services, loaded, credentials);
        if ('failure' in verified) return verified;
        return (clearFailures) =>
          startSession(services, verified, { source, credentials, clearFailures });
      },
    },
  );
}

interface Loaded {
  readonly user: User | undefined;
  readonly arming: Arming | undefined;
}

/** A user whose password was verified, and the code if the user has a second factor. */
interface Verified {
  readonly user: User;
  /** The password without the code. */
  readonly password: string;
  /** Undefined for a user without a second factor. */
  readonly used: { readonly secrets: FactorSecrets; readonly code: string } | undefined;
}

/**
 * Whether the code is an unused recovery code of the user. The same work for everybody: it is done
 * before the password is verified, and must not reveal who has a second factor.
 */
async function isRecoveryCode(
  { factorSecrets }: Services,
  user: User | undefined,
  code: string,
): Promise<boolean> {
  const { id = 0, secondFactor: factor } = user ?? {};
  const secrets = await factorSecrets(id, { nonce: factor?.nonce ?? '' });
  return factor !== undefined && factorAfter(factor, secrets, code, Date.now()) !== undefined;
}

/**
 * Verifies password, account and code. Only after the right password does the work depend on
 * whether the user has a second factor. Fails with code-required.
 */
async function verify(
  { passwords, factorSecrets, emergencyAccount }: Services,
  { user, arming }: Loaded,
  { password: typed, code: separate }: Credentials,
): Promise<Verified | Rejected> {
  const factor = user?.secondFactor;
  // Also for users without a factor, so that the time tells nothing.
  const { password: withoutCode, code } = separateCode(typed, separate);
  const password = factor ? withoutCode : typed;
  const matches = await passwords.matches(password, user?.passwordHash);
  if (!user?.passwordHash || !matches || !user.activated) return { failure: 'bad-credentials' };
  const isAdmitted =
    emergencyAccount === undefined ||
    (user.login === emergencyAccount && isArmedFor(user, arming, Date.now()));
  if (!isAdmitted) return { failure: 'bad-credentials' };
  if (!factor) return { user, password, used: undefined };
  if (code === '') throw new Failure('code-required');
  const secrets = await factorSecrets(user.id, factor);
  const isRight = factorAfter(factor, secrets, code, Date.now()) !== undefined;
  return isRight
    ? { user, password, used: { secrets, code } }
    : { failure: 'bad-credentials', codeRejectedOf: user };
}

/**
 * Starts the session of a verified log-in. If the second factor is turned on or off or all sessions
 * are ended meanwhile, the log-in is verified again. Fails as `verify` and `storeSession` do.
 */
async function startSession(
  services: Services,
  verified: Verified,
  request: {
    readonly source: Source;
    readonly credentials: Credentials;
    readonly clearFailures: (now: number) => readonly Write[];
  },
): Promise<LoggedIn> {
  const { passwords, requirement, issueToken, emergencyAccount } = services;
  const { user, password, used } = verified;
  const { source, credentials, clearFailures } = request;
  const isOutdated = passwords.isOutdated(user.passwordHash as string, password);
  const passwordHash = isOutdated ? await passwords.hash(password) : undefined;
  const remembered = credentials.rememberMe && emergencyAccount === undefined;
  const proof = { remembered, secondFactor: used !== undefined };
  const lifetime = tokenLifetimeSeconds();
  const seconds = remembered ? lifetime.remembered : lifetime.usual;
  const session = newSession(user, source, proof, seconds, Date.now());
  // Before the session is stored: one without a token would be listed and audited.
  const token = await issueToken(user, session);
  const replaced = { passwordHash, clearFailures };
  const { isStored, ...current } = await storeSession(services, verified, session, replaced);
  if (!isStored) {
    const verifiedAgain = await verify(services, current, credentials);
    if ('failure' in verifiedAgain) throw new Failure(verifiedAgain.failure);
    return startSession(services, verifiedAgain, request);
  }
  if (emergencyAccount !== undefined) logEmergency('used');
  return {
    token,
    userId: user.id,
    factorRequiredFrom: factorRequiredFrom(current.user, requirement),
  };
}

/**
 * Makes one read whether or not the guard exists, so that timing does not reveal which logins
 * exist.
 */
async function readUser(
  table: Table,
  login: string,
  guard: Item | undefined,
  guardKey: Key,
): Promise<User | undefined> {
  const item = await table.get(guard ? entityKey('USER', guard.id as number) : guardKey);
  const user = guard && item && userOf(item);
  return user?.login === login ? user : undefined;
}

interface Stored extends Loaded {
  readonly user: User;
  readonly isStored: boolean;
}

/**
 * Stores a session of the user whose password and code were verified, unless the second factor has
 * been turned on or off or all sessions have been ended since. Returns the user as of the commit.
 * Fails with bad-credentials if the password has been changed, the code has been used, or the
 * account must no longer be used or is no longer armed, and with unavailable.
 */
function storeSession(
  { table, emergencyAccount }: Services,
  { user: verifiedUser, used }: Verified,
  session: Session,
  {
    passwordHash,
    clearFailures,
  }: {
    /** Replaces an outdated hash of the same password. */
    passwordHash: string | undefined;
    clearFailures: (now: number) => readonly Write[];
  },
): Promise<Stored> {
  let loaded: User | undefined = verifiedUser;
  const load = async () => {
    const user = loaded ?? (await findUser(table, verifiedUser.id));
    loaded = undefined;
    const emergency = emergencyAccount === undefined ? undefined : await readEmergency(table);
    return { user, emergency };
  };
  return loadDecideCommit(table, load, ({ user, emergency }, now): Decision<Stored> => {
    const { login, incarnation, passwordChanges } = verifiedUser;
    const isVerified =
      user?.activated &&
      user.login === login &&
      user.incarnation === incarnation &&
      user.passwordChanges === passwordChanges;
    if (!isVerified) throw new Failure('bad-credentials');
    const arming = emergency?.arming;
    if (emergency && !isArmedFor(user, arming, now)) throw new Failure('bad-credentials');
    const isAsVerified =
      user.secondFactor?.nonce === verifiedUser.secondFactor?.nonce &&
      user.sessionEndings === verifiedUser.sessionEndings;
    if (!isAsVerified) return { writes: [], result: { user, arming, isStored: false } };
    const factor = user.secondFactor;
    const secondFactor = factor && used && factorAfter(factor, used.secrets, used.code, now);
    if (factor && !secondFactor) throw new Failure('bad-credentials');
    const isRecovery = secondFactor?.recoveryCodes !== factor?.recoveryCodes;
    const event = auditEventFor(
      'session.started',
      user,
      isRecovery ? [{ field: 'recoveryCodes' }] : [],
    );
    const actor = actorOf(user, { source: session.ipAddress, session: session.jti });
    return {
      writes: [
        ...clearFailures(now),
        loggedIn(user, session, { passwordHash, secondFactor }),
        sessionStarted(user, session),
        auditEntry(actor, event, now),
        ...(emergency && arming ? emergencyUsed({ ...emergency, arming }, user, actor, now) : []),
      ],
      result: { user, arming, isStored: true },
    };
  });
}
