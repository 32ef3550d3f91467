import type { AuditEvent } from '../audit/audit-entry.ts';
import type { Caller } from '../contract/caller.ts';
import type { Decision } from '../table/change.ts';
import type { User } from './user.ts';

/** A decision and the audit event that records it. `target` is the other user whose account changes, if it is one's. */
type AuthorizedDecision<R> = Decision<R> & { readonly event: AuditEvent; readonly target?: User };

/** A caller together with the access that its endpoint requires, which the endpoint enforces for every request. */
export interface AuthorizedCaller extends Caller {
  /**
   * Waits until the table has confirmed the access, where the contract requires that; at once where the token decides.
   * The endpoint waits for it before it responds: a rule does so only before side effects. Fails with forbidden.
   */
  requireAuthorized(): Promise<void>;
  /** The caller's own user, once the table has confirmed the access. Fails with forbidden and unauthorized. */
  findUser(): Promise<User>;
  /**
   * Load, decide, commit: the caller's right is among the conditions of the commit, so a stale token changes nothing.
   * The audit event is part of the transaction.
   *
   * `now` is the time of the decision, in milliseconds since 1970. `load` gets the caller's own user while it is still
   * being read, and can read in parallel. The promise rejects for an unauthorized caller: await it before any side
   * effect. A decision about another user's account names it as `target`, and takes precedence over the changes that
   * this user makes. Fails with `forbidden`, with `unauthorized` for the own account of a deleted caller, and as
   * `change` does.
   */
  change<L, R>(
    load: (callerUser: Promise<User>) => Promise<L>,
    decide: (loaded: L, callerUser: User, now: number) => AuthorizedDecision<R>,
  ): Promise<R>;
}
