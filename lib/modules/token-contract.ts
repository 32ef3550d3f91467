import * as v from 'valibot';
import type { Contract } from '../contract/contract.ts';
import { count } from '../contract/fields.ts';
import { MODULE_SCOPE } from './credential-contracts.ts';

const parameter = v.optional(v.string('TypeMismatch'));

/**
 * POST /api/oauth2/token: the client credentials grant for modules with a secret (RFC 6749, 4.4),
 * and the JWT bearer grant (RFC 7523, 2.1) for modules with a token of their platform, which name
 * their client id, and for people with an ID token.
 */
export const IssueToken = {
  tag: 'Tokens',
  summary: 'Exchange the credential of a module, or an ID token, for a token',
  access: 'public',
  oauth: true,
  body: v.object({
    grant_type: v.string('TypeMismatch'),
    /** Absent if the client authenticates itself with the Basic scheme. */
    client_id: parameter,
    client_secret: parameter,
    /** Of the JWT bearer grant. */
    assertion: parameter,
    /** RFC 7636: the nonce of the ID token is its code challenge (S256). */
    code_verifier: parameter,
  }),
  response: v.strictObject({
    access_token: v.string(),
    token_type: v.literal('Bearer'),
    expires_in: count,
    scope: v.optional(v.literal(MODULE_SCOPE)),
  }),
  failures: [
    'invalid-client',
    'unsupported-grant',
    'invalid-grant',
    'unknown-identity',
    'provider-without-factor',
    'too-many-attempts',
  ],
} satisfies Contract;
