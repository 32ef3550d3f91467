import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Received, Sent } from '../support/instance/launch.ts';
import { encodingsOf, watchSecrets } from '../support/instance/watch-secrets.ts';

/* Every test over HTTP relies on these checks to find leaked secrets. */

const PASSWORD = 'secret/in?a+mine"é';
const TOKEN = 'header.claims.signature-of-it';
const SENT = { body: { password: PASSWORD } };

function check(sent: Sent, received: Partial<Received>, lines: string[] = []): void {
  const watched = watchSecrets();
  const response = { status: 200, headers: {}, body: undefined, text: '', ...received };
  watched.exchanged('/api/users', sent, response);
  watched.check(lines);
}

it.each<[string, Sent, Partial<Received>, string[]]>([
  ['an error response', SENT, { status: 400, text: `"${PASSWORD}" is wrong` }, []],
  ['a header', SENT, { headers: { location: `/${encodeURIComponent(PASSWORD)}` } }, []],
  [
    'a header other than Authorization in the response to a log-in',
    {},
    { body: { id_token: TOKEN }, headers: { location: `Bearer ${TOKEN}` } },
    [],
  ],
  ['a line with a value', { body: { confValue: 'my-api-key-1' } }, {}, ['my-api-key-1']],
  ['a line with a reset key', { body: { key: 'reset-key-1' } }, {}, ['reset-key-1']],
])('a secret that a test has sent or received is found in %s', (_, sent, received, lines) => {
  expect(() => check(sent, received, lines)).toThrow('secrets in log lines');
});

it('a secret is ignored where it belongs, when it is also a login, or when it is too short', () => {
  check({}, { body: { id_token: TOKEN }, headers: { authorization: `Bearer ${TOKEN}` } });
  check({ body: { login: 'somebody', password: 'somebody' } }, {}, ['somebody']);
  check({ body: { password: 'short' } }, {}, ['short']);
});

it('a secret is found in each encoding, and in base64 whatever surrounds it', () => {
  const encodings = encodingsOf(PASSWORD);

  expect(encodings).toEqual(
    expect.arrayContaining([PASSWORD, Buffer.from(PASSWORD).toString('hex')]),
  );
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (before, after) => {
      const bytes = Buffer.from(before + PASSWORD + after);

      for (const encoding of ['base64', 'base64url'] as const)
        expect(encodings.some((each) => bytes.toString(encoding).includes(each))).toBe(true);
    }),
  );
});
