import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { DecryptCommand, GenerateDataKeyCommand } from '@aws-sdk/client-kms';
import { inTime } from '../runtime/aws.ts';
import { requireEnv } from '../runtime/env.ts';
import { sharedKms } from '../runtime/kms.ts';
import { integrationIdOf } from '../table/keys.ts';

/*
 * A parameter's value may be a secret. It is stored under AES-256-GCM with a data key of its own, which KMS wraps:
 *
 *   1 byte     format, 1
 *   2 bytes    length of the wrapped data key
 *   n bytes    the wrapped data key
 *   12 bytes   nonce
 *   16 bytes   tag
 *   rest       the value, encrypted
 *
 * The parameter's id is authenticated with it, the integration's id by KMS too: a sealed value opens in its own item
 * and nowhere else. The table's name is not part of it, or a table restored from a backup could not be read.
 */
const FORMAT = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = 'aes-256-gcm';

const context = (integrationId: number) => ({ service: 'gatehouse', integration: String(integrationId) });
const boundTo = (parameterId: number) => Buffer.from(`CONF/${parameterId}/confValue`);

/** Seals a value for the parameter with this id. */
export type Seal = (value: string, parameterId: number) => Uint8Array;

/** Fetches a data key for parameters of one integration. It serves one request: values never share a key and a nonce. */
export async function openSeal(integrationId: number): Promise<Seal> {
  const { Plaintext, CiphertextBlob } = await sharedKms().send(
    new GenerateDataKeyCommand({
      KeyId: requireEnv('VALUES_KEY'),
      KeySpec: 'AES_256',
      EncryptionContext: context(integrationId),
    }),
    inTime(),
  );
  const wrapped = Buffer.from(CiphertextBlob as Uint8Array);
  return (value, parameterId) => {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, Plaintext as Uint8Array, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(boundTo(parameterId));
    const encrypted = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()]);
    const head = Buffer.from([FORMAT, wrapped.length >> 8, wrapped.length & 0xff]);
    return Buffer.concat([head, wrapped, nonce, cipher.getAuthTag(), encrypted]);
  };
}

/** The value in a sealed one. Throws when it was sealed for another parameter or has been changed. */
export async function unseal(sealed: Uint8Array, parameterId: number): Promise<string> {
  const bytes = Buffer.from(sealed);
  if (bytes[0] !== FORMAT) throw new Error('A stored parameter value is not readable');
  let at = 3;
  const next = (length: number) => {
    at += length;
    return bytes.subarray(at - length, at);
  };
  const wrapped = next(bytes.readUInt16BE(1));
  const nonce = next(NONCE_BYTES);
  const tag = next(TAG_BYTES);
  const { Plaintext } = await sharedKms().send(
    new DecryptCommand({
      KeyId: requireEnv('VALUES_KEY'),
      CiphertextBlob: wrapped,
      EncryptionContext: context(integrationIdOf(parameterId)),
    }),
    inTime(),
  );
  const decipher = createDecipheriv(CIPHER, Plaintext as Uint8Array, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(boundTo(parameterId));
  decipher.setAuthTag(tag);
  return decipher.update(bytes.subarray(at), undefined, 'utf8') + decipher.final('utf8');
}
