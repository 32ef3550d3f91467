import { auditEntry, operator } from '../../audit/audit-entry.ts';
import { pick } from '../../contract/entity-fields.ts';
import { emailKey } from '../../mail/address.ts';
import { isVerifiable } from '../../passwords/passwords.ts';
import type { Item, Table } from '../../table/table.ts';
import { attributesAre, check } from '../../table/write.ts';
import { newAccount } from '../../users/create-user.ts';
import { EDITABLE_USER_FIELDS, type User } from '../../users/user.ts';
import { emailGuardKey, loginGuardKey } from '../../users/user-items.ts';
import {
  auditEventFor,
  creation,
  findUser,
  isReservedLogin,
  userChanges,
} from '../../users/user-table.ts';
import { type Importer, type Known, markerKeyOf } from './importer.ts';
import type { RecordError, UserRecord } from './record.ts';

const LOGIN_TAKEN = { field: 'login', code: 'login-taken' } as const;
const EMAIL_TAKEN = { field: 'email', code: 'email-taken' } as const;

/** How often a record is looked up before it is rejected. */
const LOOK_UPS_MAX = 3;

/**
 * Imports users. A user with the login and the mailbox of a record is the one that the record
 * describes. With `again`, deleted users are created again.
 */
export function openUserImporter(
  table: Table,
  { pepperKeys, again }: { readonly pepperKeys: readonly string[]; readonly again: boolean },
): Importer<UserRecord> {
  /** The lines that have them. */
  const logins = new Map<string, number>();
  const mailboxes = new Map<string, number>();
  const named = async (item: Item | undefined) => item && findUser(table, item.id as number);
  return {
    begin(record) {
      const { login, email, passwordHash } = record;
      const mailbox = emailKey(email);
      const markerKey = markerKeyOf('USER', login, mailbox);
      const isDescribed = (user: User | undefined): user is User =>
        user?.login === login && emailKey(user.email) === mailbox;
      const lookUp = async (triesLeft: number): Promise<Known | RecordError> => {
        if (passwordHash && !isVerifiable(passwordHash, pepperKeys))
          return { field: 'passwordHash', code: 'other-pepper-key' };
        const guards = [loginGuardKey(login), emailGuardKey(mailbox)];
        const [marker, loginGuard, emailGuard] = await table.getAll([markerKey, ...guards]);
        const imported = await named(marker);
        const holder = isDescribed(imported) ? imported : await named(loginGuard);
        if (isDescribed(holder)) {
          const { id } = holder;
          const checks = guards.map((key) => check(key, attributesAre({ id })));
          return { outcome: 'present', id, marker, checks };
        }
        // The items can be of different moments, between which the user was changed.
        if ((loginGuard ?? emailGuard) && triesLeft > 0) return lookUp(triesLeft - 1);
        if (imported) return { outcome: 'changed', id: imported.id, marker };
        if (marker && !again) return { outcome: 'removed', id: marker.id as number, marker };
        if (isReservedLogin(login)) return { ...LOGIN_TAKEN, detail: 'reserved' };
        const byUser = ({ id }: Item) => ({ detail: `taken by user ${id}` });
        if (loginGuard) return { ...LOGIN_TAKEN, ...byUser(loginGuard) };
        return emailGuard
          ? { ...EMAIL_TAKEN, ...byUser(emailGuard) }
          : { outcome: 'imported', marker };
      };
      return {
        markerKey,

        lookUp: () => lookUp(LOOK_UPS_MAX - 1),

        note(line) {
          const byLine = (other: number) => ({ detail: `taken by line ${other}` });
          const [loginLine, mailboxLine] = [logins.get(login), mailboxes.get(mailbox)];
          if (loginLine !== undefined) return { ...LOGIN_TAKEN, ...byLine(loginLine) };
          if (mailboxLine !== undefined) return { ...EMAIL_TAKEN, ...byLine(mailboxLine) };
          logins.set(login, line);
          mailboxes.set(mailbox, line);
          return undefined;
        },

        async prepare() {
          const id = await table.nextId('USER');
          const writesAt = (now: number) => {
            const user = userOf(record, id, now);
            const event = auditEventFor('user.created', user, userChanges(undefined, user));
            // If the login or the address is taken meanwhile, the record is looked up again.
            const created = creation(user).map((write) => ({
              ...write,
              onConditionFailed: 'retry' as const,
            }));
            return [...created, auditEntry(operator('import'), event, now)];
          };
          return { id, writesAt };
        },
      };
    },
  };
}

function userOf(record: UserRecord, id: number, now: number): User {
  const { createdBy, createdDate, lastModifiedBy, lastModifiedDate } = record;
  const passwordHash = record.passwordHash ?? undefined;
  const user = newAccount(
    { ...pick(record, EDITABLE_USER_FIELDS), id, passwordHash },
    createdBy,
    now,
  );
  return {
    ...user,
    createdDate: createdDate ?? user.createdDate,
    lastModifiedBy: lastModifiedBy ?? createdBy,
    lastModifiedDate: lastModifiedDate ?? createdDate ?? user.lastModifiedDate,
  };
}
