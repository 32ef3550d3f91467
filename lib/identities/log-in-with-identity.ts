import { auditEntry, PROVIDER_NAME, provider } from '../audit/audit-entry.ts';
import { ROLES, type Role } from '../contract/contract.ts';
import { Failure } from '../contract/failure.ts';
import type { Source } from '../contract/source.ts';
import { notified } from '../mail/outbox.ts';
import { newSession } from '../sessions/session.ts';
import { loadDecideCommit } from '../table/change.ts';
import { entityKey } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import {
  attributesAre,
  type Condition,
  check,
  nextVersion,
  type Write,
  withConditionOn,
} from '../table/write.ts';
import { type LoginThrottle, openLoginThrottle } from '../throttle/login-throttle.ts';
import { openIssuer } from '../tokens/issue-token.ts';
import { tokenLifetimeSeconds } from '../tokens/token.ts';
import { newAccount } from '../users/create-user.ts';
import { loggedIn } from '../users/credential-table.ts';
import { type Session, sessionStarted } from '../users/session-item.ts';
import type { Identity, User } from '../users/user.ts';
import { identityGuardKey, rosterKey } from '../users/user-items.ts';
import { isLogin } from '../users/user-schema.ts';
import {
  actorOf,
  administers,
  auditEventFor,
  creation,
  findUser,
  guardKeyOf,
  isReservedLogin,
  modification,
  userChanges,
} from '../users/user-table.ts';
import { assertionUsed, type Claims, readAssertion } from './assertion.ts';
import { hasSecondFactor, rolesBy, textOf, verifiedAddress, verifyIdToken } from './id-token.ts';
import { type Issuer, openIssuers } from './issuer.ts';
import { issuerKeysKey, keysIn } from './issuer-keys.ts';

interface Services {
  readonly table: Table;
  readonly issuers: readonly Issuer[];
  readonly throttle: LoginThrottle;
  readonly issueToken: (user: User, session: Session) => Promise<string>;
}

