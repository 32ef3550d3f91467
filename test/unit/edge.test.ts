import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { machineOf, networkOf } from '../../lib/contract/source.ts';
import { openEdge } from '../../lib/http/edge.ts';

/* What a request must prove to be accepted as one from the edge. */

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const SECRET = '5f'.repeat(32);
const NEXT = '6a'.repeat(32);

/** The address that an edge with these hashes reads from headers, or the code of its rejection. */
function read(
  headers: Record<string, string>,
  hashes: string | undefined = sha256(SECRET),
): string | undefined {
  vi.stubEnv('EDGE_SECRET_HASHES', hashes);
  try {
    return openEdge()?.(headers);
  } catch (error) {
    return (error as { code: string }).code;
  }
}
afterEach(() => vi.unstubAllEnvs());

const from = (address: string, secret = SECRET) => ({
  'gatehouse-edge-secret': secret,
  'gatehouse-client-address': address,
});

describe('an environment without an edge', () => {
  it('has none, whatever headers a client sends', () => {
    vi.stubEnv('EDGE_SECRET_HASHES', undefined);

    expect(openEdge()).toBeUndefined();
  });
});

describe('an environment with an edge', () => {
  it.each(['203.0.113.7', '2001:db8::7', '::ffff:203.0.113.7'])(
    'reads the address of the client: %s',
    (address) => {
      expect(read(from(address))).toBe(address);
    },
  );

  it('accepts the secret of each hash while the secret is replaced', () => {
    const hashes = `${sha256(NEXT)},${sha256(SECRET)}`;

    expect([read(from('203.0.113.7'), hashes), read(from('203.0.113.7', NEXT), hashes)]).toEqual([
      '203.0.113.7',
      '203.0.113.7',
    ]);
    expect(read(from('203.0.113.7', 'another'), hashes)).toBe('not-from-edge');
  });

  it.each([
    ['no secret', {}],
    ['an empty secret', { 'gatehouse-edge-secret': '' }],
    ['another secret', { 'gatehouse-edge-secret': NEXT }],
    ['the hash of the secret', { 'gatehouse-edge-secret': sha256(SECRET) }],
    ['a longer secret', { 'gatehouse-edge-secret': `${SECRET}0` }],
    ['the secret in another case', { 'gatehouse-edge-secret': SECRET.toUpperCase() }],
    ['the secret twice', { 'gatehouse-edge-secret': `${SECRET},${SECRET}` }],
  ])('rejects a request with %s', (_, sent) => {
    expect(read({ 'gatehouse-client-address': '203.0.113.7', ...sent })).toBe('not-from-edge');
  });

  it('rejects an empty secret even if its hash is accepted by mistake', () => {
    expect(read(from('203.0.113.7', ''), sha256(''))).toBe('not-from-edge');
  });

  it.each([
    ['is missing', undefined],
    ['is empty', ''],
    ['is a name', 'client.example.com'],
    ['has a port', '203.0.113.7:4711'],
    ['has a port, in IPv6', '[2001:db8::7]:4711'],
    ['is one of several', '203.0.113.7,198.51.100.1'],
  ])(
    'rejects a request with the secret whose address %s, instead of sharing a count',
    (_, address) => {
      const { 'gatehouse-client-address': __, ...rest } = from('');

      expect(read(address === undefined ? rest : from(address))).toBe('not-from-edge');
    },
  );
});

describe('an IP address', () => {
  it.each([
    ['203.0.113.7', '203.0.113', '203.0.113.7'],
    ['203.0.114.7', '203.0.114', '203.0.114.7'],
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
