import { findDefect } from '../integrity/item-kinds.ts';
import type { SecondFactor } from '../second-factor/second-factor.ts';
import { loadDecideCommit } from '../table/change.ts';
import type { Key } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import { attributesAre, set } from '../table/write.ts';
import { userOf } from '../users/user-table.ts';

/** The attributes of a user that an adoption can change, which the scanner must return. */
export const FACTOR_ATTRIBUTES = ['secondFactor', 'pendingFactor'];

export const hasFactor = (item: Item): boolean =>
  FACTOR_ATTRIBUTES.some((name) => item[name] !== undefined);

/** What was voided: 0 or 1 of each. */
interface Voided {
  readonly recoveryCodes: number;
  readonly pendingFactors: number;
}

/**
 * Voids the recovery codes of a user that may have been used since the backup, and a factor that no
 * code has confirmed. A restore brings used recovery codes back; the codes of an authenticator that
 * were used by then have expired. The verification reports a damaged user.
 */
export function adoptFactor(table: Table, key: Key, original: Table | undefined): Promise<Voided> {
  const load = async () => [await table.get(key), await original?.get(key)] as const;
  return loadDecideCommit(table, load, ([item, other]) => {
    const none = { writes: [], result: { recoveryCodes: 0, pendingFactors: 0 } };
    if (!item || findDefect(item)) return none;
    const { secondFactor, pendingFactor } = userOf(item);
    const inOriginal = other && !findDefect(other) ? userOf(other).secondFactor : undefined;
    const adopted = secondFactor && {
      ...secondFactor,
      recoveryCodes: unusedCodes(secondFactor, inOriginal),
    };
    const result = {
      recoveryCodes: Number(secondFactor?.recoveryCodes !== adopted?.recoveryCodes),
      pendingFactors: Number(pendingFactor !== undefined),
    };
    if (result.recoveryCodes + result.pendingFactors === 0) return none;
    const condition = attributesAre({ secondFactor, pendingFactor });
    const writes = [set(key, { secondFactor: adopted, pendingFactor: undefined }, condition)];
    return { writes, result };
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
