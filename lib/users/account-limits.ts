import * as v from 'valibot';
import { Failure } from '../contract/failure.ts';
import { recentValues } from '../runtime/execution-environment.ts';
import { count, type ItemDeclaration } from '../table/item-kind.ts';
import { idText } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { windowCounter } from '../table/window-counter.ts';
import type { Caller } from './caller.ts';

/*
 * What one account can cost: its changes, and requests in sessions that have ended.
 *
 * Every change checks the item of its caller, so a stream of changes by one account keeps that item
 * busy and gives it new versions. Without a limit, a user could delay their own deactivation, a
 * thief with a stolen token the reset of the password, and the retries would occupy all functions.
 *
 * Every request with a signed token reads the user and the session of the token, without a charge.
 * So that tokens whose sessions have ended cannot keep the partition of the users busy, a function
 * instance remembers them: a session that has ended never becomes valid again.
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

const SESSIONS_MAX = 1000;
/** Only matters if the table is put back to an earlier state while functions run. */
const LIFE_MS = 10_000;

/** The sessions that were found to have ended. */
export interface EndedSessions {
  has(caller: Caller): boolean;
  add(caller: Caller): void;
}

/** Remembers ended sessions for one endpoint of one function instance. */
export function endedSessions(): EndedSessions {
  const sessions = recentValues<true>(SESSIONS_MAX, LIFE_MS);
  const keyOf = ({ id, jti }: Caller) => `${id} ${jti}`;
  return {
    has: (caller) => sessions.get(keyOf(caller)) === true,
    add: (caller) => sessions.set(keyOf(caller), true),
  };
}
