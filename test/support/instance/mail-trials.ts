import { setTimeout as wait } from 'node:timers/promises';
import type { openFaults } from '../../../infra/local/aws/faults.ts';
import { mailKey } from '../../../lib/mail/outbox.ts';
import { commit } from '../../../lib/table/change.ts';
import { set } from '../../../lib/table/write.ts';
import type { Gatehouse } from './launch.ts';

/* What becomes of a mail whose delivery goes wrong; docs/calls.md has a row for each. */

const MAIL_FUNCTION = 'sends mail';

interface Stage {
  readonly gatehouse: Gatehouse;
  readonly faults: ReturnType<typeof openFaults>;
}

/** The mails that arrive, and those that are left in the table, after one or two were caused. */
interface MailTrial {
  readonly event: string;
  readonly mails: number;
  readonly left: number;
  readonly note?: string;
  run(stage: Stage, login: string): Promise<void>;
}

let nextUserId = 1_000_000;

const addressOf = (login: string): string => `${login}@example.com`;

/** Writes notices without handing them over. Returns their stream records. */
async function causeMails({ gatehouse }: Stage, login: string, count: number, fields: object = {}) {
  const records = [];
  // No trial finds the mails of another.
  const userId = nextUserId++;
  for (let n = 0; n < count; n++) {
    const { pk, sk } = mailKey(userId, new Date(Date.now() + n).toISOString(), String(n));
    const item = {
      occasion: 'passwordChanged',
      userId: 1,
      login: `${login}-${n}`,
      email: addressOf(login),
      langKey: 'en',
      expires: Math.ceil(Date.now() / 1000) + 60,
      ...fields,
    };
    // An update in a transaction, which the stream does not hand over.
    await commit(gatehouse.table, [set({ pk, sk }, item)]);
    records.push({
      eventName: 'INSERT',
      dynamodb: { SequenceNumber: `${n}`, Keys: { pk: { S: pk }, sk: { S: sk } } },
    });
  }
  return records;
}

const handOver = ({ gatehouse }: Stage, ...Records: object[]) =>
  gatehouse.cloud.invoke(MAIL_FUNCTION, { Records });

/** Changes the password of a new user under this fault, which ends after a second. */
const notifyUnder =
  (fault: object): MailTrial['run'] =>
  async ({ gatehouse, faults }, login) => {
    await gatehouse.makeUser(login);
    const token = await gatehouse.logIn(login);
    faults.inject([{ function: MAIL_FUNCTION, ...fault }]);
    const body = { currentPassword: login, newPassword: 'fresh' };
    const changed = await gatehouse.call('POST', '/api/account/change-password', { token, body });
    if (changed.status !== 200) throw new Error(`The change failed with ${changed.status}`);
    await wait(1000);
    faults.inject([]);
  };

export const MAIL_TRIALS: readonly MailTrial[] = [
  {
    event: 'the stream hands the mail over twice',
    mails: 1,
    left: 0,
    async run(stage, login) {
      const records = await causeMails(stage, login, 1);
      await handOver(stage, ...records, ...records);
      await handOver(stage, ...records);
    },
  },
  {
    event: 'it hands the mail over after it has expired',
    mails: 0,
    left: 0,
    note: 'a request for a reset expires after an hour, any other mail after 30 days',
    async run(stage, login) {
      const expires = Math.floor(Date.now() / 1000) - 1;
      await handOver(stage, ...(await causeMails(stage, login, 1, { expires })));
    },
  },
  {
    event: 'it hands two mails over in the wrong order',
    mails: 2,
    left: 0,
    async run(stage, login) {
      await handOver(stage, ...(await causeMails(stage, login, 2)).reverse());
    },
  },
  {
    event: 'SES rejects one of two mails for good',
    mails: 1,
    left: 1,
    note: '`mail-not-sent`; the mails behind it are not delayed',
    async run(stage, login) {
      const email = `${login}@rejected.invalid`;
      const [rejected] = await causeMails(stage, `${login}-rejected`, 1, { email });
      await handOver(stage, rejected as object, ...(await causeMails(stage, login, 1)));
    },
  },
  {
    event: 'SES throttles for a second',
    mails: 1,
    left: 0,
    note: 'the stream hands the mail over again, for up to six hours',
    run: notifyUnder({ service: 'SES', fault: 'throttle' }),
  },
  {
    event: 'the table does not respond for a second',
    mails: 1,
    left: 0,
    run: notifyUnder({ service: 'DynamoDB', fault: 'error-before' }),
  },
  {
    event: 'the response of SES is lost',
    mails: 2,
    left: 0,
    note: 'SES cannot recognize a repetition',
    run: notifyUnder({ service: 'SES', fault: 'lost', nth: 1 }),
  },
  {
    event: 'the function is killed after SES has accepted the mail',
    mails: 2,
    left: 0,
    run: notifyUnder({ service: 'SES', fault: 'kill', nth: 1 }),
  },
];

/** The mails to the user of a trial, and the items that are left, once neither changes any more. */
export async function outcomeOf({ gatehouse }: Stage, login: string, { mails }: MailTrial) {
  const arrived = () => gatehouse.cloud.mails.filter(({ to }) => to.includes(addressOf(login)));
  for (let tries = 0; arrived().length < mails && tries < 100; tries++) await wait(100);
  await gatehouse.cloud.mailsHandedOver();
  return arrived();
}

export const mailTable = (): string =>
  [
    '| event | mails that arrive | mails left in the table | |\n|---|---|---|---|',
    ...MAIL_TRIALS.map(
      ({ event, mails, left, note = '' }) => `| ${event} | ${mails} | ${left} | ${note} |`,
    ),
  ].join('\n');
