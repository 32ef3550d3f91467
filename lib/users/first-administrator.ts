import { auditDays, auditEntry, OPERATOR } from '../audit/audit-entry.ts';
import type { Passwords } from '../passwords/passwords.ts';
import { settleAll } from '../runtime/settle-all.ts';
import { change } from '../table/change.ts';
import { rosterKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { type Condition, withCondition } from '../table/write.ts';
import { newAccount } from './create-user.ts';
import type { User } from './user.ts';
import { auditEventFor, creation } from './user-table.ts';

const noAdministrators: Condition = {
  condition: 'attribute_not_exists(#ids)',
  names: { '#ids': 'ids' },
  onConditionFailed: 'retry',
};

/**
 * Makes the account that administers a table in which nobody does yet; all others are made through the API. Undefined,
 * and nothing changed, when the table has an administrator. Fails with login-taken, email-taken.
 */
export async function createFirstAdministrator(
  table: Table,
  passwords: Passwords,
  { password, ...person }: { login: string; email: string; password: string; firstName?: string; lastName?: string },
): Promise<User | undefined> {
  let reserved: Promise<readonly [number, string]> | undefined;
  const load = async () => {
    const roster = await table.get(rosterKey);
    if (roster?.ids) return undefined;
    // Whoever is refused uses up no id, and a further try none either.
    reserved ??= settleAll([table.nextId('USER'), passwords.hash(password)]);
    return reserved;
  };
  return change(table, load, (loaded, now) => {
    if (!loaded) return { writes: [], result: undefined };
    const [id, passwordHash] = loaded;
    const authorities = ['ROLE_ADMIN', 'ROLE_USER'] as const;
    const fields = { ...person, id, passwordHash, authorities, activated: true, langKey: 'en' };
    const user = newAccount(fields, 'system', now);
    const writes = [
      ...creation(user).map((write) => (write.key === rosterKey ? withCondition(write, noAdministrators) : write)),
      auditEntry(OPERATOR, auditEventFor('user.created', user), { now, auditDays: auditDays() }),
    ];
    return { writes, result: user };
  });
}
