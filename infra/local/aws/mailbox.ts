import type { AwsResponse } from '../calls/aws-call.ts';
import type { State } from '../state/state.ts';

export interface Mail {
  readonly time: string;
  readonly from: string;
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string;
}

/** The part of the SendEmail input that the functions use. */
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
const MAX_MESSAGES = 200;

/** Stores messages instead of sending them; a browser shows them as a page or as JSON. */
export function localMailbox(state: State) {
  const mails: Mail[] = JSON.parse(state.read(FILE) ?? '[]');
  return {
    mails,
    send(input: Record<string, unknown>): AwsResponse {
      const { FromEmailAddress: from, Destination, Content } = input as unknown as SendEmailInput;
      const { Subject, Body } = Content.Simple;
      mails.push({
        time: new Date().toISOString(),
        from,
        to: Destination.ToAddresses,
        subject: Subject.Data,
        text: Body.Text.Data,
      });
      if (mails.length > MAX_MESSAGES) mails.shift();
      state.write(FILE, JSON.stringify(mails));
      return { status: 200, body: { MessageId: `local-${mails.length}` } };
    },
    page(): string {
      const shown = mails.toReversed().map(
        ({ time, from, to, subject, text }) => `<article>
<h2>${escapeHtml(subject)}</h2>
<p class="envelope">${escapeHtml(from)} → ${escapeHtml(to.join(', '))}, <time>${escapeHtml(time)}</time></p>
<pre>${withLinks(escapeHtml(text))}</pre>
</article>`,
      );
      return PAGE.replace('{mails}', () => shown.join('\n') || '<p>No mail yet.</p>');
    },
  };
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => ESCAPES[character] as string);
const withLinks = (html: string): string =>
  html.replace(/https?:\/\/[^\s<]+/g, (link) => `<a href="${link}">${link}</a>`);

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Mailbox of the local cloud</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff }
  article { border: 1px solid #ccc; border-radius: .5rem; padding: 0 1rem; margin: 1rem 0 }
  h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin-bottom: 0 }
  .envelope { color: #555; font-size: .875rem; margin-top: 0 }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; font: inherit }
</style>
<h1>Mailbox of the local cloud</h1>
<p>Messages do not leave this machine. They are also available as <a href="/mailbox.json">JSON</a>.</p>
{mails}
</html>
`;
