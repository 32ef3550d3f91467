import { type AwsResponse, errorResponse } from '../calls/aws-call.ts';
import { readJson, type State } from '../state/state.ts';

export interface Mail {
  readonly time: string;
  readonly from: string;
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string;
  readonly headers: readonly Header[];
}

interface Header {
  readonly Name: string;
  readonly Value: string;
}

interface SendEmailInput {
  readonly FromEmailAddress: string;
  readonly Destination: { readonly ToAddresses: readonly string[] };
  readonly Content: {
    readonly Simple: {
      readonly Subject: Data;
      readonly Body: { readonly Text: Data };
      readonly Headers?: readonly Header[];
    };
  };
}
type Data = { readonly Data: string };

const FILE = 'mailbox.json';
const MESSAGES_MAX = 200;

/** Stores messages instead of sending them; pages/ shows them. */
export function localMailbox(state: State) {
  const mails = readJson<Mail[]>(state, FILE, 'delete it to start with an empty mailbox') ?? [];
  return {
    mails,
    send(input: unknown): AwsResponse {
      const { FromEmailAddress: from, Destination, Content } = input as SendEmailInput;
      const { ToAddresses: to } = Destination;
      const { Subject, Body, Headers: headers = [] } = Content.Simple;
      // SES supports no SMTPUTF8: the domain of a recipient must be in Punycode, and the local part
      // ASCII.
      if (!to.every((recipient) => /^\p{ASCII}*$/u.test(recipient)))
        return errorResponse('BadRequestException', 'A recipient is not ASCII');
      // To try a rejection: no such domain exists (RFC 2606).
      if (to.some((recipient) => recipient.endsWith('.invalid')))
        return errorResponse('MessageRejected', 'Email address is not verified.');
      const time = new Date().toISOString();
      mails.push({ time, from, to, subject: Subject.Data, text: Body.Text.Data, headers });
      if (mails.length > MESSAGES_MAX) mails.shift();
      state.write(FILE, JSON.stringify(mails));
      return { status: 200, body: {} };
    },
  };
}
