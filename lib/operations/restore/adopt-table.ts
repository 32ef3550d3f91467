import { setTimeout as wait } from 'node:timers/promises';
import {
  type Integration,
  moduleToRestart,
  type StoredCredential,
} from '../../integrations/integration.ts';
import { credentialKey } from '../../integrations/integration-items.ts';
import { integrationChanged, integrationOf } from '../../integrations/integration-table.ts';
import { commit, loadDecideCommit } from '../../table/change.ts';
import { type ItemKind, sequenceKey } from '../../table/item-kind.ts';
import {
  collectionOf,
  type Key,
  PARAMETERS_PER_INTEGRATION_EVER,
  SEQUENCES,
  type Sequence,
} from '../../table/keys.ts';
import type { Table } from '../../table/table.ts';
import type { TableScanner } from '../../table/table-scanner.ts';
import { attributesAre, EXISTS, nextVersion, remove, set } from '../../table/write.ts';
import { NotGatehouseTable } from '../../table/wrong-table.ts';
import { notBeforeKey } from '../../tokens/token.ts';
import type { SecondFactor } from '../../users/user-factor.ts';
import { MAILED_KEY_SECONDS, rosterKey } from '../../users/user-items.ts';
import { userOf } from '../../users/user-table.ts';
import { findDefect } from '../integrity/find-defect.ts';
import { ITEMS, kindOf } from '../item-kinds.ts';

/**
 * How many ids are skipped: more than were assigned between the backup and the loss of the table.
 * Over 35 days, the maximum of point-in-time recovery, that is one creation every three seconds.
 */
export const SKIPPED_IDS = 1_000_000;

/**
 * How many ids of parameters are skipped in each integration. Over 35 days, that is one creation
 * every five minutes. An integration has 999,999 ids of parameters: more could use them up within a
 * few adoptions.
 */
export const SKIPPED_PARAMETER_IDS = 10_000;

/**
 * As many changes are skipped as ids, so that reports of restarts that were sent since the backup
 * are out of date.
 */
const SKIPPED_CHANGES = 1_000_000;

/**
 * How much the clock of an adoption may differ from the clock of the functions, which issue tokens.
 * The caller of adoptTable checks it.
 */
export const CLOCK_DIFFERENCE_SECONDS_MAX = 30;

/** The attributes that the scan of an adoption must return. */
export const ADOPTED_ATTRIBUTES: readonly string[] = ['secondFactor', 'invitedAt', 'tokens'];

interface Options {
  readonly skippedIds?: number;
  /**
   * The table that was backed up, if it still exists: none of its ids is assigned again, however
   * many they are, and recovery codes that are unused there stay valid.
   */
  readonly original?: Table | undefined;
  /** Receives the number of items read so far. */
  readonly onProgress?: (items: number) => void;
}

/** The outcome of an adoption. */
interface Adoption {
  readonly sequences: readonly {
    readonly kind: string;
    readonly before: number;
    readonly after: number;
  }[];
  /** The number of deleted keys of resets, invitations and new addresses. */
  readonly mailedKeys: number;
  /** The number of deleted public keys. */
  readonly publicKeys: number;
  /** The number of ended sessions. */
  readonly sessions: number;
  /** The number of users whose recovery codes are void, all or some. */
  readonly recoveryCodes: number;
  /** The number of integrations whose module must restart. */
  readonly restarts: number;
  /** The number of deleted credentials of modules. */
  readonly credentials: number;
  /** Tokens issued earlier are rejected. */
  readonly notBefore: Date;
}

/**
 * Prepares a table that was restored from a backup for service: no id is assigned twice, and no
 * earlier token or mailed key is accepted, nor any token of a retired signing key, nor a recovery
 * code that may have been used since, nor a credential of a module that may have been deleted. It
 * can be repeated; every run skips more ids and invalidates all tokens. Running functions reject
 * them within five minutes, the maximum age of their key set. Fails with NotGatehouseTable before
 * any change, with unavailable, or with SDK errors.
 */
export async function adoptTable(
  table: Table,
  scanner: TableScanner,
  { skippedIds = SKIPPED_IDS, original, onProgress = () => undefined }: Options = {},
): Promise<Adoption> {
  if (!(await table.get(rosterKey))) throw new NotGatehouseTable();
  const sequences: Adoption['sequences'][number][] = [];
  for (const kind of SEQUENCES) {
    const atLeast = original ? await lastId(original, kind) : 0;
    sequences.push(await advanceSequence(table, kind, skippedIds, atLeast));
  }
  const seconds = await rejectIssuedTokens(table);
  const counts = await adoptItems(table, scanner, original, onProgress);
  // A token that is issued after this function returns is accepted.
  await wait(Math.max(0, seconds * 1000 - Date.now()));
  return { sequences, ...counts, notBefore: new Date(seconds * 1000) };
}

/** The last id of a kind that a table has assigned. */
export const lastId = async (table: Table, kind: Sequence): Promise<number> =>
  ((await table.get(sequenceKey(kind)))?.n as number | undefined) ?? 0;

async function advanceSequence(table: Table, kind: Sequence, skippedIds: number, atLeast: number) {
  const key = sequenceKey(kind);
  return loadDecideCommit(
    table,
    () => table.get(key),
    (item) => {
      const before = (item?.n as number | undefined) ?? 0;
      const after = Math.max(before + skippedIds, atLeast);
      return {
        writes: [set(key, { n: after }, attributesAre({ n: item?.n }))],
        result: { kind, before, after },
      };
    },
  );
}

