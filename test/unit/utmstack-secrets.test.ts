import { expect, it } from 'vitest';
import { decryptSecrets, utmstackDecryption } from '../../examples/utmstack-secrets.ts';

// Encrypted by Java's PBKDF2WithHmacSHA1 and AES/CBC/PKCS5Padding, as UTMStack does it.
const SECRET = 'odaib8oRyZ8ahvv3I7VWbmu+EIwPxAj4vswT1clEJzc=';
const EMPTY = 'FjdjDi1jxxBaieBJW6E8dw==';
const UMLAUTS = 'nRqdYL3iKgjkbqZQQIy4Ww==';

const region = { confName: 'region', confValue: 'eu-central-1' };
const key = { confName: 'key', confValue: SECRET, secret: true };
const decrypt = utmstackDecryption('a key of UTMStack');

it('decrypts the secrets that UTMStack encrypted, and only them', () => {
  const record = {
    type: 'integration',
    parameters: [
      region,
      key,
      { confName: 'empty', confValue: EMPTY, secret: true },
      { confName: 'password', confValue: UMLAUTS, secret: true },
    ],
  };
  expect(decryptSecrets(record, decrypt)).toEqual({
    type: 'integration',
    parameters: [
      region,
      { confName: 'key', confValue: 'wJalrXUtnFEMI/K7MDENG', secret: true },
      { confName: 'password', confValue: 'pässwörd', secret: true },
    ],
  });
  const user = { type: 'user', login: 'ann' };
  expect(decryptSecrets(user, decrypt)).toEqual(user);
});

it.each([
  ['under another key', utmstackDecryption('another key'), SECRET],
  ['not at all', decrypt, 'wJalrXUtnFEMI/K7MDENG'],
])('names a secret that was encrypted %s', (_how, decryption, confValue) => {
  const record = { type: 'integration', parameters: [{ ...key, confValue }] };
  expect(() => decryptSecrets(record, decryption)).toThrow(/^key is not encrypted under this key/);
});
