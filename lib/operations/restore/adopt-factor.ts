import type { SecondFactor } from '../../second-factor/user-factor.ts';
import { loadDecideCommit } from '../../table/change.ts';
import type { Key } from '../../table/keys.ts';
import type { Table } from '../../table/table.ts';
import { attributesAre, set } from '../../table/write.ts';
import { userOf } from '../../users/user-table.ts';
import { findDefect } from '../integrity/find-defect.ts';

/**
 * Voids the recovery codes of a user that may have been used since the backup: a restore brings
 * them back. The codes of an authenticator that were used by then have expired. Returns whether
 * there were any. The verification reports a damaged user.
 */
export function adoptFactor(table: Table, key: Key, original: Table | undefined): Promise<boolean> {
  const load = async () => [await table.get(key), await original?.get(key)] as const;
  return loadDecideCommit(table, load, ([item, other]) => {
    const secondFactor = item && !findDefect(item) ? userOf(item).secondFactor : undefined;
    if (!secondFactor) return { writes: [], result: false };
    const inOriginal = other && !findDefect(other) ? userOf(other).secondFactor : undefined;
    const recoveryCodes = unusedCodes(secondFactor, inOriginal);
    if (recoveryCodes === secondFactor.recoveryCodes) return { writes: [], result: false };
    const adopted = { secondFactor: { ...secondFactor, recoveryCodes } };
    return { writes: [set(key, adopted, attributesAre({ secondFactor }))], result: true };
  });
}

/**
 * The recovery codes that were used in neither table. Their nonces identify them. Once void, a code
 * stays void, however often adoptions are repeated.
 */
const unusedCodes = (restored: SecondFactor, original: SecondFactor | undefined): number =>
  restored.nonce === original?.nonce && restored.recoveryNonce === original.recoveryNonce
    ? restored.recoveryCodes & original.recoveryCodes
    : 0;