/** Returns the second from which on issued tokens are accepted. */
async function rejectIssuedTokens(table: Table): Promise<number> {
  return loadDecideCommit(
    table,
    () => table.get(notBeforeKey),
    (item, now) => {
      // `iat` has whole seconds, so the next second is the first in which no token has been issued.
      const next = Math.floor(now / 1000) + 1;
      const before = (item?.seconds as number | undefined) ?? 0;
      // Keeps the later time of an adoption whose clock was ahead, unless it is so late that the
      // clock must have been wrong.
      const isWrong = before > next + 2 * CLOCK_DIFFERENCE_SECONDS_MAX;
      const seconds = isWrong ? next : Math.max(before, next);
      return {
        writes: [set(notBeforeKey, { seconds }, attributesAre({ seconds: item?.seconds }))],
        result: seconds,
      };
    },
  );
}

async function adoptItems(
  table: Table,
  scanner: TableScanner,
  original: Table | undefined,
  onProgress: (items: number) => void,
): Promise<Omit<Adoption, 'sequences' | 'notBefore'>> {
  const counts = { recoveryCodes: 0, restarts: 0, credentials: 0 };
  const deleted = new Map<ItemKind, number>();
  let read = 0;
  for await (const items of scanner.scan()) {
    for (const item of items) {
      onProgress(++read);
      const { pk, sk, secondFactor, invitedAt, tokens } = item;
      const collection = collectionOf(item);
      if (collection === 'INTEGRATION') {
        const adopted = await adoptIntegration(table, { pk, sk }, original);
        if (adopted) counts.restarts++;
        counts.credentials += adopted?.deletedCredentials ?? 0;
      }
      if (collection === 'USER') {
        if (secondFactor && (await adoptFactor(table, { pk, sk }, original)))
          counts.recoveryCodes++;
        if (invitedAt || tokens) await endDeleted(table, { pk, sk });
      }
      const kind = kindOf(item);
      if (kind?.onRestore !== 'delete') continue;
      // A missing item has expired or was used; the outcome `changed` is a success.
      while ((await commit(table, [remove({ pk, sk }, EXISTS)])) === 'busy') await wait(50);
      deleted.set(kind, (deleted.get(kind) ?? 0) + 1);
    }
  }
  const deletedOf = (...kinds: ItemKind[]) =>
    kinds.reduce((sum, kind) => sum + (deleted.get(kind) ?? 0), 0);
  return {
    ...counts,
    mailedKeys: deletedOf(ITEMS.resetKey, ITEMS.pendingEmail),
    publicKeys: deletedOf(ITEMS.publicKey),
    sessions: deletedOf(ITEMS.session),
  };
}

/**
 * Skips ids of parameters, and flags the module to restart: it may run parameters that the restore
 * has undone. Deletes its credentials, which may have been deleted since the backup, except those
 * that the original table still has. Returns undefined if the integration was not changed. The
 * verification reports a damaged one.
 */
async function adoptIntegration(
  table: Table,
  key: Key,
  original: Table | undefined,
): Promise<{ deletedCredentials: number } | undefined> {
  const load = () => Promise.all([table.get(key), original?.get(key)]);
  return loadDecideCommit(table, load, ([item, originalItem], now) => {
    if (!item || findDefect(item)) return { writes: [], result: undefined };
    const before = integrationOf(item);
    const { credentials = [] } = before;
    const isIntact = originalItem !== undefined && !findDefect(originalItem);
    const valid = isIntact ? integrationOf(originalItem).credentials : undefined;
    const isValid = ({ clientId }: StoredCredential) =>
      valid?.some((credential) => credential.clientId === clientId);
    const kept = credentials.filter(isValid);
    const deleted = credentials.filter((credential) => !isValid(credential));
    const skippedTo = before.parametersEver + SKIPPED_PARAMETER_IDS;
    const after: Integration = {
      ...before,
      parametersEver: Math.min(skippedTo, PARAMETERS_PER_INTEGRATION_EVER - 1),
      module: moduleToRestart(before.module, SKIPPED_CHANGES, now),
      ...(credentials.length > 0 && { credentials: kept }),
      version: nextVersion(before.version),
    };
    return {
      writes: [
        integrationChanged(before, after, moduleRevisionAfterRestore(before, now)),
        ...deleted.map(({ clientId }) => remove(credentialKey(clientId))),
      ],
      result: { deletedCredentials: deleted.length },
    };
  });
}

/**
 * The number of a configuration becomes at least the number of the second: it is then higher than
 * every number since the backup, so that no module takes a configuration for one that it has. It
 * also exceeds the numbers after the adoption of an earlier restore, unless that was repeated: each
 * repetition runs ahead of the clock by SKIPPED_CHANGES seconds.
 */
const moduleRevisionAfterRestore = ({ moduleRevision }: Integration, now: number): number =>
  Math.max(moduleRevision + SKIPPED_CHANGES, Math.floor(now / 1000));

/**
 * Voids the recovery codes of a user that may have been used since the backup: a restore brings
 * them back. The codes of an authenticator that were used by then have expired. Returns whether
 * there were any. The verification reports a damaged user.
 */
function adoptFactor(table: Table, key: Key, original: Table | undefined): Promise<boolean> {
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

/** Ends the invitation and the API tokens of a user, whose items the adoption deletes. */
function endDeleted(table: Table, key: Key): Promise<void> {
  return loadDecideCommit(
    table,
    () => table.get(key),
    (item, now) => {
      const [invitedAt, tokens] = [item?.invitedAt, item?.tokens];
      const ended = new Date(now - MAILED_KEY_SECONDS * 1000).toISOString();
      const isInvited = typeof invitedAt === 'string' && invitedAt > ended;
      const after = {
        ...(isInvited && { invitedAt: ended }),
        ...(tokens ? { tokens: undefined } : {}),
      };
      const isChanged = Object.keys(after).length > 0;
      return {
        writes: isChanged ? [set(key, after, attributesAre({ invitedAt, tokens }))] : [],
        result: undefined,
      };
    },
  );
}
