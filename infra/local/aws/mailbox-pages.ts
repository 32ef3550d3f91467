import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FieldError } from '../../../lib/contract/failure.ts';
import { readBody } from '../calls/incoming.ts';
import type { Mail } from './mailbox.ts';

const SET_PASSWORD = '/mailbox/set-password';

/** The page that sets a password; the key is appended to it. */
export const setPasswordPage = (endpoint: string): string => `${endpoint}${SET_PASSWORD}?key=`;

/** Shows the messages, and a form that sets a password with the key of a mailed link. */
export async function serveMailbox(
  req: IncomingMessage,
  res: ServerResponse,
  mails: readonly Mail[],
  apiUrl: string,
): Promise<void> {
  const { pathname, searchParams } = new URL(req.url ?? '/', 'http://localhost');
  switch (`${req.method} ${pathname}`) {
    case 'GET /mailbox':
      return sendPage(res, 'Mailbox of the local cloud', messages(mails));
    case 'GET /mailbox.json':
      res.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8' });
      return void res.end(JSON.stringify(mails));
    case `GET ${SET_PASSWORD}`:
      return sendForm(res, searchParams.get('key') ?? '');
    case `POST ${SET_PASSWORD}`:
      return setPassword(res, new URLSearchParams(String(await readBody(req))), apiUrl);
    default:
      res.writeHead(404).end();
  }
}

const messages = (mails: readonly Mail[]): string =>
  `<p>Messages do not leave this machine. They are also available as \
<a href="/mailbox.json">JSON</a>.</p>
${mails.toReversed().map(message).join('\n') || '<p>No mail yet.</p>'}`;

const message = ({ time, from, to, subject, text }: Mail): string => `<article>
<h2>${escapeHtml(subject)}</h2>
<p class="envelope">${escapeHtml(from)} → ${escapeHtml(to.join(', '))}, \
<time>${escapeHtml(time)}</time></p>
<pre>${withLinks(escapeHtml(text))}</pre>
</article>`;

const sendForm = (res: ServerResponse, key: string, error = '', status = 200): void =>
  sendPage(
    res,
    'Set your password',
    `<form method="post" action="${SET_PASSWORD}">
${error && `<p role="alert">${escapeHtml(error)}</p>`}
<input type="hidden" name="key" value="${escapeHtml(key)}">
<p><label>New password \
<input type="password" name="newPassword" autocomplete="new-password" required autofocus>\
</label></p>
<p><button>Set the password</button></p>
</form>
${TO_MAILBOX}`,
    status,
  );

const TO_MAILBOX = '<p><a href="/mailbox">Mailbox</a></p>';

async function setPassword(
  res: ServerResponse,
  sent: URLSearchParams,
  apiUrl: string,
): Promise<void> {
  const { key = '', newPassword = '' } = Object.fromEntries(sent);
  const response = await fetch(`${apiUrl}/api/account/reset-password/finish`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ key, newPassword }),
  });
  if (response.ok)
    return sendPage(
      res,
      'Your password is set',
      `<p>You can log in with it now.</p>\n${TO_MAILBOX}`,
    );
  const { message, title = message, detail, fieldErrors = [] } = (await response.json()) as Problem;
  const fields = fieldErrors.map(
    ({ field, message, min, max }) =>
      `${field}: ${message}${min === undefined ? '' : `, from ${min} to ${max}`}`,
  );
  sendForm(res, key, [title, detail, ...fields].filter(Boolean).join('. '), response.status);
}

interface Problem {
  readonly message: string;
  readonly title?: string;
  readonly detail?: string;
  readonly fieldErrors?: readonly FieldError[];
}

const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => ESCAPES[character] as string);
const withLinks = (html: string): string =>
  html.replace(/https?:\/\/[^\s<]+/g, (link) => `<a href="${link}">${link}</a>`);

const STYLE = `
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto }
  body { padding: 0 1rem; color: #222; background: #fff }
  article { border: 1px solid #ccc; border-radius: .5rem; padding: 0 1rem; margin: 1rem 0 }
  h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin-bottom: 0 }
  .envelope { color: #555; font-size: .875rem; margin-top: 0 }
  [role=alert] { color: #a00 }
  input, button { font: inherit }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; font: inherit }
`;
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** The URL of the form contains a key, so it must not be stored or sent to other sites. */
const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'Content-Security-Policy':
    `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action 'self'; ` +
    "base-uri 'none'; frame-ancestors 'none'",
};

function sendPage(res: ServerResponse, title: string, html: string, status = 200): void {
  res.writeHead(status, HEADERS).end(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>${STYLE}</style>
<h1>${title}</h1>
${html}
</html>
`);
}
