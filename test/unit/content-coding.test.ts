import { expect, it } from 'vitest';
import { preferredCoding } from '../../lib/status/content-coding.ts';

it.each([
  ['br', 'gzip, deflate, br, zstd'],
  ['br', 'BR;Q=1'],
  ['br', '*'],
  ['br', '*;q=0.1'],
  ['br', 'identity;q=0.5, *;q=0.5'],
  ['br', 'gzip;q=0.5, br;q=0.5'],
  ['br', 'br ; q=0.001'],
  ['gzip', 'gzip;q=1.0, br;q=0.9'],
  ['gzip', 'br;q=0, *'],
  ['gzip', 'br;q=none, gzip;q=0.1'],
  ['gzip', 'identity;q=0, gzip;q=0.1'],
  [undefined, undefined],
  [undefined, 'deflate, zstd'],
  [undefined, 'br;q=0, gzip;q=0'],
  [undefined, 'identity;q=1, *;q=0'],
  [undefined, 'identity, gzip;q=0.9, br;q=0.9'],
  [undefined, 'gzip2, xbr'],
])('prefers %s with Accept-Encoding: %s', (coding, accepted) => {
  expect(preferredCoding(accepted)).toBe(coding);
});
