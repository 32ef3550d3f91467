import type * as v from 'valibot';
import type { FailureCode } from './failure.ts';

/** The roles that a user can hold. */
export const ROLES = ['ROLE_ADMIN', 'ROLE_USER', 'ROLE_ANALYST'] as const;
export type Role = (typeof ROLES)[number];

/** What a request is about, by the name that clients translate. */
export type EntityName = 'userManagement' | 'utmIntegration' | 'utmIntegrationConf';

/**
 * Who may make a request: anyone, anyone signed in, or the holders of one of these roles. The token tells the roles of
 * a reader; where it matters at once (every change, and reading secrets) the table does.
 */
export type Access =
  | 'public'
  | 'authenticated'
  | { readonly anyRole: readonly Role[]; readonly rolesFrom: 'token' | 'table' };

type Schema = v.GenericSchema<unknown, unknown>;

/** What one endpoint asks for and answers: the same value stands in `routes.ts` and in the function that serves it. */
export interface Contract {
  readonly access: Access;
  readonly entityName: EntityName;
  readonly path?: Schema;
  readonly query?: Schema;
  readonly body?: Schema;
  /** The field that a body of text/plain is, where one is allowed. */
  readonly textAs?: string;
  /** The body of a successful answer; nothing where there is none. */
  readonly response?: Schema;
  /** What it can refuse beyond a bad request and missing rights. */
  readonly failures?: readonly FailureCode[];
}

type Output<S> = S extends Schema ? v.InferOutput<S> : undefined;
export type PathOf<C extends Contract> = Output<C['path']>;
export type QueryOf<C extends Contract> = Output<C['query']>;
export type BodyOf<C extends Contract> = Output<C['body']>;
