import { auditEntry, PROVIDER_NAME, provider } from '../audit/audit-entry.ts';
import { ROLES, type Role } from '../contract/contract.ts';
import { Failure } from '../contract/failure.ts';
import type { Source } from '../contract/source.ts';
import { notified } from '../mail/outbox.ts';
import { loadDecideCommit } from '../table/change.ts';
import { entityKey } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import {
  attributesAre,
  nextVersion,
  type OnConditionFailed,
  set,
  type Write,
  withConditionOn,
} from '../table/write.ts';
import type { LoginThrottle } from '../throttle/login-throttle.ts';
import { assertionUsed, type Claims, readAssertion } from '../tokens/assertion.ts';
import { openIssuer } from '../tokens/issue-token.ts';
import { issuerKeysKey, keysIn } from '../tokens/issuer-keys.ts';
import { tokenLifetimeSeconds } from '../tokens/token.ts';
import { newAccount } from '../users/create-user.ts';
import { newSession } from '../users/new-session.ts';
import { type Session, sessionStarted } from '../users/session-item.ts';
import type { Identity, User } from '../users/user.ts';
import { identityGuardKey, loginGuardKey, rosterIdsOf, rosterKey } from '../users/user-items.ts';
import {
  actorOf,
  administers,
  auditEventFor,
  creation,
  findUser,
  guardKeyOf,
  modification,
  userChanges,
} from '../users/user-table.ts';
import {
  hasSecondFactor,
  newLogin,
  rolesBy,
  textOf,
  verifiedAddress,
  verifyIdToken,
} from './id-token.ts';
import { hasIssuers, type Issuer, openIssuers } from './issuer.ts';

interface Services {
  readonly table: Table;
  readonly issuers: readonly Issuer[];
  readonly throttle: LoginThrottle;
  readonly issueToken: (user: User, session: Session) => Promise<string>;
}

/**
 * Opens the log-in with identity providers, with the keys and settings of the stack; undefined
 * without providers, as its function may not sign tokens of people then.
 */
export function openIdentityLogIn(table: Table, throttle: LoginThrottle) {
  if (!hasIssuers()) return undefined;
  const services = { table, issuers: openIssuers(), throttle, issueToken: openIssuer(table) };
  return (source: Source, sent: Sent) => logInWithIdentity(services, source, sent);
}

/** An ID token, and the code verifier of who has asked for it (RFC 7636). */
interface Sent {
  readonly assertion: string;
  readonly codeVerifier: string;
}

/** The token of a session, and its user. */
interface LoggedIn {
  readonly token: string;
  readonly expiresInSeconds: number;
  readonly userId: number;
}

/**
 * Starts a session for the person whom an ID token names, by the identity that is linked with an
 * account. If the issuer grants roles, the account has the roles of its groups afterwards, and no
 * others; but the last administrator remains one. Creates an account for an unknown identity if the
 * settings of the issuer say so.
 *
 * Fails with invalid-grant for a token that is invalid or was used, and for an account that must
 * not be used; with unknown-identity; with provider-without-factor; with too-many-attempts instead
 * of invalid-grant once a source has sent too many such tokens; and with unavailable.
 */
export async function logInWithIdentity(
  { table, issuers, throttle, issueToken }: Services,
  source: Source,
  { assertion, codeVerifier }: Sent,
): Promise<LoggedIn> {
  const unverified = readAssertion(assertion);
  const issuer = issuers.find((known) => known.issuer === unverified.issuer);
  const guardKey = issuer && identityGuardKey(issuer.issuer, unverified.subject);
  const { items, count } = await throttle.begin(
    'MODULES',
    source,
    guardKey ? [issuerKeysKey(issuer.issuer), guardKey, unverified.used] : [],
  );
  const now = Date.now();
  let [keysItem, guard, used]: (Item | undefined)[] = [...items];
  let claims: Claims;
  try {
    if (!issuer) throw new Failure('invalid-grant', { reason: 'issuer' });
    // Before any work: whoever repeats a token must not keep the items of a user busy with it.
    if (used) throw new Failure('invalid-grant', { reason: 'used' });
    claims = verifyIdToken(assertion, issuer, keysIn(keysItem, now), codeVerifier, now);
  } catch (error) {
    await count();
    throw error;
  }

  const { usual: seconds } = tokenLifetimeSeconds();
  const identity = { issuer: issuer.issuer, subject: unverified.subject };
  const proof = {
    remembered: false,
    secondFactor: hasSecondFactor(claims, issuer),
    issuer: issuer.issuer,
  };
  const began = { field: 'issuer', to: issuer.issuer };
  let newId: Promise<number> | undefined;
  const nextId = () => (newId ??= table.nextId('USER'));
  const find = async () => {
    const linked = await findLinked(table, identity, guard);
    guard = undefined;
    return linked && returning(table, linked, rolesBy(claims, issuer));
  };
  const load = async () => {
    const person =
      (await find()) ??
      (await newcomer(table, identity, claims, issuer, nextId)) ??
      // Another first log-in may have taken the login for the account.
      (await find());
    if (!person) throw new Failure('unknown-identity');
    if (person.before?.secondFactor && !proof.secondFactor)
      throw new Failure('provider-without-factor');
    const session = newSession(person.after, source, proof, seconds, Date.now());
    // Before the session is stored: one without a token would be listed and audited.
    return { ...person, session, token: await issueToken(person.after, session) };
  };
  return loadDecideCommit(table, load, ({ token, session, ...person }, now) => {
    const { after, keepsAdministrator } = person;
    const actor = actorOf(after, { source: source.address, session: session.jti });
    const user: User = { ...after, lastLogin: session.startedAt, latestSession: session.jti };
    return {
      writes: [
        assertionUsed(unverified, now),
        ...accountWrites({ ...person, after: user }, source, now),
        ...(keepsAdministrator ? administratorKept(user, source, now) : []),
        sessionStarted(user, session),
        auditEntry(actor, auditEventFor('session.started', user, [began]), now),
      ],
      result: { token, expiresInSeconds: seconds, userId: user.id },
    };
  });
}

