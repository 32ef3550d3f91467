import { auditEntry, OPERATOR_NAME, operator } from '../../audit/audit-entry.ts';
import type { PasswordHasher } from '../../passwords/hasher.ts';
import { settleAll } from '../../runtime/waiting.ts';
import { loadDecideCommit } from '../../table/change.ts';
import type { Table } from '../../table/table.ts';
import { attributesAre, withConditionOn } from '../../table/write.ts';
import { newAccount } from '../../users/create-user.ts';
import type { User } from '../../users/user.ts';
import { rosterKey } from '../../users/user-items.ts';
import { auditEventFor, creation, userChanges } from '../../users/user-table.ts';

const noAdministrators = attributesAre({ ids: undefined });

/**
 * Creates the first administrator; all other accounts are created through the API. Returns
 * undefined and changes nothing when the table already has an administrator. Fails with
 * login-taken, email-taken.
 */
export async function createFirstAdministrator(
  table: Table,
  hasher: PasswordHasher,
  {
    password,
    ...person
  }: { login: string; email: string; password: string; firstName?: string; lastName?: string },
): Promise<User | undefined> {
  let idAndHash: Promise<readonly [number, string]> | undefined;
  const load = async () => {
    const roster = await table.get(rosterKey);
    if (roster?.ids) return undefined;
    // Only when they are needed, and once for all retries.
    idAndHash ??= settleAll([table.nextId('USER'), hasher.hash(password)]);
    return idAndHash;
  };
  return loadDecideCommit(table, load, (loaded, now) => {
    if (!loaded) return { writes: [], result: undefined };
    const [id, passwordHash] = loaded;
    const authorities = ['ROLE_ADMIN', 'ROLE_USER'] as const;
    const fields = { ...person, id, passwordHash, authorities, activated: true, langKey: 'en' };
    const user = newAccount(fields, OPERATOR_NAME, now);
    const event = auditEventFor('user.created', user, userChanges(undefined, user));
    const writes = [
      ...withConditionOn(rosterKey, noAdministrators, creation(user)),
      auditEntry(operator('first-admin'), event, now),
    ];
    return { writes, result: user };
  });
}
