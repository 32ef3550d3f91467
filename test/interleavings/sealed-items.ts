import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { Item } from '../../lib/table/table.ts';

/** The data key of every integration. */
const DATA_KEY = Buffer.alloc(32, 7);
const WRAPPED = Buffer.from('wrapped');
/** Before the nonce: the format, and the wrapped data key with its length. */
const HEAD_BYTES = 3 + WRAPPED.length;

/** KMS as the code under exploration sees it: it has one data key, and never fails. */
export const sendToKms = async () => ({ Plaintext: DATA_KEY, CiphertextBlob: WRAPPED });

/** A value as it is stored in the parameter with this id. */
export function sealedValue(value: string, id: number): Uint8Array {
  const nonce = Buffer.alloc(12);
  const cipher = createCipheriv('aes-256-gcm', DATA_KEY, nonce);
  cipher.setAAD(Buffer.from(`CONF/${id}/confValue`));
  const text = Buffer.concat([cipher.update(value), cipher.final()]);
  const head = Buffer.from([1, 0, WRAPPED.length]);
  return Buffer.concat([head, WRAPPED, nonce, cipher.getAuthTag(), text]);
}

/** The value of a stored parameter. */
export function openedValue({ id, confValue }: Item): string {
  const sealed = Buffer.from(confValue as Uint8Array).subarray(HEAD_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', DATA_KEY, sealed.subarray(0, 12));
  decipher.setAAD(Buffer.from(`CONF/${id}/confValue`));
  decipher.setAuthTag(sealed.subarray(12, 28));
  return decipher.update(sealed.subarray(28), undefined, 'utf8') + decipher.final('utf8');
}
