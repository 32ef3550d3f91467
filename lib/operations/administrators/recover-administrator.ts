import { auditEntry, operator } from '../../audit/audit-entry.ts';
import { notified } from '../../mail/outbox.ts';
import { loadDecideCommit } from '../../table/change.ts';
import type { Table } from '../../table/table.ts';
import { accessRecovered } from '../../users/credential-table.ts';
import type { User } from '../../users/user.ts';
import { administers, auditEventFor, findUserByLogin } from '../../users/user-table.ts';

/** What an operator does for an administrator who cannot log in. */
export interface Recovery {
  readonly removesFactor: boolean;
  /** Returns the hash of the new password; undefined if the password stays. Called at most once. */
  readonly hashPassword: (() => Promise<string>) | undefined;
}

/** Why an operator's command changes nothing about an administrator. */
export type Refused =
  | { readonly outcome: 'unknown-login' }
  | { readonly outcome: 'not-administrator' | 'no-factor'; readonly user: User };

/** Finds the administrator whom an operator names. */
export async function findAdministrator(
  table: Table,
  login: string,
  needsFactor: boolean,
): Promise<Refused | { readonly outcome: 'found'; readonly user: User }> {
  const user = await findUserByLogin(table, login);
  if (!user) return { outcome: 'unknown-login' };
  if (!administers(user)) return { outcome: 'not-administrator', user };
  if (needsFactor && !user.secondFactor) return { outcome: 'no-factor', user };
  return { outcome: 'found', user };
}

/** The outcome. Nothing has changed, unless the administrator is recovered. */
type RecoveryOutcome = Refused | { readonly outcome: 'recovered'; readonly user: User };

/**
 * Lets an administrator log in again who has lost the second factor, the password or both, for
 * example if no other administrator is left. Ends all their sessions and notifies them by mail.
 * Other users are helped by an administrator. Fails with unavailable.
 */
export async function recoverAdministrator(
  table: Table,
  login: string,
  { removesFactor, hashPassword }: Recovery,
): Promise<RecoveryOutcome> {
  let hash: Promise<string> | undefined;
  const load = async () => {
    const found = await findAdministrator(table, login, removesFactor);
    if (found.outcome !== 'found') return found;
    hash ??= hashPassword?.();
    return { outcome: 'recovered', user: found.user, passwordHash: await hash } as const;
  };
  return loadDecideCommit<Awaited<ReturnType<typeof load>>, RecoveryOutcome>(
    table,
    load,
    (loaded, now) => {
      if (loaded.outcome !== 'recovered') return { writes: [], result: loaded };
      const { outcome, user, passwordHash } = loaded;
      const record = (action: 'secondFactor.removed' | 'password.reset') =>
        auditEntry(operator('first-admin'), auditEventFor(action, user, []), now);
      const writes = [
        accessRecovered(user, { removesFactor, passwordHash }),
        ...(removesFactor
          ? [notified('secondFactorChanged', user, now), record('secondFactor.removed')]
          : []),
        ...(passwordHash === undefined
          ? []
          : [notified('passwordChanged', user, now), record('password.reset')]),
      ];
      return { writes, result: { outcome, user } };
    },
  );
}
