import { createDecipheriv, createHash, pbkdf2Sync } from 'node:crypto';
import { text } from 'node:stream/consumers';

/*
 * Decrypts the secrets in records from UTMStack with the ENCRYPTION_KEY of its backend:
 *
 *   npx node examples/utmstack-secrets.ts < encrypted.jsonl > import.jsonl
 */

interface Parameter {
  readonly confName: string;
  readonly confValue: string;
  readonly secret?: boolean;
}

/**
 * Replaces the values of all secrets in a record, and removes secrets that are empty, because
 * Gatehouse stores no empty value. Throws for a value that was not encrypted under this key.
 */
export function decryptSecrets<
  Record extends { readonly type: string; readonly parameters?: readonly Parameter[] },
>(record: Record, decrypt: (value: string) => string): Record {
  if (!record.parameters) return record;
  const parameters = record.parameters
    .map((parameter) => {
      const { confName, confValue, secret } = parameter;
      if (!secret) return parameter;
      try {
        return { ...parameter, confValue: decrypt(confValue) };
      } catch (cause) {
        const remedy = 'Remove it from the file, and enter it after the import';
        throw new Error(`${confName} is not encrypted under this key. ${remedy}.`, { cause });
      }
    })
    .filter(({ confValue }) => confValue !== '');
  return { ...record, parameters };
}

/**
 * How UTMStack encrypts: AES-128 in CBC mode, PKCS #7 padding and base64. Key and initialization
 * vector are the same for all values: PBKDF2 with SHA-1, whose salt is the SHA-1 hash of the key.
 */
export function utmstackDecryption(encryptionKey: string): (value: string) => string {
  const salt = createHash('sha1').update(encryptionKey).digest();
  const key = pbkdf2Sync(encryptionKey, salt, 65_536, 16, 'sha1');
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  return (value) => {
    const decipher = createDecipheriv('aes-128-cbc', key, salt.subarray(0, 16));
    return utf8.decode(Buffer.concat([decipher.update(value, 'base64'), decipher.final()]));
  };
}

if (import.meta.main) {
  const { ENCRYPTION_KEY } = process.env;
  if (!ENCRYPTION_KEY) throw new Error('Set ENCRYPTION_KEY to the key of the backend of UTMStack.');
  const decrypt = utmstackDecryption(ENCRYPTION_KEY);
  const lines = (await text(process.stdin)).split('\n').filter((line) => line.trim() !== '');
  const records = lines.map((line, index) => {
    try {
      return `${JSON.stringify(decryptSecrets(JSON.parse(line), decrypt))}\n`;
    } catch (error) {
      console.error(`Line ${index + 1}: ${(error as Error).message}`);
      process.exitCode = 1;
      return '';
    }
  });
  // A part of the records would look like all of them.
  if (!process.exitCode) process.stdout.write(records.join(''));
}
