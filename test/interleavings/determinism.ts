import crypto, { createCipheriv, createDecipheriv } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { sharedKms } from '../../lib/runtime/kms.ts';
import type { Item } from '../../lib/table/table.ts';

/*
 * The code under exploration runs again for each history of responses, so it must make the same
 * calls each time: the clock stands still, waits end at once, and what is random is counted per
 * request.
 */

/** The present of every run, in milliseconds since 1970. */
export const NOW = Date.parse('2026-03-10T12:00:00Z');

/** What a run draws from: the name of the request, a digit, and how much it has drawn. */
let drawnBy = { name: '0', count: 0 };

/** Begins a run of a request, whose random values contain its name. */
export function beginRun(name: string): void {
  drawnBy = { name, count: 0 };
}

/** Works during a run without drawing from what it draws from. */
export async function apart<R>(work: () => Promise<R>): Promise<R> {
  const run = drawnBy;
  beginRun('0');
  const result = await work();
  drawnBy = run;
  return result;
}

/** A value that no other request draws, and the same request only once: `RND1000007…`. */
const draw = (): string => `RND${drawnBy.name}${String(++drawnBy.count).padStart(6, '0')}`;

const bytes = (size: number): Buffer =>
  Buffer.from(draw().padEnd(Math.ceil((size * 4) / 3), 'x'), 'base64url').subarray(0, size);
const uuid = (): string => draw().replace(/^RND(.)(.*)$/, '0000000$1-0000-4000-8000-000000$2');

/** A text in which the random values of a request are equal, however much it has drawn. */
export const withoutCounts = (text: string): string =>
  text.replace(/(0000000.-0000-4000-8000-000000)\d{6}/g, '$1').replace(/(RND.)\d{6}[\w-]*/g, '$1');

const ENVIRONMENT = {
  AUDIT_DAYS: '400',
  TOKEN_ISSUER: 'gatehouse',
  TOKEN_SECONDS: '3600',
  REMEMBERED_TOKEN_SECONDS: '36000',
  VALUES_KEY: 'values-key',
};

const REPLACED = { randomBytes: bytes, randomUUID: uuid, randomInt: () => 0 };

/** Runs work in which time and chance are as above. */
export async function deterministic<R>(work: () => Promise<R>): Promise<R> {
  const { randomBytes, randomUUID, randomInt } = crypto;
  const { setTimeout } = globalThis;
  const { now } = Date;
  const environment = { ...process.env };
  Object.assign(crypto, REPLACED);
  syncBuiltinESMExports();
  Date.now = () => NOW;
  // Waits before retries, whose random length is 0. The connections of `fetch` keep their timers.
  const wait = (callback: () => void, ms: number, ...values: []) =>
    ms === 0 ? queueMicrotask(callback) : setTimeout(callback, ms, ...values);
  Object.assign(globalThis, { setTimeout: wait });
  Object.assign(process.env, ENVIRONMENT);
  const kms = sharedKms();
  const { send } = kms;
  Object.assign(kms, { send: sendToKms });
  try {
    return await work();
  } finally {
    Object.assign(crypto, { randomBytes, randomUUID, randomInt });
    syncBuiltinESMExports();
    Date.now = now;
    Object.assign(kms, { send });
    Object.assign(globalThis, { setTimeout });
    for (const name of Object.keys(ENVIRONMENT))
      if (environment[name] === undefined) delete process.env[name];
      else process.env[name] = environment[name];
  }
}

/** The data key of every integration. */
const DATA_KEY = Buffer.alloc(32, 7);
const WRAPPED = Buffer.from('wrapped');
/** Before the nonce: the format, and the wrapped data key with its length. */
const HEAD_BYTES = 3 + WRAPPED.length;

/** KMS as the code under exploration sees it: it has one data key, and never fails. */
const sendToKms = async () => ({ Plaintext: DATA_KEY, CiphertextBlob: WRAPPED });

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
