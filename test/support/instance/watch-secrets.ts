import assert from 'node:assert/strict';
import type { AwsCall, AwsResponse } from '../../../infra/local/calls/aws-call.ts';
import type { Received, Sent } from './launch.ts';

/* No secret that passes through a test may appear in any log line, error or header. */

/** A shorter secret could match by chance. */
const SECRET_CHARACTERS_MIN = 8;
/** The beginning of a long secret is enough to find it. */
const SECRET_CHARACTERS_MAX = 100;
const SECRET_FIELDS = ['password', 'newPassword', 'currentPassword', 'confValue', 'key'];
/** They may equal a password: in tests, many accounts have their login as their password. */
const OPEN_FIELDS = ['login', 'username', 'email'];

interface SecretWatch {
  exchanged(path: string, sent: Sent, received: Received): void;
  called(call: AwsCall, response: AwsResponse): void;
  /** Fails if a secret is in these lines, or in an error or header since the last check. */
  check(lines: readonly string[]): void;
}

export function watchSecrets(): SecretWatch {
  const secrets = new Set<string>();
  const open = new Set<string>();
  const seen = new Set<string>();
  const hide = (secret: unknown) => {
    if (typeof secret === 'string' && secret.length >= SECRET_CHARACTERS_MIN)
      secrets.add(secret.slice(0, SECRET_CHARACTERS_MAX));
  };
  /** Only the signature of a token is secret: its header and claims are useless without it. */
  const hideToken = (token: unknown) =>
    hide(typeof token === 'string' ? token.split('.')[2] : undefined);

  return {
    exchanged(path, { token, body }, received) {
      const fields = (typeof body === 'object' && body !== null ? body : {}) as Record<
        string,
        unknown
      >;
      for (const name of SECRET_FIELDS) hide(fields[name]);
      for (const name of OPEN_FIELDS) open.add(String(fields[name]));
      open.add(path).add(decodedOrRaw(path));
      hideToken(token);
      hideToken(received.body?.id_token);
      if (received.status >= 400) seen.add(received.text);
      // A log-in returns its token in the body and in this header.
      const ofLogin = `authorization: Bearer ${received.body?.id_token}`;
      for (const [name, value] of Object.entries(received.headers)) {
        const line = `${name}: ${value}`;
        if (line !== ofLogin) seen.add(line);
      }
    },
    called({ service, operation, input }, { body }) {
      if (service === 'KMS' && typeof body === 'object')
        for (const name of ['Plaintext', 'Mac']) hide(body[name]);
      if (service === 'SES') hide(/key=([\w-]{43})/.exec(JSON.stringify(input))?.[1]);
      if (operation === 'TransactWriteItems')
        for (const [hash] of JSON.stringify(input).matchAll(/\$argon2id\$[^"]+/g))
          hide(hash.slice(-SECRET_CHARACTERS_MAX));
    },
    check(lines) {
      // Most lines differ only in these fields; deduplication shortens the search.
      const varying = /"(requestId":"[\da-f-]{36}|(milliseconds|callerId|Timestamp)":\d+)"?/g;
      const text = [...new Set(lines.map((line) => line.replace(varying, ''))), ...seen].join('\n');
      const hidden = [...secrets].filter(
        (secret) => ![...open].some((known) => known.includes(secret)),
      );
      const found = hidden.filter((secret) =>
        encodingsOf(secret).some((encoded) => text.includes(encoded)),
      );
      for (const memory of [secrets, open, seen]) memory.clear();
      assert.deepEqual(found, [], 'secrets in log lines, errors or headers');
    },
  };
}

/** How a secret could leak: plain, JSON, URL, hexadecimal, base64 at any offset. */
export function encodingsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const base64 = [0, 1, 2].map((before) =>
    // The first and last characters also encode bits of the surrounding text, so they are cut off.
    Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6)),
  );
  const plain = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret.toWellFormed()),
  ];
  const inUrls = base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'));
  return [...plain, bytes.toString('hex'), ...base64, ...inUrls];
}

function decodedOrRaw(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
