import type { JsonWebKey, KeyObject } from 'node:crypto';
import type { RequestOptions } from 'node:http';

/*
 * What a function does without any library or rule: verify the signature of the token on each call,
 * and make the AWS calls of a recorded invocation, signed by hand, in the same rounds. It validates
 * nothing and decides nothing.
 */

/** A call to replay. The response has this status. */
export interface FloorCall {
  readonly service: 'DynamoDB' | 'KMS' | 'SES';
  readonly operation: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly status: number;
}

export interface FloorEvent {
  /** The token of the request, with the key to verify it; undefined for a public route. */
  readonly token: { readonly jws: string; readonly jwk: JsonWebKey } | undefined;
  readonly rounds: readonly (readonly FloorCall[])[];
  /** The status to respond with. */
  readonly statusCode: number;
}

const { createHmac, createPublicKey, createSecretKey, hash, randomUUID, verify } =
  process.getBuiltinModule('node:crypto');

const {
  AWS_ENDPOINT_URL = '',
  AWS_REGION = '',
  AWS_ACCESS_KEY_ID,
  AWS_SECRET_ACCESS_KEY,
} = process.env;
const SESSION_TOKEN = process.env.AWS_SESSION_TOKEN ?? '';
const { protocol, hostname, port, host } = new URL(AWS_ENDPOINT_URL);
const http =
  protocol === 'https:'
    ? process.getBuiltinModule('node:https')
    : process.getBuiltinModule('node:http');
const agent = new http.Agent({ keepAlive: true, maxSockets: 50 });

const SIGNING_NAMES = { DynamoDB: 'dynamodb', KMS: 'kms', SES: 'ses' };
const TARGETS = { DynamoDB: 'DynamoDB_20120810.', KMS: 'TrentService.' };
const CONTENT_TYPES = { DynamoDB: 'application/x-amz-json-1.0', KMS: 'application/x-amz-json-1.1' };

export async function handler({ token, rounds, statusCode }: FloorEvent) {
  if (token) verifySignature(token);
  for (const round of rounds) await Promise.all(round.map(send));
  return { statusCode };
}

let publicKey: KeyObject | undefined;

function verifySignature({ jws, jwk }: NonNullable<FloorEvent['token']>): void {
  publicKey ??= createPublicKey({ key: jwk, format: 'jwk' });
  const end = jws.lastIndexOf('.');
  const signature = Buffer.from(jws.slice(end + 1), 'base64url');
  const signed = Buffer.from(jws.slice(0, end));
  if (!verify('sha256', signed, { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature))
    throw new Error('forged');
}

async function send({ service, operation, input, status }: FloorCall): Promise<void> {
  // DynamoDB would not execute a transaction whose token it knows.
  const body = JSON.stringify(
    input.ClientRequestToken ? { ...input, ClientRequestToken: randomUUID() } : input,
  );
  const path = service === 'SES' ? '/v2/email/outbound-emails' : '/';
  const response = await post(path, signedHeaders(service, operation, path, body), body);
  if (response.status !== status)
    throw new Error(`${operation}: ${response.status} ${response.text}`);
  JSON.parse(response.text);
}

/** By date and service. KeyObjects, because an HMAC with a buffer takes several times longer. */
const keys: Record<string, KeyObject> = {};

/** Derives a signing key of Signature Version 4. */
function signingKey(date: string, name: string): KeyObject {
  const hmac = (key: string | Buffer, data: string) =>
    createHmac('sha256', key).update(data).digest();
  const derive = () =>
    hmac(hmac(hmac(hmac(`AWS4${AWS_SECRET_ACCESS_KEY}`, date), AWS_REGION), name), 'aws4_request');
  keys[date + name] ??= createSecretKey(derive());
  return keys[date + name] as KeyObject;
}

function signedHeaders(
  service: FloorCall['service'],
  operation: string,
  path: string,
  body: string,
) {
  const time = new Date().toISOString().replace(/[:-]|\.\d{3}/g, '');
  const date = time.slice(0, 8);
  const name = SIGNING_NAMES[service];
  const target = service === 'SES' ? undefined : TARGETS[service] + operation;
  const scope = `${date}/${AWS_REGION}/${name}/aws4_request`;
  const signed = `host;x-amz-date;x-amz-security-token${target ? ';x-amz-target' : ''}`;
  const canonical =
    `POST\n${path}\n\nhost:${host}\nx-amz-date:${time}\nx-amz-security-token:${SESSION_TOKEN}\n` +
    `${target ? `x-amz-target:${target}\n` : ''}\n${signed}\n${hash('sha256', body)}`;
  const signature = createHmac('sha256', signingKey(date, name))
    .update(`AWS4-HMAC-SHA256\n${time}\n${scope}\n${hash('sha256', canonical)}`)
    .digest('hex');
  return {
    Host: host,
    'Content-Type': service === 'SES' ? 'application/json' : CONTENT_TYPES[service],
    'Content-Length': Buffer.byteLength(body),
    'X-Amz-Date': time,
    'X-Amz-Security-Token': SESSION_TOKEN,
    ...(target && { 'X-Amz-Target': target }),
    Authorization: `AWS4-HMAC-SHA256 Credential=${AWS_ACCESS_KEY_ID}/${scope}, SignedHeaders=${signed}, Signature=${signature}`,
  };
}

function post(path: string, headers: RequestOptions['headers'], body: string) {
  return new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    const request = http.request(
      { agent, hostname, port, method: 'POST', path, headers },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode, text }));
        response.on('error', reject);
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}
