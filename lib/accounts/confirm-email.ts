import { auditEntry } from '../audit/audit-entry.ts';
import { Failure } from '../contract/failure.ts';
import type { Source } from '../contract/source.ts';
import { settleAll } from '../runtime/waiting.ts';
import { loadDecideCommit } from '../table/change.ts';
import { entityKey } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import { attributesAre, remove, withConditionOn } from '../table/write.ts';
import type { LoginThrottle } from '../throttle/login-throttle.ts';
import { confirms, type PendingEmail, userIdIn } from '../users/mailed-keys.ts';
import { modify } from '../users/update-user.ts';
import { pendingEmailKey } from '../users/user-items.ts';
import { actorOf, userOf } from '../users/user-table.ts';

/**
 * Gives an account the address that its present mailbox confirms with a mailed key, and notifies
 * the former address. Fails with unknown-key when the key was used, has expired, was never issued
 * or no longer confirms (`confirms`); with email-taken, which leaves the key usable; and with
 * too-many-attempts when the source sends too many requests.
 */
export async function confirmEmail(
  { table, throttle }: { table: Table; throttle: LoginThrottle },
  source: Source,
  key: string,
): Promise<void> {
  const userId = userIdIn(key);
  const userKey = entityKey('USER', userId);
  const pendingKey = pendingEmailKey(userId);
  // Like a reset, a confirmation needs no token: both have one count per source.
  const { count } = await throttle.begin('RESETS', source);
  const counted = count();
  const load = async () => {
    const [, items] = await settleAll([counted, table.getAll([pendingKey, userKey])]);
    const [pending, user] = items as unknown as [PendingEmail?, Item?];
    return pending && user && { pending, user: userOf(user) };
  };
  const decide = (loaded: Awaited<ReturnType<typeof load>>, now: number) => {
    if (!loaded || !confirms(key, loaded.pending, loaded.user, now))
      throw new Failure('unknown-key');
    const { pending, user } = loaded;
    const { writes, event } = modify(
      'account.updated',
      user,
      { email: pending.email },
      { modifier: user, now },
    );
    const actor = actorOf(user, { source: source.address, session: undefined });
    // A new password creates no version, and voids the key.
    const hasSecurityStamp = attributesAre({ securityStamp: user.securityStamp });
    return {
      writes: [
        ...withConditionOn(userKey, hasSecurityStamp, writes),
        remove(pendingKey, attributesAre({ keyHash: pending.keyHash })),
        auditEntry(actor, event, now),
      ],
      result: undefined,
    };
  };
  await loadDecideCommit(table, load, decide);
}
