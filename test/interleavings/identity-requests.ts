import { linkOwnIdentity } from '../../lib/accounts/link-own-identity.ts';
import { linkIdentity, unlinkIdentity } from '../../lib/identities/link-identity.ts';
import { logInWithIdentity } from '../../lib/identities/log-in-with-identity.ts';
import type { Item } from '../../lib/table/table.ts';
import { issuerKeysKey } from '../../lib/tokens/issuer-keys.ts';
import type { Identity, User } from '../../lib/users/user.ts';
import { identityGuardKey } from '../../lib/users/user-items.ts';
import { idToken, issuerAt, makeProviderKey, nonceOf } from '../support/instance/provider.ts';
import { NOW } from './determinism.ts';
import {
  factorSecrets,
  passwords,
  publicRequest,
  SOURCE,
  sessionToken,
  throttleOf,
} from './doubles.ts';
import { codeNow, tableOf } from './people.ts';
import { act, inSession } from './user-requests.ts';
import type { Request } from './worlds.ts';

/* Every request that is about an identity. */

const URL = 'https://provider.example';
const { key, published } = makeProviderKey('key');
const provider = { issuer: issuerAt(URL), key };
const issuers = [provider.issuer];

const identityOf = (subject: string): Identity => ({ issuer: URL, subject });
/** A user who is linked with the identity whose subject is the login. */
export const linked = (user: User): User => ({ ...user, identities: [identityOf(user.login)] });

/** As `tableOf`, with what log-ins with the identities of the users need. */
export const tableWithIdentities = (...users: readonly User[]): Item[] => [
  ...tableOf(...users),
  { ...issuerKeysKey(URL), keys: [published], fetchedAt: NOW },
  ...users.flatMap(({ id, identities = [] }) =>
    identities.map(({ issuer, subject }) => ({ ...identityGuardKey(issuer, subject), id })),
  ),
];

const codeVerifier = 'verifier'.repeat(6);
/** An ID token, of which each name has another one. */
const tokenOf = (subject: string, name: string, claims: Readonly<Record<string, unknown>>) =>
  idToken(provider, {
    sub: subject,
    nonce: nonceOf(codeVerifier),
    amr: ['mfa'],
    iat: NOW / 1000,
    exp: NOW / 1000 + 3600,
    jti: name,
    ...claims,
  });

const logIn = (name: string, subject: string, claims: Readonly<Record<string, unknown>>) => {
  const assertion = tokenOf(subject, name, claims);
  return publicRequest(name, 'issue-token', (table) =>
    logInWithIdentity(
      { table, issuers, throttle: throttleOf(table), issueToken: sessionToken },
      SOURCE,
      { assertion, codeVerifier },
    ),
  );
};

/** Log-ins at the identity provider. */
export const provided = {
  /** The person has another login there. */
  logIn: ({ login }: User, ...groups: readonly string[]): Request =>
    logIn(`${login} logs in as one of ${groups.join(' and ') || 'nobody'}`, login, {
      preferred_username: `p-${login}`,
      groups,
    }),
  /** Without a second factor. */
  logInWeakly: ({ login }: User): Request =>
    logIn(`${login} logs in without a factor`, login, {
      preferred_username: `p-${login}`,
      groups: ['users'],
      amr: ['pwd'],
    }),
  /** Creates an account unless the identity is linked. */
  logInFirst: (subject: string, login: string, email?: string): Request =>
    logIn(`${subject} first logs in as ${login}${email ? ` with ${email}` : ''}`, subject, {
      preferred_username: login,
      groups: ['users'],
      ...(email && { email, email_verified: true }),
    }),
};

/** What administrators and users do with identities of accounts. */
export const linking = {
  link: (by: User, { login }: User, subject: string): Request =>
    act(by, `links ${login} with ${subject}`, 'link-identity', (table, caller) =>
      linkIdentity(table, caller, login, identityOf(subject), issuers),
    ),
  unlink: (by: User, { login }: User): Request =>
    act(by, `unlinks ${login}`, 'unlink-identity', (table, caller) =>
      unlinkIdentity(table, caller, login, URL),
    ),
  linkOwn: (user: User, subject: string, session = 1): Request => {
    const assertion = tokenOf(subject, 'link', {});
    const code = user.secondFactor ? codeNow(user) : '';
    const proof = { assertion, codeVerifier, currentPassword: user.login, code };
    return inSession(
      user,
      session,
      `links the own account with ${subject}`,
      'link-own-identity',
      (table, caller) => {
        const services = { issuers, passwords, factorSecrets, throttle: throttleOf(table) };
        return linkOwnIdentity(services, caller, SOURCE, proof);
      },
    );
  },
};
