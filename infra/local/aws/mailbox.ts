import type { AwsResponse } from '../calls/aws-call.ts';
import type { State } from '../state/state.ts';

export interface Mail {
  readonly time: string;
  readonly from: string;
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string;
}

interface SendEmailInput {
  readonly FromEmailAddress: string;
  readonly Destination: { readonly ToAddresses: string[] };
  readonly Content: {
    readonly Simple: {
      readonly Subject: { readonly Data: string };
      readonly Body: { readonly Text: { readonly Data: string } };
    };
  };
}

const FILE = 'mailbox.json';
const MESSAGES_MAX = 200;

const badRequest = (message: string): AwsResponse => ({
  status: 400,
  body: { __type: 'BadRequestException', message },
});

export function localMailbox(state: State) {
  const mails = state.readJson<Mail[]>(FILE, 'delete it to start with an empty mailbox') ?? [];
  return {
    mails,
    send(input: Record<string, unknown>): AwsResponse {
      const { FromEmailAddress: from, Destination, Content } = input as unknown as SendEmailInput;
      const [to, subject, text] = [
        Destination?.ToAddresses,
        Content?.Simple?.Subject?.Data,
        Content?.Simple?.Body?.Text?.Data,
      ];
      // Stored, it would break the page for good.
      const parts: unknown[] = [from, subject, text, ...(Array.isArray(to) ? to : [to])];
      if (!parts.every((part) => typeof part === 'string'))
        return badRequest('The mail is incomplete');
      // SES supports no SMTPUTF8: the domain of a recipient must be in Punycode, and the local part
      // ASCII.
      if (!to.every((recipient) => /^\p{ASCII}*$/u.test(recipient)))
        return badRequest('A recipient is not ASCII');
      mails.push({ time: new Date().toISOString(), from, to, subject, text });
      if (mails.length > MESSAGES_MAX) mails.shift();
      state.write(FILE, JSON.stringify(mails));
      return { status: 200, body: { MessageId: `local-${mails.length}` } };
    },
  };
}
