import { describe, expect, it, vi } from 'vitest';
import { auditEntry, operator } from '../../lib/audit/audit-entry.ts';
import { Failure } from '../../lib/contract/failure.ts';
import type { MailContent, Recipient } from '../../lib/mail/mail.ts';
import { allResetsKey, mailboxResetsKey, mailCountKey } from '../../lib/mail/mail-limit.ts';
import { currentDeadline } from '../../lib/runtime/execution-environment.ts';
import { deliverBatch } from '../../lib/stream/deliver-batch.ts';
import { deliverMail } from '../../lib/stream/deliver-mail.ts';
import { logAudit } from '../../lib/stream/log-audit.ts';
import { entityKey } from '../../lib/table/keys.ts';
import type { Item } from '../../lib/table/table.ts';
import { put, set, type Write } from '../../lib/table/write.ts';
import { mailboxHashOf } from '../../lib/users/mailed-keys.ts';
import type { User } from '../../lib/users/user.ts';
import { emailGuardKey } from '../../lib/users/user-items.ts';
import { awsError, cancelledBy } from '../support/doubles/aws-calls.ts';
import { nameOf } from '../support/doubles/memory-engine.ts';
import { type MemoryTable, memoryTable } from '../support/doubles/memory-table.ts';
import { useLogLines } from '../support/doubles/output.ts';
import { useFrozenClock } from '../support/doubles/time.ts';

const lines = useLogLines();
const NOW = 1_900_000_000_000;
useFrozenClock(NOW, { METRICS_NAMESPACE: 'N' });

const ada = {
  ...entityKey('USER', 7),
  id: 7,
  login: 'ada',
  email: 'ada@b.c',
  langKey: 'de',
  activated: true,
  incarnation: 'account',
  securityStamp: 'reset',
} as unknown as User & Item;
const guard = { ...emailGuardKey('ada@b.c'), id: 7 };
const KEY = { pk: 'MAIL#0000000000000007', sk: 'time' };
const expires = NOW / 1000 + 1;
const RESET = { ...KEY, occasion: 'reset', email: 'Ada@b.c', expires };
const INVITATION = { ...KEY, occasion: 'invitation', userId: 7, incarnation: 'account', expires };
const NOTICE = {
  ...KEY,
  occasion: 'emailChanged',
  userId: 7,
  login: 'ada',
  email: 'old@b.c',
  langKey: 'de',
  expires,
};
const CONFIRMATION = {
  ...KEY,
  occasion: 'emailConfirmation',
  userId: 7,
  newEmail: 'new@b.c',
  securityStamp: 'reset',
  expires,
};
const lastMailed = (key: object, securityStamp: string, ago: number) =>
  ({ ...countOf(key, 1), lastAt: NOW - ago, securityStamp }) as unknown as Item;
const countOf = (key: object, n: number) => ({ ...key, n, since: NOW - 1 }) as unknown as Item;
const RESETS = mailboxResetsKey(mailboxHashOf(ada));
const RESETS_OF_ACCOUNT = mailCountKey(7, 'reset');
const NOTICES = mailCountKey(7, 'emailChanged');
const ALL = allResetsKey;
async function deliver(
  items: Item[],
  send = async (): Promise<void> => undefined,
  prepare: (table: MemoryTable) => void = () => undefined,
) {
  const sent: unknown[][] = [];
  const table = memoryTable(items);
  prepare(table);
  const mailer = {
    async send(occasion: string, { email }: Recipient, content: MailContent = {}) {
      await send();
      const { key, newEmail, inviter } = content;
      sent.push([occasion, email, key, ...[newEmail ?? inviter ?? []].flat()]);
    },
  };
  const delivered = deliverMail({ table, mailer, resetsPerHour: 9 }, KEY);
  const error = await delivered.then(
    () => undefined,
    (thrown: Error) => thrown,
  );
  return { sent, error, changed: table.changed() };
}
const counting = (field: string) => ({
  [field]: 1,
  _aws: {
    Timestamp: NOW,
    CloudWatchMetrics: [
      { Namespace: 'N', Dimensions: [[]], Metrics: [{ Name: field, Unit: 'Count' }] },
    ],
  },
});
const confirmationKey = expect.stringMatching(/^7-[\w-]{43}$/);
const newKey = expect.stringMatching(/^[\w-]{43}$/);

