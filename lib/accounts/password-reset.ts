import { auditEntry } from '../audit/audit-entry.ts';
import { Failure } from '../contract/failure.ts';
import type { Source } from '../contract/source.ts';
import { notified, resetRequested } from '../mail/outbox.ts';
import type { PasswordHasher } from '../passwords/hasher.ts';
import type { PasswordPolicy } from '../passwords/password-policy.ts';
import { settleAll } from '../runtime/waiting.ts';
import { commitWithRetries, loadDecideCommit } from '../table/change.ts';
import { entityKey, type Key } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import { remove } from '../table/write.ts';
import type { LoginThrottle } from '../throttle/login-throttle.ts';
import {
  clearFailures,
  type LoginCounts,
  mayAdmit,
  ownerAdmitted,
} from '../throttle/login-throttle-rules.ts';
import { passwordReset } from '../users/credential-table.ts';
import { hashOf, isUsable, provesMailbox, type StoredResetKey } from '../users/mailed-keys.ts';
import { resetItemKey } from '../users/user-items.ts';
import { actorOf, auditEventFor, userOf } from '../users/user-table.ts';

/**
 * Requests a mail with a reset key for the account with this address. It is one write, the same for
 * every address, so that neither the response nor its time reveals whether the address is known.
 * Fails with too-many-attempts when the source sends too many requests, and with unavailable; both
 * are independent of the address.
 */
export async function requestReset(
  { table, throttle }: { table: Table; throttle: LoginThrottle },
  source: Source,
  address: string,
): Promise<void> {
  const { count } = await throttle.begin('RESETS', source);
  await count();
  await commitWithRetries(table, (now) => [resetRequested(address, source.address, now)]);
}

/**
 * Sets the password of the account to which the key was mailed, and notifies the user by mail. All
 * sessions of the account end. The key proves control of the mailbox, so the request's network
 * becomes known and failed logins are cleared. For a user with a second factor, the network has
 * free attempts of its own instead, once a day. Fails with
 * unknown-key when the key was used, has expired, was never issued, is no longer usable
 * (`isUsable`), or belongs to a deactivated account; with too-many-attempts when the source sends
 * too many requests; and as the policy does, which leaves the key usable.
 */
export async function finishReset(
  {
    table,
    hasher,
    policy,
    throttle,
  }: { table: Table; hasher: PasswordHasher; policy: PasswordPolicy; throttle: LoginThrottle },
  source: Source,
  key: string,
  newPassword: string,
): Promise<void> {
  policy.requireLength('newPassword', newPassword);
  const itemKey = resetItemKey(hashOf(key));
  const { count, items } = await throttle.begin('RESETS', source, [itemKey]);
  const [issuedKey] = items as unknown as [StoredResetKey | undefined];
  const counted = count();
  let hashing: Promise<string> | undefined;
  const load = async () => {
    const [, found] = await settleAll([counted, readKeyAndUser(table, itemKey, issuedKey)]);
    // No hash is computed for a key that the decision would reject.
    if (!found || !isUsable(found.storedKey, found.user, Date.now())) return undefined;
    policy.requireUncommon(newPassword, found.user);
    hashing ??= hasher.hash(newPassword);
    const [passwordHash, failureKeys] = await settleAll([
      hashing,
      throttle.keysOf(found.user.login, source),
    ]);
    const admits = found.user.secondFactor && mayAdmit(found.user, Date.now());
    const [network] = admits ? await table.getAll([failureKeys.network]) : [];
    return { ...found, passwordHash, failureKeys, network: network as LoginCounts['network'] };
  };
  const decide = (loaded: Awaited<ReturnType<typeof load>>, now: number) => {
    if (!loaded || !isUsable(loaded.storedKey, loaded.user, now)) throw new Failure('unknown-key');
    const { storedKey, user, passwordHash, failureKeys, network } = loaded;
    const isProof = user.emailUnproven && provesMailbox(storedKey, user);
    // Failures can be guesses of a code, which the mailbox does not prove.
    const admits = user.secondFactor && mayAdmit(user, now);
    const proven = {
      ...(isProof && { emailUnproven: undefined }),
      ...(admits && { admittedAt: now }),
    };
    const actor = actorOf(user, { source: source.address, session: undefined });
    const writes = [
      passwordReset(user, passwordHash, proven),
      // If it has been used meanwhile, the password is another one.
      remove(itemKey),
      ...(user.secondFactor ? [] : clearFailures(failureKeys, now)),
      ...(admits ? ownerAdmitted(failureKeys, network, now) : []),
      notified('passwordChanged', user, now),
      auditEntry(actor, auditEventFor('password.reset', user, []), now),
    ];
    return { writes, result: undefined };
  };
  await loadDecideCommit(table, load, decide);
}

/** Reads the key again, because it may have been used since, with its user. */
async function readKeyAndUser(table: Table, itemKey: Key, issuedKey: StoredResetKey | undefined) {
  if (!issuedKey) return undefined;
  const { userId } = issuedKey;
  const items = await table.getAll([itemKey, entityKey('USER', userId)]);
  const [storedKey, user] = items as unknown as [StoredResetKey?, Item?];
  return storedKey && user && { storedKey, user: userOf(user) };
}
