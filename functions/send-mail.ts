import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openMailer } from '../lib/mail/mail.ts';
import { requireEnv } from '../lib/runtime/execution-environment.ts';
import { deliverBatch } from '../lib/stream/deliver-batch.ts';
import { deliverMail } from '../lib/stream/deliver-mail.ts';
import { openTable } from '../lib/table/open-table.ts';

const table = openTable();
const texts = readFileSync(join(import.meta.dirname, 'texts.json'), 'utf8');
const mailer = openMailer(JSON.parse(texts));
const resetsPerHour = Number(requireEnv('RESETS_PER_HOUR'));

/** Sends the mails that the stream of the table hands over, in the order of each recipient. */
export const handler = (
  event: Parameters<typeof deliverBatch>[0],
  context: Parameters<typeof deliverBatch>[1],
): ReturnType<typeof deliverBatch> =>
  deliverBatch(event, context, (key) => deliverMail({ table, mailer, resetsPerHour }, key));
