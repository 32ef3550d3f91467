import * as v from 'valibot';
import { pick } from '../contract/entity-fields.ts';
import { Failure } from '../contract/failure.ts';
import { recentValues } from '../runtime/execution-environment.ts';
import { count, type ItemDeclaration } from '../table/item-kind.ts';
import { idText } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { windowCounter } from '../table/window-counter.ts';
import type { Caller } from '../users/caller.ts';
import { hadEnded, isOfAccount, TOKEN_STATE, type TokenState } from '../users/token-validity.ts';

/*
 * Every change checks the item of its caller, so a stream of changes by one account keeps that item
 * busy and gives it new versions. Without a limit, a user could delay their own deactivation, a
 * thief with a stolen token the reset of the password, and the retries would occupy all functions.
 */

/** 5 changes per second, or 50 at once. */
const WINDOW_MS = 10_000;
const CHANGES_MAX = 50;

const partition = (userId: number): string => `CHANGES#${idText(userId)}`;
/** Expires within minutes. */
export const changeCountItem: ItemDeclaration = {
  pk: 'CHANGES#<user id>',
  sk: '<window>',
  name: 'number of changes by an account in 10 seconds',
  attributes: () => v.object({ n: count, expires: count }),
  onForget: 'keep',
  onRestore: 'keep',
};

/** Counts a change. Fails with change-budget-spent and `retryAfter` after too many. */
export async function requireChangeLeft(table: Table, userId: number): Promise<void> {
  const counter = windowCounter(partition(userId), WINDOW_MS);
  if (!(await table.update(counter.add(1, CHANGES_MAX))))
    throw new Failure('change-budget-spent', { retryAfter: counter.secondsLeft() });
}

/*
 * Every request with a signed token reads the user of the token, without a charge. So that tokens
 * that have ended cannot keep the partition of the users busy, a function instance remembers why it
 * refused one, and refuses every token that had ended by then without a read. It never refuses a
 * token that is valid: a token that has ended never becomes valid again, and a token that was
 * issued later has a higher count.
 */

const ACCOUNTS_MAX = 1000;
/** Only matters if the table is put back to an earlier state while functions run. */
const LIFE_MS = 10_000;

/** The accounts whose tokens were refused, as they were read then. */
export interface EndedTokens {
  /** Whether the token is known to have ended. */
  has(caller: Caller): boolean;
  /** Remembers the state for which a token was refused; undefined if the account was deleted. */
  add(user: TokenState | undefined, caller: Caller): void;
}

/** Remembers refusals for one endpoint of one function instance. */
export function endedTokens(): EndedTokens {
  const accounts = recentValues<{ readonly state: TokenState | undefined }>(ACCOUNTS_MAX, LIFE_MS);
  const keyOf = ({ id, incarnation }: Caller) => `${id} ${incarnation}`;
  return {
    has(caller) {
      const account = accounts.get(keyOf(caller));
      return account !== undefined && (!account.state || hadEnded(account.state, caller));
    },
    add(user, caller) {
      const state = isOfAccount(user, caller) ? pick(user, TOKEN_STATE) : undefined;
      accounts.set(keyOf(caller), { state });
    },
  };
}
