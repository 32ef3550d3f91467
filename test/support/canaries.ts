import assert from 'node:assert/strict';
import type { AwsCall, AwsResponse } from '../../infra/local/calls/aws-call.ts';
import type { Received, Sent } from './launch.ts';

/* Every secret that passes through a test is a canary: it may show up in no log line, no error and no header. */

/** A shorter one could be anywhere by chance. */
const SHORTEST = 8;
/** The head of a long one is enough to find it. */
const LONGEST = 100;
const SECRET_FIELDS = ['password', 'newPassword', 'currentPassword', 'confValue', 'key'];
/** What is allowed to be seen, and may be the same as a password: tests have accounts whose password is their login. */
const OPEN_FIELDS = ['login', 'username', 'email'];

export interface Canaries {
  /** Takes note of a request and its answer. */
  exchanged(method: string, path: string, sent: Sent, received: Received): void;
  /** Takes note of a call to AWS and its answer. */
  called(call: AwsCall, answer: AwsResponse): void;
  /** Fails when something secret is in these lines, or in what was seen since the last time. */
  check(lines: readonly string[]): void;
}

export function canaries(): Canaries {
  const secrets = new Set<string>();
  const open = new Set<string>();
  const seen = new Set<string>();
  const hide = (secret: unknown) => {
    if (typeof secret === 'string' && secret.length >= SHORTEST) secrets.add(secret.slice(0, LONGEST));
  };
  /** The header and the claims of a token are no secret: without its signature it is nothing. */
  const hideToken = (token: unknown) => hide(typeof token === 'string' ? token.split('.')[2] : undefined);

  return {
    exchanged(method, path, { token, body }, received) {
      const fields = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
      for (const name of SECRET_FIELDS) hide(fields[name]);
      for (const name of OPEN_FIELDS) open.add(String(fields[name]));
      open.add(path).add(decodedOrAsItIs(path));
      hideToken(token);
      hideToken(received.body?.id_token);
      if (received.status >= 400) seen.add(received.text);
      const isLogin = method === 'POST' && path === '/api/authenticate' && received.status === 200;
      for (const [name, value] of Object.entries(received.headers)) {
        if (!(isLogin && name === 'authorization')) seen.add(`${name}: ${value}`);
      }
    },
    called({ service, operation, input }, { body }) {
      if (service === 'KMS' && typeof body === 'object') for (const name of ['Plaintext', 'Mac']) hide(body[name]);
      if (service === 'SES') hide(/key=([\w-]{43})/.exec(JSON.stringify(input))?.[1]);
      if (operation === 'TransactWriteItems')
        for (const [hash] of JSON.stringify(input).matchAll(/\$argon2id\$[^"]+/g)) hide(hash.slice(-LONGEST));
    },
    check(lines) {
      // Most lines differ only in this, and everything is looked for in each of them.
      const varying = /"(requestId":"[\da-f-]{36}|(milliseconds|callerId)":\d+)"?/g;
      const text = [...new Set(lines.map((line) => line.replace(varying, ''))), ...seen].join('\n');
      const told = [...secrets].filter((secret) => ![...open].some((known) => known.includes(secret)));
      const found = told.filter((secret) => spellings(secret).some((spelling) => text.includes(spelling)));
      for (const memory of [secrets, open, seen]) memory.clear();
      assert.deepEqual(found, [], 'secrets in log lines, errors or headers');
    },
  };
}

/** How a secret could show up: as it is, in JSON, in a URL, in hexadecimal, and in base64 wherever in a text it stood. */
export function spellings(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const base64 = [0, 1, 2].map((before) =>
    // The first and the last character also carry bits of what stands around.
    Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6)),
  );
  const plain = [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret.toWellFormed())];
  const inUrls = base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'));
  return [...plain, bytes.toString('hex'), ...base64, ...inUrls];
}

function decodedOrAsItIs(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
