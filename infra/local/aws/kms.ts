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
import { type AwsResponse, errorResponse } from '../calls/aws-call.ts';
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
const DER = { format: 'der', type: 'pkcs8' } as const;

/** `spec` is a KeySpec of KMS. */
export function createKey(spec: string): StoredKey {
  const material = createMaterial(spec);
  return { id: idOf(material), spec, material: material.toString('base64') };
}

function createMaterial(spec: string): Buffer {
  if (spec === 'ECC_NIST_P256')
    return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export(DER);
  if (spec === 'HMAC_256' || spec === 'SYMMETRIC_DEFAULT') return randomBytes(SECRET_BYTES);
  throw new Error(`The local cloud does not support the key spec ${spec}`);
}

/**
 * A UUID of version 8 (RFC 9562) that is made from the hash of a key. Data names the id of its key,
 * so no other key can take its place unnoticed.
 */
const idOf = (material: Buffer): string =>
  createHash('sha256')
    .update(material)
    .digest('hex')
    .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*/, '$1-$2-8$3-8$4-$5');

/** Whether a stored key can be used as a key of this spec, and its material is that of its id. */
export function isValidKey(key: Partial<StoredKey> | null, spec: string): boolean {
  const { id, spec: storedSpec, material } = key ?? {};
  if (typeof id !== 'string' || typeof material !== 'string' || storedSpec !== spec) return false;
  if (!UUID_VERSION_4.test(id) && id !== idOf(bytes(material))) return false;
  if (spec !== 'ECC_NIST_P256') return bytes(material).length === SECRET_BYTES;
  try {
    return privateKeyIn(material).asymmetricKeyDetails?.namedCurve === 'prime256v1';
  } catch {
    return false;
  }
}

const UUID_VERSION_4 = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

/** Runs the KMS operations that the functions use. */
export function localKms(region: string, keys: readonly StoredKey[]) {
  return (operation: string, input: Input): AwsResponse => {
    const [spec, perform] = OPERATIONS[operation] ?? [];
    if (!perform)
      return errorResponse(
        'UnknownOperationException',
        `The local cloud does not support kms:${operation}`,
      );
    const wantedId = String(input.KeyId).split('/').at(-1);
    const key = keys.find(({ id }) => id === wantedId);
    if (!key) return errorResponse('NotFoundException', `Key '${input.KeyId}' does not exist`);
    if (spec !== key.spec)
      return errorResponse('InvalidKeyUsageException', `${operation} on a ${key.spec} key`);
    try {
      return { status: 200, body: { KeyId: keyArn(region, key.id), ...perform(key, input) } };
    } catch {
      return errorResponse('InvalidCiphertextException', '');
    }
  };
}

const bytes = (base64: unknown): Buffer => Buffer.from(String(base64), 'base64');
const privateKeyIn = (material: string) => createPrivateKey({ key: bytes(material), ...DER });

type Input = Record<string, unknown>;
type Operation = (key: StoredKey, input: Input) => Record<string, unknown>;

const OPERATIONS: Record<string, [spec: string, Operation]> = {
  Sign: [
    'ECC_NIST_P256',
    ({ material }, { Message, SigningAlgorithm }) => ({
      SigningAlgorithm,
      Signature: sign('sha256', bytes(Message), privateKeyIn(material)).toString('base64'),
    }),
  ],
  GetPublicKey: [
    'ECC_NIST_P256',
    ({ material, spec }) => ({
      KeySpec: spec,
      KeyUsage: 'SIGN_VERIFY',
      PublicKey: createPublicKey(privateKeyIn(material))
        .export({ format: 'der', type: 'spki' })
        .toString('base64'),
    }),
  ],
  GenerateMac: [
    'HMAC_256',
    ({ material }, { Message, MacAlgorithm }) => ({
      MacAlgorithm,
      Mac: createHmac('sha256', bytes(material)).update(bytes(Message)).digest('base64'),
    }),
  ],
  GenerateDataKey: [
    'SYMMETRIC_DEFAULT',
    ({ id, material }, { EncryptionContext }) => {
      const [dataKey, nonce] = [randomBytes(32), randomBytes(12)];
      const cipher = createCipheriv('aes-256-gcm', bytes(material), nonce);
      cipher.setAAD(additionalData(EncryptionContext));
      const encrypted = Buffer.concat([cipher.update(dataKey), cipher.final()]);
      const wrapped = Buffer.concat([Buffer.from(id), nonce, cipher.getAuthTag(), encrypted]);
      return {
        Plaintext: dataKey.toString('base64'),
        CiphertextBlob: wrapped.toString('base64'),
      };
    },
  ],
  Decrypt: [
    'SYMMETRIC_DEFAULT',
    ({ id, material }, { CiphertextBlob, EncryptionContext }) => {
      const wrapped = bytes(CiphertextBlob).subarray(id.length);
      const decipher = createDecipheriv('aes-256-gcm', bytes(material), wrapped.subarray(0, 12));
      decipher.setAAD(additionalData(EncryptionContext)).setAuthTag(wrapped.subarray(12, 28));
      const plaintext = Buffer.concat([decipher.update(wrapped.subarray(28)), decipher.final()]);
      return {
        Plaintext: plaintext.toString('base64'),
        EncryptionAlgorithm: 'SYMMETRIC_DEFAULT',
      };
    },
  ],
};

/** Serializes the encryption context independently of the order of its entries. */
const additionalData = (context: unknown): Buffer =>
  Buffer.from(JSON.stringify(Object.entries(context ?? {}).sort()));
