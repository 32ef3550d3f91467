import type { AuditEvent } from '../audit/audit-entry.ts';
import type { Scope } from '../contract/contract.ts';
import { Failure } from '../contract/failure.ts';
import { isSameRecipient } from '../mail/address.ts';
import type { Decision } from '../table/change.ts';
import type { User } from './user.ts';

/**
 * The caller of a request, as stated in its token. The table says whether the session has ended.
 */
export interface Caller {
  /** The id of the user. */
  readonly id: number;
  /**
   * The token's id (RFC 7519, 4.1.7), which is the series of its session, or the series of an API
   * token.
   */
  readonly jti: string;
  /** Seconds since 1970. */
  readonly expires: number;
  /** What the API token of the caller allows; absent for the token of a session. */
  readonly scopes?: readonly Scope[];
}

/** A caller, and the address from which the request came. */
export interface CallerFrom extends Caller {
  readonly source: string;
}

/**
 * Whether a change of a user requires a session: an API token makes nobody an administrator, and
 * changes no address of one, whose password could be reset there. What it would create could
 * outlive the end of the token.
 */
export function needsSession(
  before: User | undefined,
  after: Pick<User, 'authorities' | 'activated' | 'email'>,
): boolean {
  if (!before?.authorities.includes('ROLE_ADMIN')) return after.authorities.includes('ROLE_ADMIN');
  const isReactivated = after.activated && !before.activated;
  return isReactivated || !isSameRecipient(after.email, before.email);
}

/** Fails with insufficient-scope for an API token. */
export function requireSession({ scopes }: Caller): void {
  if (scopes) throw new Failure('insufficient-scope');
}

/** A decision and what the audit trail records of it. */
type AuthorizedDecision<R> = Decision<R> & { readonly event: AuditEvent | readonly AuditEvent[] };

/**
 * A rule that changes data: load, prepare, decide. Only `loadEarly` runs before the caller is
 * authorized. `decide` must be pure: each retry loads and decides again.
 */
export interface ChangeRule<R, E, L, P> {
  /**
   * Reads in parallel with the caller's user and session: at most one read unit, because an
   * unauthorized caller causes these reads too.
   */
  readonly loadEarly?: () => Promise<E>;
  /** Reads what the rule needs. Without it, that is what `loadEarly` returned. */
  readonly load?: (early: E) => Promise<L>;
  /**
   * Does what costs time or money or has side effects, such as a hash, a data key or a new id: once
   * for all retries.
   */
  readonly prepare?: (loaded: L) => Promise<P>;
  readonly decide: (known: Known<L, P>) => AuthorizedDecision<R>;
}

/** What a rule decides on. */
interface Known<L, P> {
  readonly loaded: L;
  readonly prepared: P;
  /** The caller's user, as loaded for this attempt. */
  readonly callerUser: User;
  /** The time of the decision, in milliseconds since 1970. */
  readonly now: number;
}

/**
 * A caller together with the access that its endpoint requires, which the endpoint enforces for
 * every request. sessions/authorize.ts implements it.
 */
export interface AuthorizedCaller extends Caller {
  /**
   * Waits until the table has confirmed the access. The endpoint awaits it before it responds; a
   * rule needs to only before side effects and large reads. Fails with forbidden and invalid-token,
   * but not for a session that outlives its deleted user where no role is required.
   */
  requireAuthorized(): Promise<void>;
  /**
   * Returns the caller's user once the table has confirmed the access. Fails with forbidden and
   * invalid-token.
   */
  findUser(): Promise<User>;
  /**
   * Whether the user has a second factor, or the identity provider with which the session began
   * required one. Reads no more than the access does.
   */
  hasSecondFactor(): Promise<boolean>;
  /** Whether the caller is an administrator now. Reads no more than the access does. */
  isAdministrator(): Promise<boolean>;
  /**
   * Loads, prepares, decides and commits. The caller's authorization is a condition of the commit,
   * so that a stale token changes nothing, and the audit event is part of the transaction.
   *
   * Fails with `forbidden`, with `invalid-token`, with `change-budget-spent`, and as
   * `loadDecideCommit` does.
   */
  change<R, E = undefined, L = E, P = undefined>(rule: ChangeRule<R, E, L, P>): Promise<R>;
}
