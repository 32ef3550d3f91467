import { auditEntry, OPERATOR } from '../audit/audit-entry.ts';
import { pick } from '../contract/entity-fields.ts';
import { isVerifiable } from '../passwords/passwords.ts';
import { changeWithoutLoad } from '../table/change.ts';
import { emailGuardKey, loginGuardKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { newAccount } from '../users/create-user.ts';
import { emailKey, formerEmailKeys } from '../users/email-key.ts';
import { EDITABLE_USER_FIELDS, type User } from '../users/user.ts';
import { auditEventFor, creation, findUser } from '../users/user-table.ts';
import type { Importer } from './importer.ts';
import type { UserRecord } from './record.ts';

const LOGIN_TAKEN = { field: 'login', code: 'login-taken' } as const;
const EMAIL_TAKEN = { field: 'email', code: 'email-taken' } as const;

/** Imports users. A user with the login and the mailbox of a record is the one that the record describes. */
export function openUserImporter(table: Table, pepperKeys: readonly string[]): Importer<UserRecord> {
  const logins = new Set<string>();
  const mailboxes = new Set<string>();
  return {
    async lookUp({ login, email, passwordHash }) {
      if (passwordHash && !isVerifiable(passwordHash, pepperKeys))
        return { field: 'passwordHash', code: 'other-pepper-key' };
      const mailboxKeys = [emailKey(email), ...formerEmailKeys(email)];
      const guards = [loginGuardKey(login), ...mailboxKeys.map(emailGuardKey)];
      const [loginGuard, ...emailGuards] = await table.getAll(guards);
      const user = loginGuard && (await findUser(table, loginGuard.id as number));
      if (user?.login === login && emailKey(user.email) === emailKey(email)) return 1;
      if (loginGuard) return LOGIN_TAKEN;
      return emailGuards.some(Boolean) ? EMAIL_TAKEN : 0;
    },

    note({ login, email }) {
      if (logins.has(login)) return LOGIN_TAKEN;
      const mailbox = emailKey(email);
      if (mailboxes.has(mailbox)) return EMAIL_TAKEN;
      logins.add(login);
      mailboxes.add(mailbox);
      return 0;
    },

    async write(record) {
      const id = await table.nextId('USER');
      await changeWithoutLoad(table, (now) => {
        const user = userOf(record, id, now);
        return [...creation(user), auditEntry(OPERATOR, auditEventFor('user.created', user), now)];
      });
    },
  };
}

function userOf(record: UserRecord, id: number, now: number): User {
  const { createdBy, createdDate, lastModifiedBy, lastModifiedDate } = record;
  const passwordHash = record.passwordHash ?? undefined;
  const user = newAccount({ ...pick(record, EDITABLE_USER_FIELDS), id, passwordHash }, createdBy, now);
  return {
    ...user,
    createdDate: createdDate ?? user.createdDate,
    lastModifiedBy: lastModifiedBy ?? createdBy,
    lastModifiedDate: lastModifiedDate ?? createdDate ?? user.lastModifiedDate,
  };
}
