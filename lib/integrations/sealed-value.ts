import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { DecryptCommand, GenerateDataKeyCommand, type KMSClient } from '@aws-sdk/client-kms';
import { abortBeforeDeadline, requireEnv } from '../runtime/execution-environment.ts';
import { sharedKms } from '../runtime/kms.ts';
import { integrationIdOf } from '../table/keys.ts';

/*
 * A parameter's value may be a secret. It is encrypted with AES-256-GCM under a data key, which KMS
 * wraps:
 *
 *   1 byte     format, 1
 *   2 bytes    length of the wrapped data key
 *   n bytes    the wrapped data key
 *   12 bytes   nonce
 *   16 bytes   authentication tag
 *   rest       ciphertext
 *
 * The parameter's id is additional authenticated data and the integration's id is in the KMS
 * encryption context, so a value decrypts only in its own item. The table name is left out so that
 * a table restored from a backup is readable.
 */
const FORMAT = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = 'aes-256-gcm';

const encryptionContext = (integrationId: number) => ({
  service: 'gatehouse',
  integration: String(integrationId),
});
/** Part of the format: a stored value is readable only with the same text. */
const additionalData = (parameterId: number) => Buffer.from(`CONF/${parameterId}/confValue`);

/** Encrypts a value for the parameter with this id. */
export type Seal = (value: string, parameterId: number) => Uint8Array;

/** How long a data key is used, and for how many integrations one is kept. */
const DATA_KEY_MAX_AGE_MS = 5 * 60_000;
const DATA_KEYS_MAX = 20;

/** Seals by the key of KMS and the id of the integration, oldest first. */
type DataKeys = Map<string, { readonly seal: Promise<Seal>; readonly usableUntil: number }>;
/** The data keys of this function instance, by the client that has generated them. */
const dataKeysOf = new WeakMap<KMSClient, DataKeys>();

/**
 * Encryption under a data key of one integration. A data key is used for five minutes, so that
 * consecutive changes of an integration's parameters do not wait for KMS. The random nonces of
 * AES-GCM allow 2^32 values under one key (NIST SP 800-38D, section 8.3).
 */
export function openSeal(
  integrationId: number,
  valuesKey = requireEnv('VALUES_KEY'),
  kms = sharedKms(),
): Promise<Seal> {
  const dataKeys: DataKeys = dataKeysOf.get(kms) ?? new Map();
  dataKeysOf.set(kms, dataKeys);
  const name = `${valuesKey} ${integrationId}`;
  const known = dataKeys.get(name);
  if (known && Date.now() < known.usableUntil) return known.seal;
  dataKeys.delete(name);
  if (dataKeys.size >= DATA_KEYS_MAX) dataKeys.delete(dataKeys.keys().next().value as string);
  const seal = sealUnderNewKey(integrationId, valuesKey, kms);
  dataKeys.set(name, { seal, usableUntil: Date.now() + DATA_KEY_MAX_AGE_MS });
  // After a failure the next request asks KMS again.
  seal.catch(() => dataKeys.delete(name));
  return seal;
}

async function sealUnderNewKey(
  integrationId: number,
  valuesKey: string,
  kms: KMSClient,
): Promise<Seal> {
  const { Plaintext, CiphertextBlob } = await kms.send(
    new GenerateDataKeyCommand({
      KeyId: valuesKey,
      KeySpec: 'AES_256',
      EncryptionContext: encryptionContext(integrationId),
    }),
    abortBeforeDeadline(),
  );
  const wrapped = Buffer.from(CiphertextBlob as Uint8Array);
  const dataKey = dataKeyOf(Plaintext);
  return (value, parameterId) => {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, dataKey, nonce);
    cipher.setAAD(additionalData(parameterId));
    const encrypted = Buffer.concat([cipher.update(value), cipher.final()]);
    const head = Buffer.from([FORMAT, wrapped.length >> 8, wrapped.length & 0xff]);
    return Buffer.concat([head, wrapped, nonce, cipher.getAuthTag(), encrypted]);
  };
}

/** A data key of KMS, imported once: given its bytes, a cipher would import them at each use. */
const dataKeyOf = (plaintext: Uint8Array | undefined): KeyObject =>
  createSecretKey(plaintext as Uint8Array);

/** A sealed value has been modified, or was sealed for another parameter of the integration. */
export class UnreadableValue extends Error {}

/** Below the number of connections, so that no call to KMS times out while it waits for one. */
export const CONCURRENT_DECRYPTIONS_MAX = 32;

/**
 * Decrypts the sealed value of the parameter with this id. Fails with UnreadableValue, and with
 * errors of KMS, as for another integration's value.
 */
export type Unseal = (sealed: Uint8Array, parameterId: number) => Promise<string>;

/**
 * Decryption for one request: values that were sealed under one data key, as those that somebody
 * enters one after the other are, cost one call to KMS.
 */
export function openUnseal({
  valuesKey = requireEnv('VALUES_KEY'),
  kms = sharedKms(),
  onDecryption,
}: {
  readonly valuesKey?: string;
  readonly kms?: KMSClient;
  /** Called for each call to KMS. */
  readonly onDecryption?: () => void;
} = {}): Unseal {
  const dataKeys = new Map<string, Promise<KeyObject>>();

  async function unwrap(wrapped: Buffer, integrationId: number): Promise<KeyObject> {
    onDecryption?.();
    const { Plaintext } = await kms.send(
      new DecryptCommand({
        KeyId: valuesKey,
        CiphertextBlob: wrapped,
        EncryptionContext: encryptionContext(integrationId),
      }),
      abortBeforeDeadline(),
    );
    return dataKeyOf(Plaintext);
  }

  return async (sealed, parameterId) => {
    const { wrapped, nonce, tag, encrypted } = orUnreadable(() => partsOf(sealed));
    const integrationId = integrationIdOf(parameterId);
    const name = `${integrationId} ${wrapped.toString('base64')}`;
    const unwrapping = dataKeys.get(name) ?? unwrap(wrapped, integrationId);
    dataKeys.set(name, unwrapping);
    const dataKey = await unwrapping;
    return orUnreadable(() => {
      const decipher = createDecipheriv(CIPHER, dataKey, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(additionalData(parameterId));
      decipher.setAuthTag(tag);
      return Buffer.concat([decipher.update(encrypted), decipher.final()]).toString();
    });
  };
}

function orUnreadable<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new UnreadableValue('A stored parameter value is not readable', { cause });
  }
}

function partsOf(sealed: Uint8Array) {
  const bytes = Buffer.from(sealed);
  if (bytes[0] !== FORMAT) throw new Error('Unknown format');
  let offset = 3;
  const take = (length: number) => {
    offset += length;
    return bytes.subarray(offset - length, offset);
  };
  const wrapped = take(bytes.readUInt16BE(1));
  return {
    wrapped,
    nonce: take(NONCE_BYTES),
    tag: take(TAG_BYTES),
    encrypted: bytes.subarray(offset),
  };
}
