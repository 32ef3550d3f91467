import { createPublicKey } from 'node:crypto';
import { GetPublicKeyCommand, type KMSClient, SignCommand } from '@aws-sdk/client-kms';
import { abortBeforeDeadline, requireEnv } from '../runtime/execution-environment.ts';
import { sharedKms } from '../runtime/kms.ts';
import { logError } from '../runtime/log.ts';
import { settleAll, untilItSucceeds } from '../runtime/waiting.ts';
import { loadDecideCommit } from '../table/change.ts';
import type { Table } from '../table/table.ts';
import { claim } from '../table/write.ts';
import { ALGORITHM, type PublicJwk, publicKeyItemKey, thumbprint } from './token.ts';

/**
 * Signs with the private key in KMS. The signature has the 64 bytes that ES256 requires; SDK errors
 * are thrown.
 */
export interface Signer {
  readonly kid: string;
  sign(input: string): Promise<Buffer>;
}

/**
 * An adoption of the table deletes all public keys; for this long, tokens of a running function are
 * then rejected.
 */
const PUBLISHING_INTERVAL_MS = 60_000;

/**
 * Opens the signing keys of people's tokens. The first key signs, and is published in the table
 * before the first token is issued, so that every verifier knows it. The others, which are the next
 * or a previous key, are published too, but a failure there is only logged: it must not prevent a
 * login. KMS is called at the first login, and at the first one after each interval; after a
 * failure the next login tries again.
 */
export function openSigner(
  table: Table,
  keyIds = requireEnv('SIGNING_KEYS').split(','),
): () => Promise<Signer> {
  const kms = sharedKms();
  let signer: Promise<Signer> | undefined;
  let publishedAt = 0;

  async function publish(): Promise<Signer> {
    const [first, ...others] = keyIds as [string, ...string[]];
    const [kid] = await settleAll([
      publishKey(first),
      ...others.map((id) => publishKey(id).catch((error) => logError('keyNotPublished', error))),
    ]);
    return { kid, sign: signingWith(first, kms) };
  }

  async function publishKey(KeyId: string): Promise<string> {
    const jwk = await readPublicKey(KeyId, kms);
    const key = publicKeyItemKey(jwk.kid);
    // A key that is already published is left unchanged.
    const decide = (published: unknown) => ({
      writes: published ? [] : [claim(key, { jwk }, 'retry')],
      result: undefined,
    });
    await loadDecideCommit(table, () => table.get(key), decide);
    return jwk.kid;
  }

  return () => {
    const now = Date.now();
    if (!signer || now - publishedAt > PUBLISHING_INTERVAL_MS) {
      publishedAt = now;
      signer = publish().catch((error) => {
        signer = undefined;
        throw error;
      });
    }
    return signer;
  };
}

/**
 * Opens the signing keys of modules' tokens, of which the first one signs. They are not in the
 * table: whoever could write a public key there could sign without KMS.
 */
export function openModuleSigner(
  keyIds = requireEnv('MODULE_KEYS').split(','),
  kms: KMSClient = sharedKms(),
): () => Promise<Signer> {
  const [first] = keyIds as [string, ...string[]];
  return untilItSucceeds(async () => {
    const { kid } = await readPublicKey(first, kms);
    return { kid, sign: signingWith(first, kms) };
  });
}

/**
 * Opens the public keys that verify modules' tokens, each of which KMS tells once. A failure to
 * read another key than the first is only logged: that key may be disabled while it is replaced.
 * Throws SDK errors.
 */
export function openModuleKeys(): () => Promise<PublicJwk[]> {
  const open = (id: string) => untilItSucceeds(() => readPublicKey(id, sharedKms()));
  let reads: (() => Promise<PublicJwk>)[] | undefined;
  return async () => {
    reads ??= requireEnv('MODULE_KEYS').split(',').map(open);
    const read = (each: () => Promise<PublicJwk>, index: number) =>
      index === 0 ? each() : each().catch((error) => logError('keyNotRead', error));
    const keys = await settleAll(reads.map(read));
    return keys.filter((key) => key !== undefined);
  };
}

async function readPublicKey(KeyId: string, kms: KMSClient): Promise<PublicJwk> {
  const { PublicKey } = await kms.send(new GetPublicKeyCommand({ KeyId }), abortBeforeDeadline());
  return publicJwk(Buffer.from(PublicKey as Uint8Array));
}

const signingWith =
  (KeyId: string, kms: KMSClient): Signer['sign'] =>
  async (input) => {
    const { Signature } = await kms.send(
      new SignCommand({
        KeyId,
        Message: Buffer.from(input),
        MessageType: 'RAW',
        SigningAlgorithm: 'ECDSA_SHA_256',
      }),
      abortBeforeDeadline(),
    );
    return rawSignature(Buffer.from(Signature as Uint8Array));
  };

function publicJwk(spki: Buffer): PublicJwk {
  const { x, y } = createPublicKey({ key: spki, format: 'der', type: 'spki' }).export({
    format: 'jwk',
  }) as {
    x: string;
    y: string;
  };
  return { kty: 'EC', crv: 'P-256', x, y, kid: thumbprint({ x, y }), alg: ALGORITHM, use: 'sig' };
}

/**
 * Converts an ECDSA signature from DER, which KMS returns, to the 64 bytes of JWS (RFC 7518,
 * section 3.4). DER is a SEQUENCE of two INTEGERs; each becomes 32 bytes. An INTEGER omits leading
 * zeros, and has an extra zero byte if its first bit is set.
 */
export function rawSignature(der: Buffer): Buffer {
  const raw = Buffer.alloc(64);
  let offset = 2;
  for (const end of [32, 64]) {
    const length = der[offset + 1] as number;
    const digits = der.subarray(offset + 2, offset + 2 + length);
    const significant = digits.subarray(Math.max(0, length - 32));
    significant.copy(raw, end - significant.length);
    offset += 2 + length;
  }
  return raw;
}
