import * as v from 'valibot';
import type { Contract } from '../contract/contract.ts';
import { count, idInPath, responseTime, wellFormed } from '../contract/fields.ts';

/*
 * SCIM 2.0 (RFC 7643 and 7644), as far as an identity provider needs it to deactivate users: it
 * finds them, and sets `active`. All other attributes are read-only. docs/clients.md says what is
 * entered there.
 */

export const USER_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const LIST_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';
export const USERS_PATH = '/scim/v2/Users';
/** The maximum of users on a page. */
export const COUNT_MAX = 100;

const shared = {
  tag: 'Provisioning',
  access: { anyRole: ['ROLE_ADMIN'] },
  scope: 'scim',
  scim: true,
} as const;

/** A name with or without its schema; names are caseless (RFC 7643, 2.1). */
const attribute = (name: string): string => `(?:${USER_SCHEMA.replaceAll('.', '\\.')}:)?${name}`;
const ACTIVE = new RegExp(`^${attribute('active')}$`, 'i');
/** The value is a JSON string (RFC 7644, 3.4.2.2). */
const FILTER = new RegExp(`^ *${attribute('userName')} +eq +("(?:[^"\\\\]|\\\\.)*") *$`, 'i');

/** RFC 7644, 3.4.2.4: what is too small means the minimum. */
const integer = (min: number, max: number, fallback: number) =>
  v.optional(
    v.pipe(
      v.array(v.string()),
      v.transform(([text = '']) =>
        /^-?\d+$/.test(text) ? Math.min(Math.max(Number(text), min), max) : fallback,
      ),
    ),
    [],
  );

const listQuery = v.object({
  filter: v.optional(
    v.pipe(
      v.array(v.string()),
      v.transform(([text = '']) => FILTER.exec(text)?.[1]),
      v.string(),
      v.parseJson(),
      v.string(),
      wellFormed,
    ),
  ),
  startIndex: integer(1, Number.MAX_SAFE_INTEGER, 1),
  count: integer(0, COUNT_MAX, COUNT_MAX),
});
export type ScimListQuery = v.InferOutput<typeof listQuery>;

/** A pattern of words in any case. JSON Schema has no flag for it. */
const anyCase = (...words: string[]): RegExp =>
  new RegExp(`^(${words.join('|')})$`.replaceAll(/[a-z]/g, (it) => `[${it}${it.toUpperCase()}]`));

/** Entra sends a text unless its URL has a flag. */
const flag = v.union(
  [
    v.boolean(),
    v.pipe(
      v.string(),
      v.regex(anyCase('true', 'false')),
      v.transform((text) => text.toLowerCase() === 'true'),
    ),
  ],
  'TypeMismatch',
);

interface Operation {
  readonly op: string;
  readonly path?: string | null | undefined;
  readonly value?: unknown;
}

/**
 * What an operation sets `active` to; null, which is invalid, if it removes it or has no value.
 * Nothing if it is about other attributes: these are ignored. RFC 7644, 3.5.2 requires the error
 * `mutability`, which would also refuse the deactivation in the same request.
 */
function activeIn({ op, path, value }: Operation): { readonly active?: unknown } {
  const named = Object.entries(path ? { [path]: value } : Object(value));
  const last = named.findLast(([name]) => ACTIVE.test(name));
  if (!last) return {};
  return { active: op.toLowerCase() === 'remove' ? null : (last[1] ?? null) };
}

const operation = v.pipe(
  v.object({
    op: v.pipe(v.string('TypeMismatch'), v.regex(anyCase('add', 'replace', 'remove'), 'Pattern')),
    path: v.nullish(v.string('TypeMismatch')),
    value: v.optional(v.unknown()),
  }),
  v.transform(activeIn),
  v.object({ active: v.optional(flag) }),
);

const schemas = v.array(v.string());

/** Operations apply in their order. */
const patch = v.pipe(
  v.object({
    schemas: v.optional(schemas),
    Operations: v.pipe(v.array(operation, 'TypeMismatch'), v.minLength(1, 'NotBlank')),
  }),
  v.transform(({ Operations }) => Operations.findLast(({ active }) => active !== undefined) ?? {}),
);

const user = v.strictObject({
  schemas,
  id: v.string(),
  userName: v.string(),
  name: v.optional(
    v.strictObject({ givenName: v.optional(v.string()), familyName: v.optional(v.string()) }),
  ),
  active: v.boolean(),
  emails: v.array(
    v.strictObject({ value: v.string(), type: v.literal('work'), primary: v.literal(true) }),
  ),
  meta: v.strictObject({
    resourceType: v.literal('User'),
    created: responseTime,
    lastModified: responseTime,
    location: v.string(),
    version: v.string(),
  }),
});
export type ScimUser = v.InferOutput<typeof user>;

/** GET /scim/v2/ServiceProviderConfig */
export const GetScimConfig = {
  ...shared,
  summary: 'Get what this service supports of SCIM',
  response: v.objectWithRest({ schemas }, v.unknown()),
} satisfies Contract;

export const SCIM_CONFIG = {
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: COUNT_MAX },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: true },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'API token',
      description: 'An API token of an administrator with the scope scim',
    },
  ],
  meta: { resourceType: 'ServiceProviderConfig', location: '/scim/v2/ServiceProviderConfig' },
};

/** GET /scim/v2/Users */
export const ListScimUsers = {
  ...shared,
  summary: 'Find the user with a login or an address, or list users, for an identity provider',
  query: listQuery,
  response: v.strictObject({
    schemas,
    totalResults: count,
    startIndex: count,
    itemsPerPage: count,
    Resources: v.array(user),
  }),
  failures: ['read-budget-spent', 'page-too-deep'],
} satisfies Contract;

/** GET /scim/v2/Users/{id} */
export const GetScimUser = {
  ...shared,
  summary: 'Get a user for an identity provider',
  path: idInPath,
  headers: ['ETag'],
  response: user,
  failures: ['not-found', 'version-changed'],
} satisfies Contract;

const change = {
  ...shared,
  path: idInPath,
  failures: ['not-found', 'last-administrator', 'version-changed'],
} as const;

/** PATCH /scim/v2/Users/{id} */
export const PatchScimUser = {
  ...change,
  summary: 'Deactivate or activate a user for an identity provider',
  body: patch,
  headers: ['ETag'],
  response: user,
} satisfies Contract;

/** DELETE /scim/v2/Users/{id} */
export const DeleteScimUser = {
  ...change,
  summary: 'Deactivate a user for an identity provider, which deletes nothing',
  status: 204,
} satisfies Contract;