/** Opens what log-ins with identity providers need, with the keys and settings of the stack. */
export const openIdentityLogIn = (table: Table): Services => ({
  table,
  issuers: openIssuers(),
  throttle: openLoginThrottle(table),
  issueToken: openIssuer(table),
});

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
  { assertion, codeVerifier }: { readonly assertion: string; readonly codeVerifier: string },
): Promise<LoggedIn> {
  const unverified = readAssertion(assertion);
  const issuer = issuers.find((known) => known.issuer === unverified.issuer);
  const guardKey = issuer && identityGuardKey(issuer.issuer, unverified.subject);
  const { items, count } = await throttle.begin(
    'MODULES',
    source,
    guardKey ? [issuerKeysKey(issuer.issuer), guardKey] : [],
  );
  const now = Date.now();
  let [keysItem, guard]: (Item | undefined)[] = [...items];
  let claims: Claims;
  try {
    if (!issuer) throw new Failure('invalid-grant');
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
  let newId: Promise<number> | undefined;
  const load = async () => {
    const known = guard ?? (await table.get(guardKey as NonNullable<typeof guardKey>));
    guard = undefined;
    const person = known
      ? await returning(table, known, identity, rolesBy(claims, issuer))
      : await newcomer(table, identity, claims, issuer, () => (newId ??= table.nextId('USER')));
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
        ...accountWrites({ ...person, after: user }, session, source, now),
        ...(keepsAdministrator ? administratorKept(user, source, now) : []),
        sessionStarted(user, session),
        auditEntry(actor, auditEventFor('session.started', user, []), now),
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

/** The linked account, with the roles that were granted. */
async function returning(
  table: Table,
  guard: Item,
  { issuer, subject }: Identity,
  granted: readonly Role[] | undefined,
): Promise<Person> {
  const user = await findUser(table, guard.id as number);
  const isLinked = user?.identities?.some(
    (linked) => linked.issuer === issuer && linked.subject === subject,
  );
  if (!user || !isLinked) throw new Failure('unknown-identity');
  if (!user.activated) throw new Failure('invalid-grant');
  if (!granted) return { before: user, after: user, keepsAdministrator: false };
  const losesAdministrator = administers(user) && !granted.includes('ROLE_ADMIN');
  const roster = losesAdministrator ? await table.get(rosterKey) : undefined;
  const keepsAdministrator = (roster?.ids as ReadonlySet<number> | undefined)?.size === 1;
  const authorities = ROLES.filter(
    (role) => granted.includes(role) || (keepsAdministrator && role === 'ROLE_ADMIN'),
  );
  return { before: user, after: { ...user, authorities }, keepsAdministrator };
}

/** The account that a log-in creates. Fails with unknown-identity if it must create none. */
async function newcomer(
  table: Table,
  identity: Identity,
  claims: Claims,
  issuer: Issuer,
  nextId: () => Promise<number>,
): Promise<Person> {
  const authorities = issuer.creates === 'mapped' ? (rolesBy(claims, issuer) ?? []) : [];
  const login = claims[issuer.loginClaim];
  if (authorities.length === 0 || typeof login !== 'string' || !isLogin(login))
    throw new Failure('unknown-identity');
  if (isReservedLogin(login)) throw new Failure('unknown-identity');
  const address = verifiedAddress(claims);
  const isFree = address !== undefined && !(await table.get(guardKeyOf(address)));
  const id = await nextId();
  const fields = {
    id,
    login,
    // No mail reaches it (RFC 2606, 2), until an administrator or the user sets another one.
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
  session: Session,
  { address: source }: Source,
  now: number,
): Write[] {
  if (!before) {
    const created = auditEventFor('user.created', after, userChanges(undefined, after));
    // Nothing tells the person whether another account has the login.
    return [
      ...creation(after).map((write) => withFailure(write, 'login-taken', 'unknown-identity')),
      auditEntry(provider(source), created, now),
    ].map((write) => withFailure(write, 'email-taken', 'retry'));
  }
  const { login, passwordChanges, sessionEndings, secondFactor, identities } = before;
  const changes = userChanges(before, after);
  const isUnchanged = attributesAre(
    { login, passwordChanges, sessionEndings, secondFactor, identities },
    'logIn_',
  );
  if (changes.length === 0)
    return withConditionOn(entityKey('USER', before.id), attributesAre({ identities }, 'logIn_'), [
      loggedIn(before, session),
    ]);
  const changed: User = {
    ...after,
    version: nextVersion(before.version),
    lastModifiedBy: PROVIDER_NAME,
    lastModifiedDate: new Date(now).toISOString(),
  };
  const { lastLogin, latestSession } = after;
  const writes = modification(before, changed, {
    voidsResetKeys: false,
    alsoSet: { lastLogin, latestSession },
  });
  return [
    // Whoever is the last administrator by then stays one at the next try.
    ...withConditionOn(entityKey('USER', before.id), isUnchanged, writes).map((write) =>
      withFailure(write, 'last-administrator', 'retry'),
    ),
    auditEntry(provider(source), auditEventFor('user.updated', before, changes), now),
  ];
}

const withFailure = (
  write: Write,
  failure: Condition['onConditionFailed'],
  other: Condition['onConditionFailed'],
): Write => (write.onConditionFailed === failure ? { ...write, onConditionFailed: other } : write);

/** The writes for an administrator whom the groups demote, as long as there is no other. */
const administratorKept = (user: User, { address: source }: Source, now: number): Write[] => [
  check(rosterKey, {
    condition: 'size(#ids) = :one AND contains(#ids, :id)',
    names: { '#ids': 'ids' },
    values: { ':one': 1, ':id': user.id },
    onConditionFailed: 'retry',
  }),
  notified('rolesKept', user, now),
  auditEntry(provider(source), auditEventFor('roles.kept', user, []), now),
];
