import * as v from 'valibot';
import { type AwsResponse, errorResponse } from '../calls/aws-call.ts';
import { readJson, type State } from '../state/state.ts';

/** A stored message. */
export interface Mail {
  readonly time: string;
  readonly from: string;
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string;
}

const data = v.object({ Data: v.string() });
const sendEmailInput = v.object({
  FromEmailAddress: v.string(),
  Destination: v.object({ ToAddresses: v.array(v.string()) }),
  Content: v.object({ Simple: v.object({ Subject: data, Body: v.object({ Text: data }) }) }),
});

const FILE = 'mailbox.json';
const MESSAGES_MAX = 200;

/** Stores messages instead of sending them; mailbox-pages.ts shows them. */
export function localMailbox(state: State) {
  const mails = readJson<Mail[]>(state, FILE, 'delete it to start with an empty mailbox') ?? [];
  return {
    mails,
    send(input: unknown): AwsResponse {
      // Stored, an incomplete mail would break the page for good.
      if (!v.is(sendEmailInput, input))
        return errorResponse('BadRequestException', 'The mail is incomplete');
      const { FromEmailAddress: from, Destination, Content } = input;
      const { ToAddresses: to } = Destination;
      const { Subject, Body } = Content.Simple;
      // SES supports no SMTPUTF8: the domain of a recipient must be in Punycode, and the local part
      // ASCII.
      if (!to.every((recipient) => /^\p{ASCII}*$/u.test(recipient)))
        return errorResponse('BadRequestException', 'A recipient is not ASCII');
      const time = new Date().toISOString();
      mails.push({ time, from, to, subject: Subject.Data, text: Body.Text.Data });
      if (mails.length > MESSAGES_MAX) mails.shift();
      state.write(FILE, JSON.stringify(mails));
      return { status: 200, body: { MessageId: `local-${mails.length}` } };
    },
  };
}
