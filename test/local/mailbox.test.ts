import { once } from 'node:events';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, inject, it } from 'vitest';
import { openFaults } from '../../infra/local/aws/faults.ts';
import { localMailbox } from '../../infra/local/aws/mailbox.ts';
import { setPasswordPage } from '../../infra/local/aws/mailbox-pages.ts';
import { startCloud } from '../../infra/local/cloud.ts';
import { openMemoryState, openState } from '../../infra/local/state/state.ts';
import { startGatehouse } from '../support/instance/gatehouse.ts';
import { newFolder, stopAll } from '../support/instance/start-process.ts';

/* The local mailbox, as `npm start` runs it: mailed links lead to a page that sets the password. */

const faults = openFaults();
const gatehouse = await startGatehouse({
  mailLinkBase: setPasswordPage,
  intercept: faults.intercept,
});
afterAll(() => gatehouse.stop());
afterAll(stopAll);

/** Creates a user without a password. Returns the link in the invitation. */
async function invite(login: string): Promise<string> {
  await gatehouse.makeUser(login, { password: undefined });
  return (
    /http\S+/.exec((await gatehouse.mailsTo(`${login}@example.com`)).at(-1)?.text ?? '')?.[0] ??
    'no link'
  );
}

/** Submits the form as a browser does. */
async function submit(link: string, newPassword: string) {
  const { origin, pathname, searchParams } = new URL(link);
  const body = new URLSearchParams({ key: searchParams.get('key') ?? '', newPassword });
  const response = await fetch(`${origin}${pathname}`, { method: 'POST', body });
  return { status: response.status, page: await response.text() };
}

/** Sends headers that `fetch` does not allow. Returns the status and the text. */
async function exchange(
  url: string,
  method: string,
  headers: Record<string, string | undefined>,
  body?: string,
) {
  const outgoing = request(url, { method, headers: headers as Record<string, string> }).end(body);
  const [response] = await once(outgoing, 'response');
  return [response.statusCode as number, await text(response)] as const;
}

describe('a mailed link', () => {
  it('leads to a form without scripts that may only be sent to the mailbox', async () => {
    const link = await invite('invited');

    const response = await fetch(link);
    const page = await response.text();

    expect(link.startsWith(`${gatehouse.cloud.endpoint}/mailbox/`)).toBe(true);
    expect(page).toContain('<form method="post" action="/mailbox/set-password">');
    expect(page).toContain(`value="${new URL(link).searchParams.get('key')}"`);
    expect(page).not.toContain('<script');
    expect(response.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/=]+'; form-action 'self';/,
    );
    expect(response.headers.get('referrer-policy')).toBe('no-referrer');
  });

  it('completes an invitation', async () => {
    const link = await invite('completed');

    const { status, page } = await submit(link, 'p+ä&word');

    expect([status, page.includes('Your password is set')]).toEqual([200, true]);
    expect(await gatehouse.logIn('completed', 'p+ä&word')).toBeTruthy();
  });

  it("shows the service's error, and the form again", async () => {
    const link = await invite('careless');

    const short = await submit(link, 'abc');
    const unknown = await submit(`${link}<x>`, 'long enough');

    expect([short.status, unknown.status]).toEqual([400, 400]);
    expect(short.page).toContain(
      '<p role="alert">Method argument not valid. newPassword: Size, from 4 to 100</p>',
    );
    expect(unknown.page).toMatch(
      /<p role="alert">Unknown key\. The key is unknown, has been used or is older than/,
    );
    expect(unknown.page).toContain('&lt;x&gt;">');
    for (const { page } of [short, unknown]) expect(page).toContain('<form');
  });

  it('shows the error of API Gateway when the function crashes', async () => {
    const link = await invite('unlucky');
    faults.inject([{ function: 'POST /api/account/reset-password/finish', fault: 'kill' }]);

    const { status, page } = await submit(link, 'long enough');
    faults.inject([]);

    expect(status).toBe(500);
    expect(page).toContain('<p role="alert">Internal Server Error</p>');
  });
});

const mailOf = (subject: string, text = 't') => ({
  FromEmailAddress: 'a@example.com',
  Destination: { ToAddresses: ['b@example.com'] },
  Content: { Simple: { Subject: { Data: subject }, Body: { Text: { Data: text } } } },
});

