import { auditView, entryOf } from '../../audit/read-audits.ts';
import type { Item } from '../../table/table.ts';
import { administratorView, type User } from '../../users/user.ts';
import type { PersonalItems } from './personal-items.ts';

/** What the table has about a person, as the person can read it. */
export function personalData(
  id: number,
  account: User | undefined,
  { logins, own, auditEntries, authored }: PersonalItems,
) {
  return {
    id,
    logins: [...logins].sort(),
    account: account ? administratorView(account) : null,
    items: Object.groupBy(own.map(shownItem), ({ kind }) => kind),
    auditEntries: auditEntries
      .toSorted((one, other) => (one.sk < other.sk ? -1 : 1))
      .map((item) => auditView(entryOf(item))),
    namedIn: authored.map(({ key, by }) => ({
      kind: key.pk,
      id: Number(key.sk),
      attributes: [...new Set(by.map(([attribute]) => attribute))],
    })),
  };
}

/** Without the keys, of which some contain hashes. */
function shownItem({ pk, sk: _, expires, ...attributes }: Item) {
  return {
    kind: pk.slice(0, pk.indexOf('#')),
    ...attributes,
    ...(expires !== undefined && { expires: new Date((expires as number) * 1000).toISOString() }),
  };
}
