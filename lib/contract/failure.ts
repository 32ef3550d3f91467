/** Everything that can be refused, by the name that the rule which refuses gives it. `lib/http/problem.ts` says how each is answered. */
export type FailureCode =
  | 'unauthorized'
  | 'bad-credentials'
  | 'forbidden'
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
  | 'last-administrator'
  | 'version-changed'
  | 'wrong-password'
  | 'unknown-key'
  | 'too-many-attempts'
  | 'read-budget-spent'
  | 'too-many-parameters'
  | 'parameters-too-large'
  | 'parameter-ids-used-up'
  | TooLong
  | 'page-too-large'
  | 'unavailable'
  | 'unexpected';

/** A list that would read too much, by what helps. */
export type TooLong = 'page-too-deep' | 'list-too-long' | 'parameter-list-too-long' | 'audit-list-too-long';

/** One field that breaks a constraint, in the words that clients translate. */
export interface FieldError {
  field: string;
  /** NotNull, NotBlank, Size, Pattern, Email or TypeMismatch. */
  message: string;
}

interface Details {
  readonly fieldErrors?: readonly FieldError[];
  readonly retryAfter?: number;
}

/** Thrown once, where a rule refuses; answered once, at the edge. */
export class Failure extends Error {
  readonly code: FailureCode;
  readonly fieldErrors: readonly FieldError[] | undefined;
  /** When another try makes sense, in whole seconds; as long as the code's usual wait where it is not said. */
  readonly retryAfter: number | undefined;

  constructor(code: FailureCode, { fieldErrors, retryAfter }: Details = {}) {
    super(code);
    this.name = 'Failure';
    this.code = code;
    this.fieldErrors = fieldErrors;
    this.retryAfter = retryAfter;
  }
}
