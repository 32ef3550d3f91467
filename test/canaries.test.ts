import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canaries, spellings } from './support/canaries.ts';
import type { Received, Sent } from './support/launch.ts';

const PASSWORD = 'canary/in?a+mine"é';

function watch(sent: Sent, { path = '/api/users', ...received }: Partial<Received> & { path?: string } = {}) {
  const birds = canaries();
  birds.exchanged('POST', path, sent, { status: 200, headers: {}, body: undefined, text: '', ...received });
  return birds;
}

describe('a secret that a test has sent', () => {
  const sent = { body: { password: PASSWORD } };

  it.each<[string, string]>([
    ['as it is', `password: ${PASSWORD}`],
    ['in JSON', JSON.stringify({ body: { password: PASSWORD } })],
    ['in a URL', `/?q=${encodeURIComponent(PASSWORD)}`],
    ['in base64', Buffer.from(PASSWORD).toString('base64')],
    ['in base64 for URLs', Buffer.from(PASSWORD).toString('base64url')],
    ['in base64 with what stood around', Buffer.from(`a body: {${PASSWORD}}`).toString('base64')],
    ['in hexadecimal', Buffer.from(PASSWORD).toString('hex')],
  ])('is found in a line %s', (_, line) => {
    expect(() => watch(sent).check(['innocent', line])).toThrow('secrets in log lines');
  });

  it('is found in an error', () => {
    expect(() => watch(sent, { status: 400, text: `"${PASSWORD}" is wrong` }).check([])).toThrow('secrets');
  });

  it('is found in a header', () => {
    expect(() => watch(sent, { headers: { location: `/${encodeURIComponent(PASSWORD)}` } }).check([])).toThrow();
  });

  it.each<[string, Sent, string]>([
    ['a value', { body: { confValue: 'my-api-key-1' } }, 'my-api-key-1'],
    ['the signature of a token', { token: 'header.claims.signature-of-it' }, 'signature-of-it'],
    ['a key', { body: { key: 'reset-key-1' } }, 'reset-key-1'],
  ])('is found when it is %s', (_, other, line) => {
    expect(() => watch(other).check([line])).toThrow('secrets');
  });

  it('is none when it is a login as well, or too short to tell', () => {
    watch({ body: { login: 'somebody', password: 'somebody' } }).check(['somebody']);
    watch({ body: { password: 'short' } }).check(['short']);
  });
});

it('whatever stands around, a spelling in base64 is found', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ minLength: 8 }), fc.string(), (before, secret, after) => {
      const text = Buffer.from(before + secret + after).toString('base64');

      expect(spellings(secret).some((spelling) => text.includes(spelling))).toBe(true);
    }),
  );
});
