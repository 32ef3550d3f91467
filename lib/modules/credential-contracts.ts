import * as v from 'valibot';
import { type Access, ALERT, type Contract } from '../contract/contract.ts';
import { idInPath, instant, optionalText, responseTime, text } from '../contract/fields.ts';
import { subject } from '../tokens/assertion.ts';

const shared = { tag: 'Modules', entityName: 'utmIntegration' } as const;
const administrators = { anyRole: ['ROLE_ADMIN'] } as const satisfies Access;

const issuer = text(1, 300);
const audience = text(1, 300);

/** What the tokens of the platform state, without which a credential has a secret. */
const identity = v.object({
  issuer,
  subject,
  /** By default the audience in the settings of the issuer. */
  audience: optionalText(audience, undefined),
});

const newCredential = v.object({
  identity: v.optional(identity),
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
  response: v.strictObject({
    clientId,
    /** Absent for a credential with an identity. */
    clientSecret: v.optional(v.string()),
    expires: responseTime,
  }),
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
      createdDate: responseTime,
      createdBy: v.string(),
      expires: responseTime,
      lastUsed: v.nullable(responseTime),
      /** Of a credential without a secret. */
      identity: v.optional(
        v.strictObject({ issuer: v.string(), subject: v.string(), audience: v.string() }),
      ),
    }),
  ),
  failures: ['not-found'],
} satisfies Contract;

/** GET /api/module-issuers */
export const ListModuleIssuers = {
  tag: 'Modules',
  summary: 'List the platforms with whose tokens modules can authenticate themselves',
  access: administrators,
  scope: 'read',
  response: v.array(v.strictObject({ issuer: v.string(), audience: v.string() })),
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

/** The fields of POST /api/oauth2/token by which a module authenticates itself. */
export interface ClientCredentials {
  readonly client_id?: string | undefined;
  readonly client_secret?: string | undefined;
}
