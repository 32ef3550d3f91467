import * as v from 'valibot';
import { ListAudits } from '../../audit/audit-contracts.ts';
import { type AuditedAction, MILLISECONDS_PER_DAY } from '../../audit/audit-entry.ts';
import { entryOf, type ListedEntry } from '../../audit/read-audits.ts';
import type { Filter, ListQuery } from '../../contract/list-query.ts';
import { matcherOf } from '../../contract/selection.ts';
import { MODULES } from '../../modules/list-modules.ts';
import { ListModules } from '../../modules/module-contracts.ts';
import { count, type ItemDeclaration, text } from '../../table/item-kind.ts';
import { collectionOf, type Key } from '../../table/keys.ts';
import type { Item } from '../../table/table.ts';
import { ListUsers, USERS } from '../../users/list-users.ts';

/*
 * What the overview counts. Each number is the length of a list with filters, so that it leads to
 * the list; docs/api.md names the filters.
 */

/** A day, and an hour because `lastSeen` is rounded down to the hour. */
const SILENT_MS = 25 * 3_600_000;
const DAYS = 14;

/** The filters of each count, by list, at a time in milliseconds since 1970. */
function filtersAt(now: number) {
  const at = (milliseconds: number) => new Date(now + milliseconds).toISOString();
  const days = (number: number) => at(number * MILLISECONDS_PER_DAY);
  return {
    users: {
      users: '',
      administratorsWithoutSecondFactor: 'activated=true&authorities=ROLE_ADMIN&secondFactor=false',
      usersNeverLoggedIn: 'state=neverLoggedIn',
      usersInactive: `activated=true&lastLogin.lessThan=${days(-90)}`,
      deactivatedUsersWithRoles: 'activated=false&authorities.specified=true',
      expiredInvitations: 'state=invitationExpired',
    },
    modules: {
      modulesFailed: 'active=true&progress=failed',
      modulesBehind: 'active=true&progress=behind',
      modulesSilent: `active=true&lastSeen.lessThan=${at(-SILENT_MS)}`,
      modulesWithExpiringCredentials: `active=true&credentialsExpire.lessThan=${days(30)}`,
    },
    audits: {
      refusedLogins:
        'action.in=login.failed,login.throttled,login.codeRejected&actorId=0' +
        `&time.greaterThan=${days(-1)}`,
    },
  } as const;
}
type Filters = ReturnType<typeof filtersAt>;
export type CountName = { [L in keyof Filters]: keyof Filters[L] }[keyof Filters];
export const COUNT_NAMES = Object.values(filtersAt(0)).flatMap(Object.keys) as CountName[];

const FIELDS = { users: ListUsers, modules: ListModules, audits: ListAudits };

function filtersIn(list: keyof Filters, query: string): readonly Filter[] {
  const values = [...new URLSearchParams(query)].map(([name, value]) => [name, [value]]);
  return (v.parse(FIELDS[list].query, Object.fromEntries(values)) as ListQuery).filters;
}

/** Log-ins, refusals, mailed resets, uses of API tokens and reports of modules change nothing. */
const NO_CHANGES: readonly AuditedAction[] = [
  'session.started',
  'session.ended',
  'sessions.ended',
  'reset.requested',
  'login.failed',
  'login.throttled',
  'login.codeRejected',
  'module.reported',
  'token.used',
];
export const isChange = ({ action }: ListedEntry): boolean => !NO_CHANGES.includes(action);

/** What was counted at a time, and the log-ins and changes of each day (UTC), the oldest first. */
export interface Overview {
  readonly countedAt: string;
  readonly counts: Readonly<Record<CountName, number>>;
  readonly days: readonly {
    readonly day: string;
    readonly logins: number;
    readonly changes: number;
  }[];
}

/** The days that are counted, the oldest first. */
export const daysAt = (now: number): string[] =>
  Array.from({ length: DAYS }, (_, ago) =>
    new Date(now - (DAYS - 1 - ago) * MILLISECONDS_PER_DAY).toISOString().slice(0, 10),
  );

/** Counts intact items as of a time, one after the other. */
export function openCount(now: number) {
  const counts = Object.fromEntries(COUNT_NAMES.map((name) => [name, 0])) as Record<
    CountName,
    number
  >;
  const days = daysAt(now).map((day) => ({ day, logins: 0, changes: 0 }));
  const filters = filtersAt(now);
  const countsOf = (list: keyof Filters) => {
    const matchers = Object.entries<string>(filters[list]).map(
      ([name, query]) => [name as CountName, matcherOf(filtersIn(list, query))] as const,
    );
    return (entity: object) => {
      for (const [name, matches] of matchers) if (matches(entity)) counts[name]++;
    };
  };
  const addUser = countsOf('users');
  const addModule = countsOf('modules');
  const addToTrail = countsOf('audits');
  const addEntry = (item: Item) => {
    const entry = entryOf(item);
    const { expires = Number.POSITIVE_INFINITY } = entry;
    if (expires * 1000 <= now) return;
    addToTrail(entry);
    const of = days.find(({ day }) => entry.time.startsWith(day));
    if (!of) return;
    if (entry.action === 'session.started') of.logins++;
    else if (isChange(entry)) of.changes++;
  };
  return {
    add(item: Item): void {
      const kind = collectionOf(item);
      if (kind === 'USER') addUser(USERS.entityOf(item));
      else if (kind === 'INTEGRATION') addModule(MODULES.entityOf(item));
      else if (item.pk.startsWith('AUDIT#')) addEntry(item);
    },
    result: (): Overview => ({ countedAt: new Date(now).toISOString(), counts, days }),
  };
}

export const overviewKey: Key = { pk: 'OVERVIEW', sk: 'OVERVIEW' };
/** Replaced by each count. */
export const overviewItem: ItemDeclaration = {
  pk: 'OVERVIEW',
  sk: 'OVERVIEW',
  name: 'what the overview counts',
  attributes: () =>
    v.object({
      countedAt: text,
      counts: v.record(text, count),
      days: v.array(v.object({ day: text, logins: count, changes: count })),
    }),
  onForget: 'keep',
  onRestore: 'keep',
};