/** A person as the log-in finds and leaves them. */
interface Person {
  /** Undefined for an account that the log-in creates. */
  readonly before: User | undefined;
  readonly after: User;
  /** Whether the groups no longer grant the role of the last administrator. */
  readonly keepsAdministrator: boolean;
}

/** The account that is linked with an identity, or undefined. `guard` saves the first read. */
async function findLinked(
  table: Table,
  { issuer, subject }: Identity,
  guard: Item | undefined,
): Promise<User | undefined> {
  const known = guard ?? (await table.get(identityGuardKey(issuer, subject)));
  const user = known && (await findUser(table, known.id as number));
  // It may have been unlinked between the two reads.
  const isLinked = user?.identities?.some(
    (each) => each.issuer === issuer && each.subject === subject,
  );
  return isLinked ? user : undefined;
}

/** The linked account, with the roles that were granted. */
async function returning(
  table: Table,
  user: User,
  granted: readonly Role[] | undefined,
): Promise<Person> {
  if (!user.activated) throw new Failure('invalid-grant', { reason: 'deactivated' });
  if (!granted) return { before: user, after: user, keepsAdministrator: false };
  const losesAdministrator = administers(user) && !granted.includes('ROLE_ADMIN');
  const roster = losesAdministrator ? await table.get(rosterKey) : undefined;
  const keepsAdministrator = rosterIdsOf(roster).size === 1;
  const authorities = ROLES.filter(
    (role) => granted.includes(role) || (keepsAdministrator && role === 'ROLE_ADMIN'),
  );
  return { before: user, after: { ...user, authorities }, keepsAdministrator };
}

/**
 * The account that a log-in creates; undefined if another one has the login. Fails with
 * unknown-identity if it must create none.
 */
async function newcomer(
  table: Table,
  identity: Identity,
  claims: Claims,
  issuer: Issuer,
  nextId: () => Promise<number>,
): Promise<Person | undefined> {
  const authorities = issuer.creates === 'mapped' ? rolesBy(claims, issuer) : undefined;
  const login = newLogin(claims, issuer);
  if (!authorities?.length || login === undefined) throw new Failure('unknown-identity');
  // Otherwise each try would use up an id.
  if (await table.get(loginGuardKey(login))) return undefined;
  const address = verifiedAddress(claims);
  const isFree = address !== undefined && !(await table.get(guardKeyOf(address)));
  const id = await nextId();
  const fields = {
    id,
    login,
    // No mail reaches it (RFC 2606, 2), until an administrator sets another one, or the user where
    // addresses need no confirmation.
    email: isFree ? address : `user-${id}@invalid`,
    firstName: textOf(claims.given_name, 50),
    lastName: textOf(claims.family_name, 50),
    activated: true,
    langKey: 'en',
    authorities,
    identities: [identity],
  };
  const after = newAccount(fields, PROVIDER_NAME, Date.now());
  return { before: undefined, after, keepsAdministrator: false };
}

/** The writes that create or change the account and record the log-in in it. */
function accountWrites(
  { before, after }: Person,
  { address: source }: Source,
  now: number,
): readonly Write[] {
  const changes = userChanges(before, after);
  if (!before) {
    const created = auditEventFor('user.created', after, changes);
    return [...creation(after), auditEntry(provider(source), created, now)].map(ofLogIn);
  }
  const { version, passwordChanges, sessionEndings } = before;
  const { lastLogin, latestSession } = after;
  const alsoSet = { lastLogin, latestSession };
  const key = entityKey('USER', before.id);
  // A new second factor and an unlink end all sessions. The roles that stay could have changed.
  if (changes.length === 0)
    return [set(key, alsoSet, attributesAre({ version, passwordChanges, sessionEndings }))];
  const changed: User = {
    ...after,
    version: nextVersion(version),
    lastModifiedBy: PROVIDER_NAME,
    lastModifiedDate: new Date(now).toISOString(),
  };
  const writes = modification(before, changed, { voidsResetKeys: false, alsoSet });
  return [
    ...withConditionOn(key, attributesAre({ passwordChanges, sessionEndings }), writes).map(
      ofLogIn,
    ),
    auditEntry(provider(source), auditEventFor('user.updated', before, changes), now),
  ];
}

/** A write of an account whose failed condition means to a log-in what `MEANINGS` says. */
const ofLogIn = (write: Write): Write => {
  const meaning = write.onConditionFailed && MEANINGS[write.onConditionFailed];
  return meaning ? { ...write, onConditionFailed: meaning } : write;
};
const MEANINGS: Partial<Record<OnConditionFailed, OnConditionFailed>> = {
  // Nothing tells the person whether another account has the login.
  'login-taken': 'unknown-identity',
  'email-taken': 'retry',
  // The next try finds the account.
  'identity-taken': 'retry',
  // Whoever is the last administrator by then stays one at the next try.
  'last-administrator': 'retry',
};

/**
 * The writes for an administrator whom the groups demote, as long as there is no other. The roster
 * needs no condition: whoever joins it meanwhile could have joined it afterwards.
 */
const administratorKept = (user: User, { address: source }: Source, now: number): Write[] => [
  notified('rolesKept', user, now),
  auditEntry(provider(source), auditEventFor('roles.kept', user, []), now),
];
