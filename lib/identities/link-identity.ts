import { Failure } from '../contract/failure.ts';
import type { Source } from '../contract/source.ts';
import { notified } from '../mail/outbox.ts';
import { openPasswords, type Passwords } from '../passwords/passwords.ts';
import { type DeriveFactorSecrets, openFactorSecrets } from '../second-factor/factor-secrets.ts';
import { factorAfter } from '../second-factor/second-factor.ts';
import { entityKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { attributesAre, nextVersion, set, type Write } from '../table/write.ts';
import { attemptBy, type LoginThrottle, openLoginThrottle } from '../throttle/login-throttle.ts';
import type { AuthorizedCaller } from '../users/caller.ts';
import { allSessionsEnded } from '../users/session-item.ts';
import type { Identity, User } from '../users/user.ts';
import {
  auditEventFor,
  claimIdentity,
  findUserByLogin,
  releaseIdentity,
} from '../users/user-table.ts';
import { assertionUsed, readAssertion } from './assertion.ts';
import { verifyIdToken } from './id-token.ts';
import { type Issuer, openIssuers } from './issuer.ts';
import { issuerKeysKey, keysIn } from './issuer-keys.ts';

/* Identities are linked by `iss` and `sub`, never by an address, which can change hands. */

interface Services {
  readonly issuers: readonly Issuer[];
  readonly passwords: Passwords;
  readonly factorSecrets: DeriveFactorSecrets;
  readonly throttle: LoginThrottle;
}

/** Opens what users need to link their own account. */
export const openLinking = (table: Table): Services => ({
  issuers: openIssuers(),
  passwords: openPasswords(),
  factorSecrets: openFactorSecrets(),
  throttle: openLoginThrottle(table),
});

interface Proof {
  readonly assertion: string;
  readonly codeVerifier: string;
  readonly currentPassword: string;
  /** Empty for a user without a second factor. */
  readonly code: string;
}

/**
 * Links the caller's account with the identity in an ID token, on proof of the password, and of a
 * code if the caller has a second factor; notifies the caller by mail. Fails with invalid-grant,
 * wrong-password, wrong-code, identity-taken, and with too-many-attempts under the same limits as a
 * login.
 */
export async function linkOwnIdentity(
  { issuers, passwords, factorSecrets, throttle }: Services,
  caller: AuthorizedCaller,
  source: Source,
  { assertion, codeVerifier, currentPassword, code }: Proof,
): Promise<void> {
  const user = await caller.findUser();
  const unverified = readAssertion(assertion);
  const issuer = issuers.find((known) => known.issuer === unverified.issuer);
  if (!issuer) throw new Failure('invalid-grant');
  const identity = { issuer: issuer.issuer, subject: unverified.subject };
  await throttle.attempt(
    { ...attemptBy(caller, user, source), alsoRead: [issuerKeysKey(issuer.issuer)] },
    {
      load: async ([keysItem]) => keysIn(keysItem, Date.now()),
      async verify(keys) {
        if (!(await passwords.matches(currentPassword, user.passwordHash)))
          return { failure: 'wrong-password' };
        const { secondFactor: factor } = user;
        const secrets = factor && (await factorSecrets(user.id, factor));
        if (factor && secrets && !factorAfter(factor, secrets, code, Date.now()))
          return { failure: 'wrong-code', codeRejectedOf: user };
        verifyIdToken(assertion, issuer, keys, codeVerifier, Date.now());
        return (clearFailures) =>
          caller.change({
            decide({ callerUser, now }) {
              if (callerUser.passwordChanges !== user.passwordChanges)
                throw new Failure('wrong-password');
              const { secondFactor: current } = callerUser;
              const secondFactor =
                current && secrets && current.nonce === factor?.nonce
                  ? factorAfter(current, secrets, code, now)
                  : undefined;
              // A concurrent request has used the code, or replaced the factor.
              if (current && !secondFactor) throw new Failure('wrong-code');
              const spent = secondFactor && { secondFactor };
              const { writes, ...decision } = linked(callerUser, identity, now, spent);
              return {
                ...decision,
                writes: [assertionUsed(unverified, now), ...writes, ...clearFailures(now)],
              };
            },
          });
      },
    },
  );
}

/**
 * Links the account with this login with an identity of an issuer of the stack, and notifies its
 * user by mail. Fails with not-found, identity-taken, forbidden, and with invalid for an unknown
 * issuer.
 */
export function linkIdentity(
  table: Table,
  caller: AuthorizedCaller,
  login: string,
  identity: Identity,
  issuers: readonly Issuer[],
): Promise<void> {
  if (!issuers.some(({ issuer }) => issuer === identity.issuer))
    throw new Failure('invalid', { fieldErrors: [{ field: 'issuer', message: 'Pattern' }] });
  return caller.change({
    load: () => findUserByLogin(table, login),
    decide({ loaded: user, now }) {
      if (!user) throw new Failure('not-found');
      // Their own account, they link with the password: a stolen token must not link it.
      if (user.id === caller.id) throw new Failure('forbidden');
      return linked(user, identity, now);
    },
  });
}

function linked(user: User, identity: Identity, now: number, alsoSet: Partial<User> = {}) {
  const { identities = [] } = user;
  if (identities.some(({ issuer }) => issuer === identity.issuer))
    throw new Failure('identity-taken');
  return {
    writes: [
      claimIdentity(identity, user.id),
      identitiesChanged(user, [...identities, identity], alsoSet),
      notified('identityChanged', user, now),
    ],
    result: undefined,
    event: auditEventFor('identity.linked', user, [
      { field: 'issuer', to: identity.issuer },
      { field: 'subject', to: identity.subject },
    ]),
  };
}

/**
 * Unlinks the account with this login from its identity of an issuer, ends all its sessions and API
 * tokens, and notifies its user by mail. Fails with not-found and forbidden.
 */
export function unlinkIdentity(
  table: Table,
  caller: AuthorizedCaller,
  login: string,
  issuer: string,
): Promise<void> {
  return caller.change({
    load: () => findUserByLogin(table, login),
    decide({ loaded: user, now }) {
      const former = user?.identities?.find((linked) => linked.issuer === issuer);
      if (!user || !former) throw new Failure('not-found');
      const others = user.identities?.filter((linked) => linked !== former);
      return {
        writes: [
          releaseIdentity(former),
          identitiesChanged(user, others, allSessionsEnded(user)),
          notified('identityChanged', user, now),
        ],
        result: undefined,
        event: auditEventFor('identity.unlinked', user, [
          { field: 'issuer', from: issuer },
          { field: 'subject', from: former.subject },
        ]),
      };
    },
  });
}

/** On condition that nothing visible has changed since the read, nor what else is set. */
const identitiesChanged = (
  user: User,
  identities: readonly Identity[] | undefined,
  alsoSet: Partial<User>,
): Write => {
  const { version, sessionEndings, secondFactor } = user;
  return set(
    entityKey('USER', user.id),
    {
      identities: identities?.length ? identities : undefined,
      version: nextVersion(version),
      ...alsoSet,
    },
    attributesAre({
      version,
      ...('sessionEndings' in alsoSet && { sessionEndings }),
      ...('secondFactor' in alsoSet && { secondFactor }),
    }),
  );
};
