import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canaries, encodingsOf } from '../support/instance/canaries.ts';
import type { Received, Sent } from '../support/instance/launch.ts';

const PASSWORD = 'canary/in?a+mine"é';

function watch(
  sent: Sent,
  { path = '/api/users', ...received }: Partial<Received> & { path?: string } = {},
) {
  const watched = canaries();
  watched.exchanged(path, sent, {
    status: 200,
    headers: {},
    body: undefined,
    text: '',
    ...received,
  });
  return watched;
}

describe('a secret that a test has sent', () => {
  const sent = { body: { password: PASSWORD } };

  it.each<[string, string]>([
    ['in plain text', `password: ${PASSWORD}`],
    ['in JSON', JSON.stringify({ body: { password: PASSWORD } })],
    ['in a URL', `/?q=${encodeURIComponent(PASSWORD)}`],
    ['in base64', Buffer.from(PASSWORD).toString('base64')],
    ['in base64url', Buffer.from(PASSWORD).toString('base64url')],
    [
      'in base64 together with the surrounding text',
      Buffer.from(`a body: {${PASSWORD}}`).toString('base64'),
    ],
    ['in hexadecimal', Buffer.from(PASSWORD).toString('hex')],
  ])('is found in a log line %s', (_, line) => {
    expect(() => watch(sent).check(['innocent', line])).toThrow('secrets in log lines');
  });

  it('is found in an error response', () => {
    expect(() => watch(sent, { status: 400, text: `"${PASSWORD}" is wrong` }).check([])).toThrow(
      'secrets',
    );
  });

  it('is found in a response header', () => {
    expect(() =>
      watch(sent, { headers: { location: `/${encodeURIComponent(PASSWORD)}` } }).check([]),
    ).toThrow();
  });

  it.each<[string, Sent, string]>([
    ['a parameter value', { body: { confValue: 'my-api-key-1' } }, 'my-api-key-1'],
    ['the signature of a token', { token: 'header.claims.signature-of-it' }, 'signature-of-it'],
    ['a reset key', { body: { key: 'reset-key-1' } }, 'reset-key-1'],
  ])('is found when it is %s', (_, other, line) => {
    expect(() => watch(other).check([line])).toThrow('secrets');
  });

  it('is found when it is the token of a log-in in another header than Authorization', () => {
    const token = 'header.claims.signature-of-it';
    const loggedIn = (name: string) =>
      watch({}, { body: { id_token: token }, headers: { [name]: `Bearer ${token}` } });

    expect(() => loggedIn('location').check([])).toThrow('secrets');
    loggedIn('authorization').check([]);
  });

  it('is ignored when it is also a login or too short to be distinctive', () => {
    watch({ body: { login: 'somebody', password: 'somebody' } }).check(['somebody']);
    watch({ body: { password: 'short' } }).check(['short']);
  });
});

it('a base64 encoding of a secret is found whatever surrounds it', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }),
      fc.string({ minLength: 8 }),
      fc.string(),
      (before, secret, after) => {
        const text = Buffer.from(before + secret + after).toString('base64');

        expect(encodingsOf(secret).some((encoded) => text.includes(encoded))).toBe(true);
      },
    ),
  );
});
