import { Failure } from '../contract/failure.ts';
import { countMail, type MailCount, mailCountKey, mailsTo } from '../mail/mail-limit.ts';
import { invited } from '../mail/outbox.ts';
import { entityKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { attributesAre, set } from '../table/write.ts';
import type { AuthorizedCaller } from './caller.ts';
import { invitationAt } from './user.ts';
import { auditEventFor, findUserByLogin } from './user-table.ts';

/**
 * Invites an activated user without a password or an identity again. Fails with not-found,
 * not-invitable for any other user and one whom no mail reaches, too-many-mails and forbidden.
 */
export function inviteUser(table: Table, caller: AuthorizedCaller, login: string): Promise<void> {
  return caller.change({
    load: async () => {
      const user = await findUserByLogin(table, login);
      if (!user) throw new Failure('not-found');
      return { user, count: await table.get(mailCountKey(user.id, 'invitation')) };
    },
    decide: ({ loaded: { user, count }, callerUser, now }) => {
      const { id, version, passwordHash, passwordChanges, identities } = user;
      const invitedAt = invitationAt(user, now);
      if (!user.activated || passwordHash || identities || !invitedAt)
        throw new Failure('not-invitable');
      const counted = countMail(
        mailCountKey(id, 'invitation'),
        count as MailCount | undefined,
        now,
        mailsTo(user, 'invitation'),
      );
      if (!counted) {
        const retryAfter = Math.max(1, Math.ceil(Number(count?.expires) - now / 1000));
        throw new Failure('too-many-mails', { retryAfter });
      }
      const isUnchanged = attributesAre({ version, passwordChanges });
      return {
        writes: [
          set(entityKey('USER', id), { invitedAt }, isUnchanged),
          counted,
          invited(user, callerUser, now),
        ],
        result: undefined,
        event: auditEventFor('user.invited', user, []),
      };
    },
  });
}
