import * as v from 'valibot';
import { ALERT, type Contract, ROLES } from '../contract/contract.ts';
import { matching, text } from '../contract/fields.ts';
import { subject } from '../tokens/assertion.ts';
import { loginInPath } from '../users/user-schema.ts';
import { CODE_VERIFIER } from './id-token.ts';

const shared = { tag: 'Single sign-on', entityName: 'userManagement' } as const;
const administrators = { anyRole: ['ROLE_ADMIN'] } as const;

const issuer = text(1, 300);
const token = text(1, 16_384);

/** GET /api/issuers */
export const ListIssuers = {
  tag: 'Single sign-on',
  summary: 'List the identity providers with which people log in',
  access: 'public',
  response: v.array(
    v.strictObject({
      issuer: v.string(),
      name: v.string(),
      clientId: v.string(),
      authorizationEndpoint: v.string(),
      tokenEndpoint: v.string(),
      /** Whether a password logs people in as well. */
      passwords: v.boolean(),
    }),
  ),
} satisfies Contract;

/** POST /api/issuers/preview */
export const PreviewLogIn = {
  ...shared,
  summary: 'Show what a log-in with these claims would do, without verifying or changing anything',
  access: administrators,
  kind: 'read',
  body: v.object({
    issuer,
    claims: v.optional(v.record(v.string(), v.unknown()), {}),
    /** The value of the claim with the groups, whatever its name is. */
    groups: v.optional(v.array(v.string('TypeMismatch'))),
  }),
  response: v.strictObject({
    /** Null if log-ins change no roles. */
    roles: v.nullable(v.array(v.picklist(ROLES))),
    /** The account that is linked with `sub`; null without one. */
    account: v.nullable(v.string()),
    /** Whether an account would be created. */
    created: v.boolean(),
    /** The login and the address of a new account; null if the claims have none that is usable. */
    login: v.nullable(v.string()),
    email: v.nullable(v.string()),
    secondFactor: v.boolean(),
  }),
  failures: ['invalid-grant'],
} satisfies Contract;

/** POST /api/account/identities */
export const LinkOwnIdentity = {
  ...shared,
  summary: 'Link your account with the identity in an ID token of a provider',
  access: 'authenticated',
  body: v.object({
    assertion: token,
    codeVerifier: v.pipe(v.string('TypeMismatch'), matching(CODE_VERIFIER)),
    currentPassword: v.string('TypeMismatch'),
    code: v.optional(v.string('TypeMismatch'), ''),
  }),
  failures: [
    'invalid-grant',
    'wrong-password',
    'wrong-code',
    'identity-taken',
    'too-many-attempts',
  ],
} satisfies Contract;

/** POST /api/users/{login}/identities */
export const LinkIdentity = {
  ...shared,
  summary: 'Link a user with an identity of a provider',
  access: administrators,
  path: loginInPath,
  body: v.object({ issuer, subject }),
  headers: ALERT,
  failures: ['not-found', 'identity-taken'],
} satisfies Contract;

/** POST /api/users/{login}/identities/delete */
export const UnlinkIdentity = {
  ...shared,
  summary: 'Unlink a user from the identity of a provider, which ends all sessions and API tokens',
  access: administrators,
  path: loginInPath,
  body: v.object({ issuer }),
  headers: ALERT,
  failures: ['not-found'],
} satisfies Contract;
