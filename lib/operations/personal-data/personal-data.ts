import { type AuditEvent, forgottenName } from '../../audit/audit-entry.ts';
import { auditView, entryOf } from '../../audit/read-audits.ts';
import { emailKey } from '../../mail/address.ts';
import { collectionOf, idText, type Key } from '../../table/keys.ts';
import type { Item, Table } from '../../table/table.ts';
import type { TableScanner } from '../../table/table-scanner.ts';
import { administratorView, type User } from '../../users/user.ts';
import { loginGuardKey } from '../../users/user-items.ts';
import { ITEM_KINDS, ITEMS, kindOf } from '../item-kinds.ts';

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

/** A person who has or had the account with this id. */
export interface Person {
  readonly id: number;
  /** A login that the account has or had; the audit trail has the others. */
  readonly login?: string | undefined;
  /** Absent if the account is deleted. */
  readonly email?: string | undefined;
}

/** The attributes that are read: no password hash, nonce or parameter value is among them. */
export const PERSONAL_ATTRIBUTES: readonly string[] = [
  ...new Set(
    ITEM_KINDS.flatMap(({ personal, personIn }) => [...personal, ...(personIn ? [personIn] : [])]),
  ),
];

/** An entity that somebody has created or changed. */
interface Authored {
  readonly key: Key;
  /** The attributes that name a login, with what they name. */
  readonly by: readonly (readonly [attribute: string, login: unknown])[];
}

/** What the table has about a person, apart from the account itself. */
export interface PersonalItems {
  /** The logins that nobody else has now. */
  readonly logins: ReadonlySet<string>;
  /** The former logins that another account has now: what names them may mean that account. */
  readonly loginsOfOthers: readonly string[];
  readonly own: readonly Item[];
  readonly auditEntries: readonly Item[];
  readonly authored: readonly Authored[];
}

/** The login of a user at the time of an audit entry, and those that it was changed from and to. */
function loginsIn(item: Item): string[] {
  const { targetName, changes = [] } = item as unknown as Pick<
    AuditEvent,
    'targetName' | 'changes'
  >;
  const renamed = changes.filter(({ field }) => field === 'login');
  const logins = [targetName, ...renamed.flatMap(({ from, to }) => [from, to])];
  return logins.filter((login) => login !== undefined) as string[];
}

/** Finds what the table has about a person, with one scan. `scanner` reads PERSONAL_ATTRIBUTES. */
export async function findPersonalItems(
  table: Table,
  scanner: TableScanner,
  person: Person,
  onProgress: (items: number) => void = () => undefined,
): Promise<PersonalItems> {
  const names = new Set(person.login === undefined ? [] : [person.login]);
  const [own, auditEntries, candidates]: [Item[], Item[], Authored[]] = [[], [], []];
  let read = 0;
  for await (const items of scanner.scan()) {
    for (const item of items) {
      const byPerson = item.actorId === person.id;
      const aboutPerson = item.target === `user/${person.id}`;
      if (kindOf(item) === ITEMS.audit && (byPerson || aboutPerson)) {
        auditEntries.push(item);
        if (byPerson) names.add(item.actor as string);
        if (aboutPerson) for (const login of loginsIn(item)) names.add(login);
      } else if (isOwn(item, person)) own.push(item);
      else candidates.push(...authoredIn(item, person));
    }
    read += items.length;
    onProgress(read);
  }
  names.delete(forgottenName(person.id));
  const loginsOfOthers: string[] = [];
  for (const name of names) {
    const guard = await table.get(loginGuardKey(name));
    if (guard && guard.id !== person.id) loginsOfOthers.push(name);
  }
  const logins = new Set([...names].filter((name) => !loginsOfOthers.includes(name)));
  const authored = candidates
    .map(({ key, by }) => ({ key, by: by.filter(([, login]) => logins.has(login as string)) }))
    .filter(({ by }) => by.length > 0);
  return { logins, loginsOfOthers, own, auditEntries, authored };
}

/** Whether the item is the person's, by its key or by the attribute that tells whose it is. */
function isOwn(item: Item, person: Person): boolean {
  const kind = kindOf(item);
  if (kind?.personIn === 'email')
    return person.email !== undefined && emailKey(item.email as string) === emailKey(person.email);
  if (kind?.personIn) return item[kind.personIn] === person.id;
  const isOfUsers = kind?.pk.some((key) => key.endsWith('#<user id>')) === true;
  return isOfUsers && item.pk.endsWith(`#${idText(person.id)}`);
}

function authoredIn(item: Item, person: Person): Authored[] {
  const { pk, sk, createdBy, lastModifiedBy } = item;
  const kind = collectionOf(item);
  const credentials = (item.credentials ?? []) as readonly { readonly createdBy: string }[];
  if (kind === 'INTEGRATION')
    return [{ key: { pk, sk }, by: credentials.map((each) => ['credentials', each.createdBy]) }];
  if (kind !== 'USER' || Number(sk) === person.id) return [];
  const by = Object.entries({ createdBy, lastModifiedBy });
  return [{ key: { pk, sk }, by }];
}
