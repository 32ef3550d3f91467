import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { DecryptCommand, GenerateDataKeyCommand } from '@aws-sdk/client-kms';
import { abortBeforeDeadline } from '../runtime/aws.ts';
import { requireEnv } from '../runtime/env.ts';
import { sharedKms } from '../runtime/kms.ts';
import { integrationIdOf } from '../table/keys.ts';

/*
 * A parameter's value may be a secret. It is encrypted with AES-256-GCM under its own data key, which KMS wraps:
 *
 *   1 byte     format, 1
 *   2 bytes    length of the wrapped data key
 *   n bytes    the wrapped data key
 *   12 bytes   nonce
 *   16 bytes   authentication tag
 *   rest       ciphertext
 *
 * The parameter's id is additional authenticated data and the integration's id is in the KMS encryption context, so a
 * value decrypts only in its own item. The table name is left out so that a table restored from a backup is readable.
 */
const FORMAT = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = 'aes-256-gcm';

const encryptionContext = (integrationId: number) => ({ service: 'gatehouse', integration: String(integrationId) });
const additionalData = (parameterId: number) => Buffer.from(`CONF/${parameterId}/confValue`);

/** Encrypts a value for the parameter with this id. */
export type Seal = (value: string, parameterId: number) => Uint8Array;

/** Fetches a data key for one integration. Use it for one request only, so no key and nonce pair is ever reused. */
export async function openSeal(integrationId: number): Promise<Seal> {
  const { Plaintext, CiphertextBlob } = await sharedKms().send(
    new GenerateDataKeyCommand({
      KeyId: requireEnv('VALUES_KEY'),
      KeySpec: 'AES_256',
      EncryptionContext: encryptionContext(integrationId),
    }),
    abortBeforeDeadline(),
  );
  const wrapped = Buffer.from(CiphertextBlob as Uint8Array);
  return (value, parameterId) => {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, Plaintext as Uint8Array, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(additionalData(parameterId));
    const encrypted = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()]);
    const head = Buffer.from([FORMAT, wrapped.length >> 8, wrapped.length & 0xff]);
    return Buffer.concat([head, wrapped, nonce, cipher.getAuthTag(), encrypted]);
  };
}

/** Decrypts a sealed value. Throws when it was sealed for another parameter or has been modified. */
export async function unseal(sealed: Uint8Array, parameterId: number): Promise<string> {
  const bytes = Buffer.from(sealed);
  if (bytes[0] !== FORMAT) throw new Error('A stored parameter value is not readable');
  let offset = 3;
  const take = (length: number) => {
    offset += length;
    return bytes.subarray(offset - length, offset);
  };
  const wrapped = take(bytes.readUInt16BE(1));
  const nonce = take(NONCE_BYTES);
  const tag = take(TAG_BYTES);
  const { Plaintext } = await sharedKms().send(
    new DecryptCommand({
      KeyId: requireEnv('VALUES_KEY'),
      CiphertextBlob: wrapped,
      EncryptionContext: encryptionContext(integrationIdOf(parameterId)),
    }),
    abortBeforeDeadline(),
  );
  const decipher = createDecipheriv(CIPHER, Plaintext as Uint8Array, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(additionalData(parameterId));
  decipher.setAuthTag(tag);
  return decipher.update(bytes.subarray(offset), undefined, 'utf8') + decipher.final('utf8');
}
