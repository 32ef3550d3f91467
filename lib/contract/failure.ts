import type { Limits } from './fields.ts';

/** Every reason for rejecting a request. `lib/http/problem.ts` maps each code to its response. */
export type FailureCode =
  | 'unauthorized'
  | 'invalid-token'
  | 'bad-credentials'
  | 'invalid-client'
  | 'unsupported-grant'
  | 'invalid-grant'
  | 'unknown-identity'
  | 'provider-without-factor'
  | 'code-required'
  | 'forbidden'
  | 'insufficient-scope'
  | 'second-factor-required'
  | 'malformed'
  | 'invalid'
  | 'too-large'
  | 'unsupported-media-type'
  | 'no-id'
  | 'id-not-wanted'
  | 'unknown-id'
  | 'not-found'
  | 'login-taken'
  | 'email-taken'
  | 'confirmation-required'
  | 'plan-refused'
  | 'last-administrator'
  | 'version-changed'
  | 'wrong-password'
  | 'wrong-code'
  | 'second-factor-on'
  | 'second-factor-off'
  | 'common-password'
  | 'not-invitable'
  | 'identity-taken'
  | 'unknown-key'
  | 'too-many-attempts'
  | 'too-many-mails'
  | 'read-budget-spent'
  | 'change-budget-spent'
  | 'too-many-parameters'
  | 'parameters-too-large'
  | 'parameter-ids-used-up'
  | 'too-many-credentials'
  | 'too-many-tokens'
  | TooLong
  | 'page-too-large'
  | 'plan-too-large'
  | 'not-from-edge'
  | 'cross-site'
  | 'unavailable'
  | 'unexpected';

/**
 * Failures of a list that would read too much. Each code suggests a different remedy to the client.
 */
export type TooLong =
  | 'page-too-deep'
  | 'list-too-long'
  | 'parameter-list-too-long'
  | 'audit-list-too-long';

/** The codes of violated constraints, which clients translate. */
export const FIELD_CODES = [
  'NotNull',
  'NotBlank',
  'Size',
  'Pattern',
  'Email',
  'TypeMismatch',
] as const;

/** A field that violates a constraint, and the limits of the constraint. */
export interface FieldError extends Limits {
  readonly field: string;
  readonly message: (typeof FIELD_CODES)[number];
}

interface Details extends ErrorOptions {
  readonly fieldErrors?: readonly FieldError[];
  readonly retryAfter?: number;
  readonly scope?: string | undefined;
  readonly plan?: unknown;
  readonly reason?: string;
}

/**
 * Thrown by the rule that rejects a request; turned into a response only by the Lambda handler
 * (lib/http/lambda-handler.ts).
 */
export class Failure extends Error {
  readonly code: FailureCode;
  readonly fieldErrors: readonly FieldError[] | undefined;
  /** In whole seconds. Without it, the response has the Retry-After of the code, if any. */
  readonly retryAfter: number | undefined;
  /** What an API token lacks, if there is a scope for it (RFC 6750, 3). */
  readonly scope: string | undefined;
  /** The plan as it is now, if one was rejected for a change since. */
  readonly plan: unknown;
  /** A word for the log about what the client is not told. */
  readonly reason: string | undefined;
  /** How many changes of a plan were made before it. */
  applied: number | undefined;
  /** A value that only attempts at one login have, for the log: the login may be a password. */
  loginPseudonym: string | undefined;

  constructor(
    code: FailureCode,
    { fieldErrors, retryAfter, scope, plan, reason, ...options }: Details = {},
  ) {
    super(code, options);
    this.name = 'Failure';
    this.code = code;
    this.fieldErrors = fieldErrors;
    this.retryAfter = retryAfter;
    this.scope = scope;
    this.plan = plan;
    this.reason = reason;
  }
}
