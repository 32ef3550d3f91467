import { describe, expect, it, vi } from 'vitest';
import { mediaTypeInUtf8 } from '../../lib/http/body.ts';
import { preconditionOf } from '../../lib/http/conditional.ts';
import { openCrossSitePolicy } from '../../lib/http/cross-site.ts';
import { cpuMsOf } from '../support/doubles/cpu-time.ts';

/* What follows from these headers is in test/api: conditional, cross-site, wire. */

describe('the precondition of a change', () => {
  it.each<[string, Record<string, string>, boolean]>([
    ['any version', { 'if-match': ' * ' }, true],
    ['one of several', { 'if-match': ',"0" , ,W/"1-a","1-a",' }, true],
    [
      'the version beside a tag beyond ASCII and an empty one',
      { 'if-match': '"ä","","1-a"' },
      true,
    ],
    ['a weak tag', { 'if-match': 'W/"1-a"' }, false],
    ['no tag', { 'if-match': '1-a' }, false],
    ['a tag in other text', { 'if-match': 'x"1-a"' }, false],
    ['a tag before other text', { 'if-match': '"1-a"x' }, false],
    ['a tag beside other text', { 'if-match': '"1-a", x' }, false],
    ['a prefix in another case', { 'if-match': 'w/"1-a"' }, false],
    ['a tag with a space', { 'if-match': '"0 0","1-a"' }, false],
    ['a tag with a control character', { 'if-match': '"\x7f","1-a"' }, false],
    ['tags without a comma', { 'if-match': '"0""1-a"' }, false],
    ['not this version', { 'if-none-match': '"0","1-a" , W/"2"' }, false],
    ['not a weak tag', { 'if-none-match': 'W/"1-a"' }, false],
    ['not any version', { 'if-none-match': ' * ' }, false],
    ['text that is no list', { 'if-none-match': 'x"1-a"' }, true],
    ['any version in a list', { 'if-none-match': '*, "1-a"' }, true],
    ['nothing', { 'if-none-match': '' }, true],
    ['another version and none of others', { 'if-match': '"7"', 'if-none-match': '"0"' }, false],
  ])('of %s %j includes it: %s', (_, headers, isIncluded) => {
    expect(preconditionOf(headers)?.includes('1-a')).toBe(isIncluded);
  });
});

it.each([
  'application/json',
  ' Application/JSON\t',
  'application/json;',
  'application/json ; ;; ',
  'application/json;charset=utf-8;',
  'application/json; charset="utf-8" ; profile=x',
  'application/json; Charset = UTF8',
  String.raw`application/json; charset="u\tf-8"; q="a;\"=, b"`,
  'application/json; profile="; charset=iso-8859-1"',
])('%j is application/json in UTF-8', (header) => {
  expect(mediaTypeInUtf8(header)).toBe('application/json');
});

it.each([
  '',
  'application',
  'application/',
  '/json',
  'application /json',
  'application/json x',
  'application/json, text/plain',
  'application/json; =x',
  'application/json; charset',
  'application/json; charset=',
  'application/json; charset=""',
  'application/json; charset="utf-8',
  'application/json; charset="utf-8"x',
  'application/json; charset=utf-8 x',
  'application/json; charset=xutf-8',
  'application/json; charset=utf-8x',
  'application/json; charset=utf-8; CHARSET=utf-16',
])('%j is malformed or in another charset', (header) => {
  expect(mediaTypeInUtf8(header)).toBeUndefined();
});

it.each([
  ['application/jsonx', 'application/jsonx'],
  ['x-application/json', 'x-application/json'],
  ['Text/Plain; format=flowed', 'text/plain'],
])('%j is %j', (header, type) => {
  expect(mediaTypeInUtf8(header)).toBe(type);
});

it('is read in linear time', async () => {
  const read = () => {
    for (const part of [' ', ';', '"', '\\', 'a', '; a', '="', '; a="\\'])
      mediaTypeInUtf8(`application/json;${part.repeat(100_000)}!`);
  };

  expect(await cpuMsOf(read)).toBeLessThan(1000);
});

type Headers = Record<string, string>;

const LINK = {
  'sec-fetch-site': 'cross-site',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
};
const from = (origin: string, site?: string): Headers => ({
  host: 'api.example',
  origin,
  ...(site && { 'sec-fetch-site': site }),
});

it.each<[string, string, Headers, boolean, Record<string, string>?]>([
  ['a client that is no browser', 'POST', {}, true],
  ['a page of the service', 'POST', from('https://api.example'), true],
  ['a page of the service without TLS', 'POST', from('http://api.example'), false],
  ['an extension', 'POST', from('chrome-extension://id', 'none'), true],
  ['a page of an allowed host of the site', 'POST', from('https://b.example', 'same-site'), true],
  ['two sites', 'POST', from('https://evil.example', 'none,none'), false],
  ['a read of a page of another host', 'GET', from('https://evil.example'), true],
  ['an allowed origin in upper case', 'POST', from('HTTPS://B.EXAMPLE'), false],
  ['a host that begins like an allowed one', 'POST', from('https://b.example.evil'), false],
  ['two origins', 'POST', from('https://evil.example,https://b.example'), false],
  ['a form of another site', 'POST', LINK, false],
  ['a link of another site', 'HEAD', LINK, true],
  ['a frame of another site', 'GET', { ...LINK, 'sec-fetch-dest': 'iframe' }, false],
  ['a page of the edge', 'POST', from('https://edge.example'), true, { EDGE_HOST: 'edge.example' }],
  ['a page of its origin', 'POST', from('https://api.example'), false, { EDGE_HOST: 'e.example' }],
  ['any page without origins', 'POST', from('https://b.example'), false, { CORS_ORIGINS: '' }],
])('%s: %s with %j is accepted: %s', (_, method, headers, isAccepted, environment = {}) => {
  vi.stubEnv('CORS_ORIGINS', 'https://a.example,https://b.example');
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  const require = openCrossSitePolicy();
  vi.unstubAllEnvs();

  const check = () => require({ headers, requestContext: { http: { method } } } as never);

  if (isAccepted) expect(check).not.toThrow();
  else expect(check).toThrow(expect.objectContaining({ code: 'cross-site' }));
});
