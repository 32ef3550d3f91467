import type * as v from 'valibot';
import type { FailureCode } from './failure.ts';

/** The roles that a user can hold. */
export const ROLES = ['ROLE_ADMIN', 'ROLE_USER', 'ROLE_ANALYST'] as const;
export type Role = (typeof ROLES)[number];

/** The resource type of an endpoint, by the name that clients translate. */
export type EntityName = 'userManagement' | 'utmIntegration' | 'utmIntegrationConf' | 'audit';

/**
 * What an endpoint requires of the caller: nothing, a valid token, or one of the given roles. The
 * table decides, so that the loss of a role and the end of a session take effect at once.
 */
export type Access =
  | 'public'
  /** Any unexpired token that this service has issued, even if its session has ended. */
  | 'issued-token'
  /** Like 'authenticated', but without requiring the second factor of the caller's roles. */
  | 'enrolling'
  | 'authenticated'
  | {
      readonly anyRole: readonly Role[];
      /** Also the module of the integration that the path names. */
      readonly module?: true;
    };

/** The group of an endpoint in the API document. */
export type Tag =
  | 'Tokens'
  | 'Single sign-on'
  | 'Sessions'
  | 'Second factor'
  | 'Account'
  | 'Users'
  | 'Integrations'
  | 'Parameters'
  | 'Modules'
  | 'Plans'
  | 'Provisioning'
  | 'Audit trail'
  | 'Status';

/**
 * What API tokens can be for: the tags of endpoints that accept them, to read or to write, and all
 * of SCIM, because an identity provider has one token for both.
 */
export const SCOPES = [
  'account:read',
  'audit-trail:read',
  'integrations:read',
  'integrations:write',
  'modules:read',
  'modules:write',
  'parameters:read',
  'parameters:write',
  'plans:read',
  'plans:write',
  'scim',
  'sessions:read',
  'sessions:write',
  'status:read',
  'status:write',
  'users:read',
  'users:write',
] as const;
export type Scope = (typeof SCOPES)[number];

/** The scope that an endpoint requires of API tokens; undefined if it accepts none. */
export const scopeOf = ({ tag, scope }: Pick<Contract, 'tag' | 'scope'>): Scope | undefined =>
  scope === 'scim' ? scope : scope && (`${tag?.toLowerCase().replace(' ', '-')}:${scope}` as Scope);

/** Whether the scopes of an API token contain one; whoever may write may also read. */
export const isInScope = (granted: readonly Scope[], required: Scope): boolean =>
  granted.includes(required) || granted.includes(required.replace(/:read$/, ':write') as Scope);

/**
 * Requests whose durations are counted together: a login hashes, a change is a transaction, and a
 * reset is requested by one write, and finished by a hash and a transaction.
 */
export type RequestKind = 'login' | 'reset' | 'change' | 'read';

type Schema = v.GenericSchema<unknown, unknown>;

/** A header that some responses have. */
export type ResponseHeader =
  | 'Authorization'
  | 'Cache-Control'
  | 'ETag'
  | 'Link'
  | 'Location'
  | 'X-Total-Count'
  | 'X-gatehouseApp-alert'
  | 'X-gatehouseApp-params';

/** The headers with which clients notify their user of a change. */
export const ALERT = [
  'X-gatehouseApp-alert',
  'X-gatehouseApp-params',
] as const satisfies ResponseHeader[];

/**
 * The requests that an endpoint accepts and its responses. `routes.ts` and the handler share one
 * value.
 */
export interface Contract {
  /** One line for the API document, without a full stop. */
  readonly summary: string;
  /** Absent for the console, which is not in the API document. */
  readonly tag?: Tag;
  readonly access: Access;
  /** What API tokens need of the scopes of the tag; without it, they are rejected. */
  readonly scope?: 'read' | 'write' | 'scim';
  /** A read or a change, by the method, unless given. */
  readonly kind?: RequestKind;
  /** Absent for an endpoint that is not about a resource, such as the health of the service. */
  readonly entityName?: EntityName;
  readonly path?: Schema;
  readonly query?: Schema;
  readonly body?: Schema;
  /** The maximum size of the body; 64 KiB unless given. */
  readonly bodyBytesMax?: number;
  /** The field that a text/plain body fills. Without it, text/plain is rejected. */
  readonly textAs?: string;
  /**
   * The endpoint is the one of RFC 6749, section 3.2: the body is a form, and failures are also
   * stated by its error codes.
   */
  readonly oauth?: true;
  /** The endpoint is one of SCIM (RFC 7644), with its media type and its errors. */
  readonly scim?: true;
  /** The status of a successful response; 200 unless given. */
  readonly status?: 201 | 204;
  /** The headers of a successful response, besides those that all responses have. */
  readonly headers?: readonly ResponseHeader[];
  /** The headers of some successful responses only. */
  readonly optionalHeaders?: readonly ResponseHeader[];
  /** The body of a successful response; undefined when it has none. */
  readonly response?: Schema;
  /** Failures besides the ones of validation and authorization, which any endpoint can have. */
  readonly failures?: readonly FailureCode[];
}

/** A contract without a token, and one that requires a token. */
export type PublicContract = Contract & { readonly access: 'public' };
export type ProtectedContract = Contract & { readonly access: Exclude<Access, 'public'> };
/** A contract that admits the module of the integration in its path as well. */
export type ModuleContract = Contract & {
  readonly access: { readonly anyRole: readonly Role[]; readonly module: true };
  readonly path: v.GenericSchema<unknown, { id: number }>;
};

type Output<S> = S extends Schema ? v.InferOutput<S> : undefined;
export type PathOf<C extends Contract> = Output<C['path']>;
export type QueryOf<C extends Contract> = Output<C['query']>;
export type BodyOf<C extends Contract> = Output<C['body']>;
