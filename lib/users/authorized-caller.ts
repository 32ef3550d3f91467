import type { AuditEvent } from '../audit/audit-entry.ts';
import type { Caller } from '../contract/caller.ts';
import type { Decision } from '../table/change.ts';
import type { User } from './user.ts';

/** A decision and the audit event that records it. */
type AuthorizedDecision<R> = Decision<R> & { readonly event: AuditEvent };

/**
 * A caller together with the access that its endpoint requires, which the endpoint enforces for
 * every request.
 */
export interface AuthorizedCaller extends Caller {
  /**
   * Waits until the table has confirmed the access, if the contract requires that; resolves at once
   * if the token decides. The endpoint awaits it before it responds; a rule needs to only before
   * side effects. Fails with forbidden.
   */
  requireAuthorized(): Promise<void>;
  /**
   * Whether the token is read-only, because its account was deleted or another token has changed
   * the password. Reads the caller's user, at most once for this and the access.
   */
  hasStaleToken(): Promise<boolean>;
  /**
   * Returns the caller's user once the table has confirmed the access. Fails with forbidden and
   * unauthorized.
   */
  findUser(): Promise<User>;
  /**
   * Load, decide, commit: the caller's authorization is a condition of the commit, so that a stale
   * token changes nothing. The audit event is part of the transaction.
   *
   * `now` is the time of the decision, in milliseconds since 1970. `load` receives the promise of
   * the caller's user, so that it can read in parallel. The promise rejects for an unauthorized
   * caller: await it before any side effect, and before reads that can cost more than one unit.
   * `targetUserOf` returns the user whose account the change is about, if any: the change takes
   * precedence over that user's own changes when these make it conflict or its If-Match stale.
   * Fails with `forbidden`, with `unauthorized` when a deleted caller changes their own account,
   * with `unavailable` while another change has precedence over those by the caller, and as
   * `change` does.
   */
  change<L, R>(
    load: (callerUser: Promise<User>) => Promise<L>,
    decide: (loaded: L, callerUser: User, now: number) => AuthorizedDecision<R>,
    targetUserOf?: (loaded: L) => User | undefined,
  ): Promise<R>;
}
