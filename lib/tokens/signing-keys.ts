import { createPublicKey } from 'node:crypto';
import { GetPublicKeyCommand, SignCommand } from '@aws-sdk/client-kms';
import { inTime } from '../runtime/aws.ts';
import { requireEnv } from '../runtime/env.ts';
import { sharedKms } from '../runtime/kms.ts';
import { logError } from '../runtime/log.ts';
import { settleAll } from '../runtime/settle-all.ts';
import { change } from '../table/change.ts';
import { notBeforeKey, signingKeyKey } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import { claim } from '../table/write.ts';
import { thumbprint } from './thumbprint.ts';
import { ALGORITHM } from './token.ts';

/** A public key of ours, as RFC 7517 writes it. */
export interface PublicJwk {
  readonly kty: 'EC';
  readonly crv: 'P-256';
  readonly x: string;
  readonly y: string;
  readonly kid: string;
  readonly alg: 'ES256';
  readonly use: 'sig';
}

/** What verifies tokens. */
export interface KeySet {
  readonly keys: PublicJwk[];
  /** Tokens that were issued earlier are rejected; seconds since 1970. Moved when a table is put into service after a restore. */
  readonly notBefore: number;
}

/** All public keys that verify tokens, and how old a token may be. */
export async function readKeySet(table: Table): Promise<KeySet> {
  const items = await table.query('JWKS');
  const isNotBefore = ({ sk }: Item) => sk === notBeforeKey.sk;
  return {
    keys: items.filter((item) => !isNotBefore(item)).map((item) => item.jwk as PublicJwk),
    notBefore: (items.find(isNotBefore)?.seconds as number | undefined) ?? 0,
  };
}

/** Signs with the private key in KMS; the signature is the 64 bytes that ES256 wants. */
export interface Signer {
  readonly kid: string;
  sign(input: string): Promise<Buffer>;
}

/**
 * The keys that the stack names: the first one signs, and is published in the table before the first token is out, so that
 * whoever verifies can know it. The others are published too, unless they are out of use by now: a key that is to follow,
 * or that has been followed, keeps nobody from logging in. Asked for at the first login; what failed is tried again at the next.
 */
export function openSigner(table: Table, keyIds = requireEnv('SIGNING_KEYS').split(',')): () => Promise<Signer> {
  const kms = sharedKms();
  let signer: Promise<Signer> | undefined;

  async function publish(): Promise<Signer> {
    const [first = '', ...others] = keyIds;
    const [kid] = await settleAll([
      publishKey(first),
      ...others.map((id) => publishKey(id).catch((error) => logError('keyNotPublished', error))),
    ]);
    return { kid, sign };
  }

  async function publishKey(KeyId: string): Promise<string> {
    const { PublicKey } = await kms.send(new GetPublicKeyCommand({ KeyId }), inTime());
    const jwk = publicJwk(Buffer.from(PublicKey as Uint8Array));
    const key = signingKeyKey(jwk.kid);
    // A key that is there already stays as it is.
    const decide = (there: unknown) => ({ writes: there ? [] : [claim(key, { jwk }, 'retry')], result: undefined });
    await change(table, () => table.get(key), decide);
    return jwk.kid;
  }

  async function sign(input: string): Promise<Buffer> {
    const { Signature } = await kms.send(
      new SignCommand({
        KeyId: keyIds[0],
        Message: Buffer.from(input),
        MessageType: 'RAW',
        SigningAlgorithm: 'ECDSA_SHA_256',
      }),
      inTime(),
    );
    return rawSignature(Buffer.from(Signature as Uint8Array));
  }

  return () => {
    signer ??= publish().catch((error) => {
      signer = undefined;
      throw error;
    });
    return signer;
  };
}

function publicJwk(spki: Buffer): PublicJwk {
  const { x, y } = createPublicKey({ key: spki, format: 'der', type: 'spki' }).export({ format: 'jwk' }) as {
    x: string;
    y: string;
  };
  return { kty: 'EC', crv: 'P-256', x, y, kid: thumbprint({ x, y }), alg: ALGORITHM, use: 'sig' };
}

/**
 * KMS answers an ASN.1 SEQUENCE of two INTEGERs; JWS (RFC 7518, 3.4) wants each as 32 bytes. An INTEGER drops leading
 * zeros, and has one more byte where it would look negative.
 */
export function rawSignature(der: Buffer): Buffer {
  const raw = Buffer.alloc(64);
  let at = 2;
  for (const end of [32, 64]) {
    const length = der[at + 1] as number;
    const digits = der.subarray(at + 2, at + 2 + length);
    const significant = digits.subarray(Math.max(0, length - 32));
    significant.copy(raw, end - significant.length);
    at += 2 + length;
  }
  return raw;
}