describe('a mail', () => {
  // Beside the mail itself: the new key, the counts of the account, and for a reset of the
  // mailbox, the source and all, and the audit entry.
  it.each<[string, Item, unknown[], number]>([
    ['a reset', RESET, ['reset', 'ada@b.c', newKey], 6],
    ['an invitation', INVITATION, ['invitation', 'ada@b.c', newKey], 1],
    ['a notice', NOTICE, ['emailChanged', 'old@b.c', undefined], 1],
    [
      'a request to confirm an address',
      CONFIRMATION,
      ['emailConfirmation', 'ada@b.c', confirmationKey, 'new@b.c'],
      2,
    ],
  ])('is sent and then deleted: %s', async (_, mail, expected, others) => {
    const { sent, changed, error } = await deliver([ada, guard, mail]);

    expect([sent, error, changed[nameOf(KEY)]]).toEqual([[expected], undefined, null]);
    expect(lines).toMatchObject([{ mailSent: expected[0] }]);
    const stored = Object.keys(changed).filter((name) => /^(RESET|PENDING-EMAIL)#/.test(name));
    expect(stored).toHaveLength(expected[2] ? 1 : 0);
    expect(Object.keys(changed)).toHaveLength(1 + others);
  });

  it.each<[string, Item[]]>([
    ['is a reset of an address that has changed', [{ ...ada, email: 'new@b.c' }, guard, RESET]],
    ['invites a user with a password', [{ ...ada, passwordHash: 'h' } as never, INVITATION]],
    ['invites a user of a provider', [{ ...ada, identities: [] } as never, INVITATION]],
    ['invites a deactivated user', [{ ...ada, activated: false }, INVITATION]],
    ['invites another account', [{ ...ada, incarnation: 'other' }, INVITATION]],
    ['has an address confirmed by nobody', [CONFIRMATION]],
    [
      'has an address confirmed too often',
      [ada, CONFIRMATION, countOf(mailCountKey(7, 'emailConfirmation'), 99)],
    ],
    ['has expired', [{ ...NOTICE, expires: NOW / 1000 }]],
    ['invites nobody', [INVITATION]],
    ['is beyond the resets of a mailbox', [ada, guard, RESET, countOf(RESETS, 5)]],
    [
      'is beyond the resets of an account, to whichever mailboxes',
      [ada, guard, RESET, countOf(RESETS_OF_ACCOUNT, 10)],
    ],
    [
      'is a reset although a key was mailed ten minutes ago and works',
      [ada, guard, RESET, lastMailed(RESETS, 'reset', 600_000 - 1)],
    ],
  ])('is deleted without being sent when it %s', async (_, items) => {
    const { sent, changed, error } = await deliver(items);

    expect([sent, error, changed]).toEqual([[], undefined, { [nameOf(KEY)]: null }]);
  });

  it('that SES cannot deliver is counted apart from the alarm, and deleted', async () => {
    const { sent, changed } = await deliver([{ ...NOTICE, email: 'a@b' }]);

    expect([sent, changed]).toEqual([[], { [nameOf(KEY)]: null }]);
    expect(lines).toEqual([counting('mailsUnreachable')]);
  });

  it('that all resets together leave no room for stays, and raises the alarm', async () => {
    const { sent, changed, error } = await deliver([ada, guard, RESET, countOf(ALL, 9)]);

    expect([sent, changed, error]).toEqual([[], {}, undefined]);
    const failure = { mailNotSent: 'Failure', code: 'too-many-attempts' };
    expect(lines).toMatchObject([{ ...counting('mailsNotSent'), ...failure }]);
  });

  it('that another execution has sent is no error', async () => {
    expect(await deliver([ada])).toMatchObject({ sent: [], error: undefined, changed: {} });
  });

  it.each<[string, object]>([
    ['Eve Li', { firstName: 'Eve', lastName: 'Li' }],
    ['Li', { lastName: 'Li' }],
    ['eve', {}],
  ])('that invites names who does: %s', async (name, names) => {
    const eve = { ...ada, ...entityKey('USER', 8), id: 8, login: 'eve', ...names };

    const { sent } = await deliver([ada, eve, { ...INVITATION, inviterId: 8 } as Item]);

    expect(sent).toEqual([['invitation', 'ada@b.c', newKey, name]]);
  });

  it.each([
    ['ten minutes have passed', lastMailed(RESETS, 'reset', 600_000)],
    ['the key was used, or voided by an administrator', lastMailed(RESETS, 'former', 1)],
  ])('with a reset key is sent again when %s', async (_, count) => {
    expect((await deliver([ada, guard, RESET, count])).sent).toHaveLength(1);
  });

  it.each([RESET, INVITATION, NOTICE, CONFIRMATION])(
    'that SES rejects does not look as if nobody had tried to send it: $occasion',
    async (mail) => {
      const { changed } = await deliver([ada, guard, mail as Item], () =>
        Promise.reject(awsError('X')),
      );

      expect(changed[nameOf(KEY)]).toMatchObject({ counted: true });
    },
  );

  it('is counted once: one that is tried again has a new key and no further count', async () => {
    const counts = [countOf(RESETS, 4), countOf(ALL, 8)];
    const first = await deliver([ada, guard, RESET, ...counts], () =>
      Promise.reject(awsError('X')),
    );
    const second = await deliver([ada, guard, { ...RESET, counted: true }, countOf(ALL, 9)]);

    expect([first.error?.name, first.sent]).toEqual(['X', []]);
    expect(first.changed).toMatchObject({
      [nameOf(RESETS)]: { n: 5 },
      [nameOf(ALL)]: { n: 9 },
      [nameOf(KEY)]: { counted: true, occasion: 'reset' },
    });
    expect(second.sent).toEqual([['reset', 'ada@b.c', newKey]]);
    // The new key, and the mail.
    expect(Object.keys(second.changed)).toEqual([nameOf(KEY), expect.stringMatching(/^RESET#/)]);
  });

  it.each([
    ['is not handed over again after a conflict', 1, undefined],
    ['is handed over again when its item stays busy', 99, { code: 'unavailable' }],
  ])('that was sent %s', async (_, conflicts, expected) => {
    const { sent, error } = await deliver(
      [ada, { ...NOTICE, counted: true }],
      undefined,
      (table) => {
        const { transact } = table;
        let times = 0;
        table.transact = (...args) => {
          vi.setSystemTime(Date.now() + 1000);
          times++;
          return times > conflicts
            ? transact(...args)
            : Promise.reject(cancelledBy('TransactionConflict'));
        };
      },
    );

    expect([sent.length, error]).toMatchObject([1, expected]);
  });

  it('is not counted by two executions', async () => {
    const { sent, changed } = await deliver([NOTICE], undefined, ({ concurrent }) =>
      concurrent.push([put(KEY, { ...NOTICE, counted: true })]),
    );

    expect([sent.length, changed[nameOf(NOTICES)]]).toEqual([1, undefined]);
  });
});

describe('a batch', () => {
  const record = (pk: string, SequenceNumber: string) => ({
    dynamodb: { SequenceNumber, Keys: { pk: { S: pk }, sk: { S: `${pk} time` } } },
  });
  const deliverAll = async (failures: Record<string, Error>, remainingMs = 60_000) => {
    const delivered: string[] = [];
    const Records = [record('a', '1'), record('b', '2'), record('a', '3'), record('c', '4')];
    const { batchItemFailures } = await deliverBatch(
      { Records },
      { getRemainingTimeInMillis: () => remainingMs },
      async ({ pk, sk }) => {
        delivered.push(sk);
        if (failures[pk]) throw failures[pk];
      },
    );
    return { delivered, failed: batchItemFailures.map(({ itemIdentifier }) => itemIdentifier) };
  };

  it.each([
    ['an outage', awsError('Throttling')],
    ['a busy table', new Failure('unavailable')],
  ])(
    'hands over again what fails because of %s, and later mails to the same recipient',
    async (_, error) => {
      const { delivered, failed } = await deliverAll({ a: error });

      expect([delivered, failed]).toEqual([
        ['a time', 'b time', 'c time'],
        ['1', '3'],
      ]);
      expect(lines).toMatchObject([{ mailDelayed: error.name }]);
    },
  );

  it.each([
    awsError('MessageRejected'),
    new Failure('not-found'),
    awsError('Error', { code: 'unavailable' }),
  ])('leaves what fails otherwise to an operator: %s', async (error) => {
    const { failed } = await deliverAll({ a: error });

    expect(failed).toEqual([]);
    expect(lines).toContainEqual(expect.objectContaining({ mailsNotSent: 1 }));
  });

  it('begins no mail with less than 20 seconds left', async () => {
    expect((await deliverAll({}, 20_000)).failed).toEqual(['1', '2', '3', '4']);
    expect((await deliverAll({}, 20_001)).failed).toEqual([]);
  });
});

const invocation = { getRemainingTimeInMillis: () => 10_000 };
const items = [1, 2, 3].map((id) => {
  const event = { action: 'user.deleted', target: `user/${id}`, targetName: 'x' } as const;
  const { key, attributes } = auditEntry(operator('import'), { ...event, changes: [] }, id);
  return { ...key, ...attributes };
});
const Records = items.map(({ pk, sk }, index) => ({
  dynamodb: { SequenceNumber: `${index}`, Keys: { pk: { S: pk }, sk: { S: sk } } },
}));

it('entries are logged in their order, and one that was deleted since is left out', async () => {
  const table = memoryTable(items.filter((_, index) => index !== 1));

  expect(await logAudit({ Records }, invocation, table)).toEqual({ batchItemFailures: [] });

  expect(lines.map(({ target }) => target)).toEqual(['user/1', 'user/3']);
  expect(currentDeadline()).toBeLessThanOrEqual(Date.now() + 10_000);
});

it.each([
  ['the table', awsError('TimeoutError'), 'TimeoutError'],
  ['the guard of its format', new Error('x', { cause: awsError('NewerFormat') }), 'NewerFormat'],
])(
  'a batch that cannot be read for an error of %s is handed over from its first',
  async (...row) => {
    const [, error, name] = row;
    const table = { ...memoryTable(items), getAll: () => Promise.reject(error) };

    const { batchItemFailures } = await logAudit({ Records }, invocation, table);

    expect(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier)).toEqual(['0']);
    expect(lines).toMatchObject([{ auditDelayed: name }]);
  },
);

describe('the use of a token', () => {
  const use = { pk: 'TOKEN-USE#0000000000000007', sk: 't#net', series: 't', source: '192.0.2.1' };
  const { pk, sk } = use;
  const Records = [{ dynamodb: { SequenceNumber: '1', Keys: { pk: { S: pk }, sk: { S: sk } } } }];
  const audit = async (stored: Item[], meanwhile: Write[] = []) => {
    const table = memoryTable(stored);
    table.concurrent.push(meanwhile);
    for (let n = 0; n < 2; n++) await logAudit({ Records }, invocation, table);
    expect(lines).toEqual([]);
    return Object.values(table.changed()).filter((item) => item?.pk.startsWith('AUDIT#'));
  };

  it('is audited once', async () => {
    const about = { action: 'token.used', target: 'user/7', targetName: 'ada' };
    expect(await audit([ada, use])).toMatchObject([
      { ...about, actor: 'ada', actorId: 7, session: 't', source: '192.0.2.1' },
    ]);
  });

  it.each<[string, Item[], Write[]?]>([
    ['its user was deleted', [use]],
    ['it has expired', [ada]],
    ['another execution was faster', [ada, use], [set({ pk, sk }, { isAudited: true })]],
  ])('is not audited if %s', async (_, stored, meanwhile) => {
    expect(await audit(stored, meanwhile)).toEqual([]);
  });
});