describe('the mailbox', () => {
  it('shows the newest message first, as text with its links, and is not stored', async () => {
    const headers = { Authorization: 'AWS4-HMAC-SHA256 Credential=operator/x/' };
    const mails = [
      mailOf('an older one'),
      mailOf('<b>Now</b>', `<i>See</i> https://gates.example/?a=1&b='2' there`),
    ];
    for (const mail of mails) {
      const body = JSON.stringify(mail);
      await exchange(`${gatehouse.cloud.endpoint}/v2/email/outbound-emails`, 'POST', headers, body);
    }

    const response = await fetch(`${gatehouse.cloud.endpoint}/mailbox`);
    const page = await response.text();

    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(page).toContain('<h2>&lt;b&gt;Now&lt;/b&gt;</h2>');
    const url = 'https://gates.example/?a=1&amp;b=&#39;2&#39;';
    expect(page).toContain(`<pre>&lt;i&gt;See&lt;/i&gt; <a href="${url}">${url}</a> there</pre>`);
    expect(page.indexOf('Now')).toBeLessThan(page.indexOf('an older one'));
  });

  it('keeps the last 200 messages, also for the next start', () => {
    const state = openMemoryState();
    const { send } = localMailbox(state);
    for (let sent = 1; sent <= 201; sent++) send(mailOf(`${sent}`));

    const { mails } = localMailbox(state);
    state.close();

    expect([mails.length, mails[0]?.subject, mails.at(-1)?.subject]).toEqual([200, '2', '201']);
  });

  it('has no other pages', async () => {
    expect((await fetch(`${gatehouse.cloud.endpoint}/mailbox/other`)).status).toBe(404);
  });

  it.each([
    [
      'of a web page',
      { 'Content-Type': 'text/plain' },
      'MissingAuthenticationTokenException',
      'The request is not signed',
    ],
    [
      'for another host',
      { Host: 'evil.example', Authorization: 'AWS4-HMAC-SHA256 Credential=operator/x/' },
      'AccessDeniedException',
      'The local cloud responds as localhost and 127.0.0.1 only, not as evil.example',
    ],
  ])('stores no mail %s', async (_, headers, __type, message) => {
    const before = gatehouse.cloud.mails.length;
    const post = (path: string) =>
      exchange(`${gatehouse.cloud.endpoint}${path}`, 'POST', headers, '{}');

    for (const path of ['/v2/email/outbound-emails', '/']) {
      expect(await post(path)).toEqual([403, JSON.stringify({ __type, message })]);
    }
    expect(gatehouse.cloud.mails).toHaveLength(before);
  });

  it('shows no page to another host', async () => {
    const [status, answer] = await exchange(`${gatehouse.cloud.endpoint}/mailbox`, 'GET', {
      Host: 'evil.example',
    });

    expect([status, JSON.parse(answer).__type]).toEqual([403, 'AccessDeniedException']);
  });

  it.each<[object, number]>([
    [{}, 200],
    [{ Content: { Simple: { Subject: { Data: 5 }, Body: { Text: { Data: 't' } } } } }, 400],
    [{ Destination: { ToAddresses: [5] } }, 400],
    [{ Destination: undefined }, 400],
    // SES supports no SMTPUTF8.
    [{ Destination: { ToAddresses: ['ada@xn--bcher-kva.example'] } }, 200],
    [{ Destination: { ToAddresses: ['b@example.com', 'ada@bücher.example'] } }, 400],
    [{ Destination: { ToAddresses: ['älice@example.com'] } }, 400],
  ])('stores complete mails to ASCII recipients only: %j, %i', (changes, expected) => {
    const state = openMemoryState();
    const { mails, send } = localMailbox(state);

    const { status } = send({ ...mailOf('s'), ...changes });
    state.close();

    expect([status, mails.length]).toEqual([expected, expected === 200 ? 1 : 0]);
  });

  it('keeps its port across starts unless another process has taken it', async () => {
    const folder = newFolder();
    const lines: string[] = [];
    const startAndStop = async () => {
      const onLine = (line: string) => void lines.push(line);
      const state = await openState(folder);
      const cloud = await startCloud({
        assembly: inject('assembly'),
        state,
        port: 0,
        onLine,
        onEngineExit: onLine,
      });
      await cloud.stop();
      return cloud.endpoint;
    };

    const first = await startAndStop();
    const second = await startAndStop();
    const other = createServer().listen(Number(new URL(first).port), '127.0.0.1');
    await once(other, 'listening');
    const third = await startAndStop();
    other.close();

    expect(second).toBe(first);
    expect(third).not.toBe(first);
    expect(lines).toEqual([
      `Port ${new URL(first).port} is taken: the mailbox and the AWS APIs have moved to ${third}`,
    ]);
  });
});
