import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  randomUUID,
  sign,
} from 'node:crypto';
import { type AwsResponse, errorResponse } from '../calls/aws-call.ts';
import { keyArn } from '../stack/template.ts';

/** The file in a state folder that holds all keys by their logical ids, former ones included. */
export const KEYS_FILE = 'keys.json';

export interface StoredKey {
  readonly id: string;
  /** Base64. */
  readonly material: string;
}

const DER = { format: 'der', type: 'pkcs8' } as const;

/** `spec` is a KeySpec of KMS. */
export function createKey(spec: string): StoredKey {
  return { id: randomUUID(), material: createMaterial(spec).toString('base64') };
}

function createMaterial(spec: string): Buffer {
  if (spec === 'ECC_NIST_P256')
    return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export(DER);
  if (spec === 'HMAC_256' || spec === 'SYMMETRIC_DEFAULT') return randomBytes(32);
  throw new Error(`The local cloud does not support the key spec ${spec}`);
}

/** Runs the KMS operations that the functions use. */
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
    try {
      return { status: 200, body: { KeyId: keyArn(region, key.id), ...perform(key, input) } };
    } catch (error) {
      // The ciphertext is not of this key, or the key cannot perform the operation.
      return errorResponse('InvalidCiphertextException', String(error));
    }
  };
}

const bytes = (base64: unknown): Buffer => Buffer.from(String(base64), 'base64');
const privateKeyIn = (material: string) => createPrivateKey({ key: bytes(material), ...DER });

type Input = Record<string, unknown>;
type Operation = (key: StoredKey, input: Input) => Record<string, unknown>;

const OPERATIONS: Record<string, Operation> = {
  Sign: ({ material }, { Message }) => ({
    Signature: sign('sha256', bytes(Message), privateKeyIn(material)).toString('base64'),
  }),
  GetPublicKey: ({ material }) => ({
    PublicKey: createPublicKey(privateKeyIn(material))
      .export({ format: 'der', type: 'spki' })
      .toString('base64'),
  }),
  GenerateMac: ({ material }, { Message }) => ({
    Mac: createHmac('sha256', bytes(material)).update(bytes(Message)).digest('base64'),
  }),
  GenerateDataKey: ({ id, material }, { EncryptionContext }) => {
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
  Decrypt: ({ id, material }, { CiphertextBlob, EncryptionContext }) => {
    const wrapped = bytes(CiphertextBlob).subarray(id.length);
    const decipher = createDecipheriv('aes-256-gcm', bytes(material), wrapped.subarray(0, 12));
    decipher.setAAD(additionalData(EncryptionContext)).setAuthTag(wrapped.subarray(12, 28));
    const plaintext = Buffer.concat([decipher.update(wrapped.subarray(28)), decipher.final()]);
    return { Plaintext: plaintext.toString('base64') };
  },
};

/** Serializes the encryption context independently of the order of its entries. */
const additionalData = (context: unknown): Buffer =>
  Buffer.from(JSON.stringify(Object.entries(context ?? {}).sort()));
