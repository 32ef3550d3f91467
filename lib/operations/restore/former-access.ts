import { type Decision, loadDecideCommit } from '../../table/change.ts';
import type { Item, Table } from '../../table/table.ts';
import { accessVoided } from '../../users/credential-table.ts';
import type { Identity, User } from '../../users/user.ts';
import { findUser, releaseIdentity, userOf } from '../../users/user-table.ts';
import { findDefect } from '../integrity/find-defect.ts';
import { itemsOf } from '../transfer/entities.ts';
import { lastId } from './adopt-table.ts';

/*
 * A restore brings back accounts that were deleted or deactivated since the backup, and former
 * roles, passwords, second factors and identities. If the original table still exists, nobody
 * enters with a former password, or with an identity that it does not let in. Former roles return
 * to users who can read their mailbox, or whose identity is still linked.
 */

/** An account whose access has changed since the backup, or of which an identity is not let in. */
interface ChangedAccess {
  readonly id: number;
  /** Whether more has changed than its identities. */
  readonly voidsPassword: boolean;
  /** What the original lets in: none if the account is gone, deactivated or damaged. */
  readonly identities: readonly Identity[];
}

const accessOf = (item: Item): string => {
  const { activated, authorities, passwordChanges, factorChanges } = item;
  return JSON.stringify([activated, authorities, passwordChanges, factorChanges]);
};

const identitiesLetInBy = (item: Item): readonly Identity[] =>
  item.activated && !findDefect(item) ? (userOf(item).identities ?? []) : [];

/** The identities of a user that are not among these. */
const formerOf = (user: User, letIn: readonly Identity[]): Identity[] =>
  (user.identities ?? []).filter(
    ({ issuer, subject }) =>
      !letIn.some((identity) => identity.issuer === issuer && identity.subject === subject),
  );

/**
 * The accounts whose access has changed since the backup or that have been deleted, and those with
 * an identity that the original does not let in. Accounts that the restored table has received
 * since an earlier adoption are left out: their ids lie beyond the ids of the original. Undefined
 * if the tables have no account in common.
 */
export async function findChangedAccess(
  table: Table,
  original: Table,
): Promise<readonly ChangedAccess[] | undefined> {
  const originals = new Map<
    unknown,
    { incarnation: unknown; access: string; identities: readonly Identity[] }
  >();
  for await (const item of itemsOf(original, 'USER'))
    originals.set(item.id, {
      incarnation: item.incarnation,
      access: accessOf(item),
      identities: identitiesLetInBy(item),
    });
  const last = await lastId(original, 'USER');
  const changed: ChangedAccess[] = [];
  let haveCommonAccount = false;
  for await (const item of itemsOf(table, 'USER')) {
    if (findDefect(item)) continue;
    const id = item.id as number;
    const found = originals.get(id);
    const same = found?.incarnation === item.incarnation ? found : undefined;
    haveCommonAccount ||= same !== undefined;
    if (!same && id > last) continue;
    const identities = same?.identities ?? [];
    const voidsPassword = same?.access !== accessOf(item);
    if (voidsPassword || formerOf(userOf(item), identities).length > 0)
      changed.push({ id, voidsPassword, identities });
  }
  return haveCommonAccount ? changed : undefined;
}

/**
 * Voids the passwords of accounts of which more than the identities has changed, and unlinks the
 * identities that the original does not let in. Returns how many accounts had such a password or
 * identity.
 */
export async function voidAccess(
  table: Table,
  changed: readonly ChangedAccess[],
): Promise<{ passwords: number; identities: number }> {
  const voided = { passwords: 0, identities: 0 };
  for (const each of changed) {
    const { isVoided, isUnlinked } = await loadDecideCommit(
      table,
      () => findUser(table, each.id),
      (user) => accessDecision(user, each),
    );
    if (isVoided) voided.passwords++;
    if (isUnlinked) voided.identities++;
  }
  return voided;
}

function accessDecision(
  user: User | undefined,
  { voidsPassword, identities }: ChangedAccess,
): Decision<{ isVoided: boolean; isUnlinked: boolean }> {
  const former = user ? formerOf(user, identities) : [];
  const isVoided = voidsPassword && user?.passwordHash !== undefined;
  const isUnlinked = former.length > 0;
  return {
    writes:
      user && (isVoided || isUnlinked)
        ? [accessVoided(user, { voidsPassword: isVoided, former }), ...former.map(releaseIdentity)]
        : [],
    result: { isVoided, isUnlinked },
  };
}
