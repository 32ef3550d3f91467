import { Failure } from '../contract/failure.ts';
import { notified } from '../mail/outbox.ts';
import { entityKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { attributesAre, set, type Write } from '../table/write.ts';
import type { AuthorizedCaller } from '../users/caller.ts';
import { allSessionsAndTokensEnded } from '../users/session-item.ts';
import type { Identity, User } from '../users/user.ts';
import {
  auditEventFor,
  claimIdentity,
  findUserByLogin,
  linkedWith,
  releaseIdentity,
} from '../users/user-table.ts';
import { type Issuer, requireIssuer } from './issuer.ts';

/* Identities are linked by `iss` and `sub`, never by an address, which can change hands. */

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
  requireIssuer(issuers, identity.issuer);
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

/** Decides that a user is linked with an identity. Fails with identity-taken. */
export function linked(user: User, identity: Identity, now: number, alsoSet: Partial<User> = {}) {
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
      const { identities = [] } = user ?? {};
      const former = identities.find((linked) => linked.issuer === issuer);
      if (!user || !former) throw new Failure('not-found');
      const others = identities.filter((linked) => linked !== former);
      return {
        writes: [
          releaseIdentity(former),
          identitiesChanged(user, others, allSessionsAndTokensEnded(user)),
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
  identities: readonly Identity[],
  alsoSet: Partial<User>,
): Write => {
  const { version, sessionEndings, secondFactor } = user;
  return set(
    entityKey('USER', user.id),
    { ...linkedWith(identities, user), ...alsoSet },
    attributesAre({
      version,
      ...('sessionEndings' in alsoSet && { sessionEndings }),
      ...('secondFactor' in alsoSet && { secondFactor }),
    }),
  );
};
