import { createHash } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { machineOf, networkOf } from '../../lib/contract/source.ts';
import { mediaTypeInUtf8 } from '../../lib/http/body.ts';
import { preconditionOf } from '../../lib/http/conditional.ts';
import { openCrossSitePolicy } from '../../lib/http/public-endpoint.ts';
import { openEdge } from '../../lib/http/request.ts';
import { cpuMsOf } from '../support/doubles/time.ts';

/* What follows from these headers is in test/api: conditional, cross-site, edge, wire. */

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
  ['a page of the service', 'POST', from('https://api.example'), true],
  ['a page of the service by a proxy', 'POST', from('https://b.c', 'same-origin'), true],
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

  const check = () => require({ headers, requestContext: { http: { method } } } as never);

  if (isAccepted) expect(check).not.toThrow();
  else expect(check).toThrow(expect.objectContaining({ code: 'cross-site' }));
});

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const SECRET = '5f'.repeat(32);
const ADDRESS = '203.0.113.7';

it.each<[string, string, string, boolean, string?]>([
  ['an address in IPv6', SECRET, '2001:db8::7', true],
  ['an address of IPv4 in IPv6', SECRET, `::ffff:${ADDRESS}`, true],
  ['an empty secret, even if its hash is accepted by mistake', '', ADDRESS, false, sha256('')],
  ['the hash of the secret', sha256(SECRET), ADDRESS, false],
  ['a longer secret', `${SECRET}0`, ADDRESS, false],
  ['the secret in another case', SECRET.toUpperCase(), ADDRESS, false],
  ['an empty address', SECRET, '', false],
  ['a name', SECRET, 'client.example.com', false],
  ['an address with a port', SECRET, `${ADDRESS}:4711`, false],
  ['an address in IPv6 with a port', SECRET, '[2001:db8::7]:4711', false],
  ['several addresses', SECRET, `${ADDRESS},198.51.100.1`, false],
])('a request with %s', (_, secret, address, isAccepted, hashes = sha256(SECRET)) => {
  vi.stubEnv('EDGE_SECRET_HASHES', hashes);
  const headers = { 'gatehouse-edge-secret': secret, 'gatehouse-client-address': address };

  if (isAccepted) expect(openEdge()?.(headers)).toBe(address);
  else
    expect(() => openEdge()?.(headers)).toThrow(expect.objectContaining({ code: 'not-from-edge' }));
});

describe('an IP address', () => {
  it.each([
    ['203.0.113.7', '203.0.113', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113', '203.0.113.7'],
    ['::FFFF:203.0.113.7', '203.0.113', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2', '2001:db8:1:2'],
    ['2001:DB8:0001:00AB::', '2001:db8:1:ab', '2001:db8:1:ab'],
    ['2001:db8::3:4:5:6', '2001:db8:0:0', '2001:db8:0:0'],
    ['2001:db8::ab:0:0:0:1', '2001:db8:0:ab', '2001:db8:0:ab'],
    ['::', '0:0:0:0', '0:0:0:0'],
    ['::1', '0:0:0:0', '0:0:0:0'],
    ['1::2:3:4:5:6:7', '1:0:2:3', '1:0:2:3'],
  ])('%s belongs to network %s and identifies machine %s', (address, network, machine) => {
    expect([networkOf(address), machineOf(address)]).toEqual([network, machine]);
  });

  it('that is invalid causes no error', () => {
    expect(() => [networkOf(''), machineOf('nowhere'), networkOf('a::b::c')]).not.toThrow();
  });
});
