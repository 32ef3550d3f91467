import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { machineOf, networkOf } from '../../lib/contract/source.ts';
import { openEdge } from '../../lib/http/edge.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const SECRET = '5f'.repeat(32);
const ADDRESS = '203.0.113.7';
afterEach(() => vi.unstubAllEnvs());

/* What else the edge must prove is in test/api/edge.test.ts. */
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
