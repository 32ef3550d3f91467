import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
} from 'node:crypto';
import type { AwsResponse } from '../calls/aws-call.ts';
import { keyArn } from '../stack/template.ts';

/** The file in a state folder that holds all keys by their logical ids, former ones included. */
export const KEYS_FILE = 'keys.json';

export interface StoredKey {
  /** A UUID of version 8, made from the material; of version 4 in folders of earlier versions. */
  readonly id: string;
  readonly spec: string;
  /** Base64. */
  readonly material: string;
}

const SECRET_BYTES = 32;

type Input = Record<string, unknown>;
type Operation = (key: StoredKey, input: Input, arn: string) => Record<string, unknown>;

export function createKey(spec: string): StoredKey {
  const material = createMaterial(spec);
  return { id: idOf(material), spec, material: material.toString('base64') };
}

function createMaterial(spec: string): Buffer {
  if (spec === 'ECC_NIST_P256')
    return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
      format: 'der',
      type: 'pkcs8',
    });
  if (spec === 'HMAC_256' || spec === 'SYMMETRIC_DEFAULT') return randomBytes(SECRET_BYTES);
  throw new Error(`The local cloud does not support the key spec ${spec}`);
}

/**
 * A UUID of version 8 (RFC 9562) that is made from the hash of a key. Data names the id of its key,
 * so no other key can take its place unnoticed.
 */
function idOf(material: Buffer): string {
  const hash = createHash('sha256').update(material).digest('hex');
  return [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    `8${hash.slice(17, 20)}`,
    hash.slice(20, 32),
  ].join('-');
}

/** Whether a stored key can be used as a key of this spec, and its material is that of its id. */
export function isValidKey(key: Partial<StoredKey> | null, spec: string): boolean {
  const { id, spec: storedSpec, material } = key ?? {};
  if (typeof id !== 'string' || typeof material !== 'string' || storedSpec !== spec) return false;
  const isVersion4 = UUID_VERSION_4.test(id);
  return (isVersion4 || id === idOf(bytes(material))) && isMaterial(bytes(material), spec);
}

const UUID_VERSION_4 = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

function isMaterial(material: Buffer, spec: string): boolean {
  if (spec !== 'ECC_NIST_P256') return material.length === SECRET_BYTES;
  try {
    const { asymmetricKeyDetails } = createPrivateKey({
      key: material,
      format: 'der',
      type: 'pkcs8',
    });
    return asymmetricKeyDetails?.namedCurve === 'prime256v1';
  } catch {
    return false;
  }
}

/**
 * The KMS operations that the functions use; others get the response of AWS to unknown operations.
 */
export function localKms(region: string, keys: readonly StoredKey[]) {
  return (operation: string, input: Input): AwsResponse => {
    const perform = OPERATIONS[operation];
    if (!perform)
      return errorResponse(
        'UnknownOperationException',
        `The local cloud does not support kms:${operation}`,
      );
    const wantedId = String(input.KeyId).split('/').at(-1);
    const key = keys.find(({ id }) => id === wantedId);
    if (!key) return errorResponse('NotFoundException', `Key '${input.KeyId}' does not exist`);
    if (SPECS[operation] !== key.spec)
      return errorResponse('InvalidKeyUsageException', `${operation} on a ${key.spec} key`);
    try {
      return { status: 200, body: perform(key, input, keyArn(region, key.id)) };
    } catch {
      return errorResponse('InvalidCiphertextException', '');
    }
  };
}

const errorResponse = (type: string, message: string): AwsResponse => ({
  status: 400,
  body: { __type: type, message },
});

const bytes = (base64: unknown): Buffer => Buffer.from(String(base64), 'base64');
const secret = (key: StoredKey): Buffer => bytes(key.material);

const SPECS: Readonly<Record<string, string>> = {
  Sign: 'ECC_NIST_P256',
  GetPublicKey: 'ECC_NIST_P256',
  GenerateMac: 'HMAC_256',
  GenerateDataKey: 'SYMMETRIC_DEFAULT',
  Decrypt: 'SYMMETRIC_DEFAULT',
};

const OPERATIONS: Record<string, Operation> = {
  Sign(key, { Message, SigningAlgorithm }, arn) {
    const privateKey = createPrivateKey({ key: secret(key), format: 'der', type: 'pkcs8' });
    return {
      KeyId: arn,
      SigningAlgorithm,
      Signature: sign('sha256', bytes(Message), privateKey).toString('base64'),
    };
  },

  GetPublicKey(key, _, arn) {
    const publicKey = createPublicKey(
      createPrivateKey({ key: secret(key), format: 'der', type: 'pkcs8' }),
    );
    const der = publicKey.export({ format: 'der', type: 'spki' });
    return {
      KeyId: arn,
      KeySpec: key.spec,
      KeyUsage: 'SIGN_VERIFY',
      PublicKey: der.toString('base64'),
    };
  },

  GenerateMac(key, { Message, MacAlgorithm }, arn) {
    const mac = createHmac('sha256', secret(key)).update(bytes(Message)).digest('base64');
    return { KeyId: arn, MacAlgorithm, Mac: mac };
  },

  GenerateDataKey(key, { EncryptionContext }, arn) {
    const dataKey = randomBytes(32);
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', secret(key), nonce).setAAD(
      additionalData(EncryptionContext),
    );
    const encrypted = Buffer.concat([cipher.update(dataKey), cipher.final()]);
    const wrapped = Buffer.concat([Buffer.from(key.id), nonce, cipher.getAuthTag(), encrypted]);
    return {
      KeyId: arn,
      Plaintext: dataKey.toString('base64'),
      CiphertextBlob: wrapped.toString('base64'),
    };
  },

  Decrypt(key, { CiphertextBlob, EncryptionContext }, arn) {
    const wrapped = bytes(CiphertextBlob).subarray(key.id.length);
    const decipher = createDecipheriv('aes-256-gcm', secret(key), wrapped.subarray(0, 12));
    decipher.setAAD(additionalData(EncryptionContext)).setAuthTag(wrapped.subarray(12, 28));
    const plaintext = Buffer.concat([decipher.update(wrapped.subarray(28)), decipher.final()]);
    return {
      KeyId: arn,
      Plaintext: plaintext.toString('base64'),
      EncryptionAlgorithm: 'SYMMETRIC_DEFAULT',
    };
  },
};

/** Serializes the encryption context independently of the order of its entries. */
function additionalData(context: unknown): Buffer {
  return Buffer.from(
    JSON.stringify(Object.entries((context as Record<string, string>) ?? {}).sort()),
  );
}
