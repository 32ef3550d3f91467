import * as v from 'valibot';
import { type Access, ALERT, type Contract } from '../contract/contract.ts';
import { count, idInPath, instant, optionalText } from '../contract/fields.ts';

const shared = { tag: 'Modules', entityName: 'utmIntegration' } as const;
const administrators = { anyRole: ['ROLE_ADMIN'] } as const satisfies Access;

const time = v.pipe(v.string(), v.isoTimestamp());

const newCredential = v.object({
  /** By default, and at most, a year from now. */
  expires: optionalText(instant, undefined),
});
export type NewCredential = v.InferOutput<typeof newCredential>;

const clientId = v.string();

/** POST /api/utm-integrations/{id}/credentials */
export const CreateCredential = {
  ...shared,
  summary: 'Create a credential for the module of an integration',
  access: administrators,
  path: idInPath,
  body: newCredential,
  status: 201,
  headers: ['Location', ...ALERT],
  response: v.strictObject({ clientId, clientSecret: v.string(), expires: time }),
  failures: ['not-found', 'too-many-credentials'],
} satisfies Contract;

/** GET /api/utm-integrations/{id}/credentials */
export const ListCredentials = {
  ...shared,
  summary: 'List the credentials of the module of an integration, without their secrets',
  access: administrators,
  scope: 'read',
  path: idInPath,
  response: v.array(
    v.strictObject({
      clientId,
      createdDate: time,
      createdBy: v.string(),
      expires: time,
      lastUsed: v.nullable(time),
    }),
  ),
  failures: ['not-found'],
} satisfies Contract;

/** POST /api/utm-integrations/{id}/credentials/{clientId}/delete */
export const DeleteCredential = {
  ...shared,
  summary: 'Delete a credential, whose tokens are refused from then on',
  access: administrators,
  scope: 'write',
  path: v.object({ ...idInPath.entries, clientId }),
  headers: ALERT,
  failures: ['not-found'],
} satisfies Contract;

/** The scope of every token, whatever the request names (RFC 6749, 3.3). */
export const MODULE_SCOPE = 'module';

/** POST /api/oauth2/token: the client credentials grant (RFC 6749, 4.4). */
export const IssueModuleToken = {
  tag: 'Modules',
  summary: 'Exchange the credential of a module for a token',
  access: 'public',
  oauth: true,
  body: v.object({
    grant_type: v.string('TypeMismatch'),
    /** Absent if the client authenticates itself with the Basic scheme. */
    client_id: v.optional(v.string('TypeMismatch')),
    client_secret: v.optional(v.string('TypeMismatch')),
  }),
  response: v.strictObject({
    access_token: v.string(),
    token_type: v.literal('Bearer'),
    expires_in: count,
    scope: v.literal(MODULE_SCOPE),
  }),
  failures: ['invalid-client', 'unsupported-grant', 'too-many-attempts'],
} satisfies Contract;
export type TokenRequest = v.InferOutput<typeof IssueModuleToken.body>;
