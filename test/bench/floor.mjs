import { createHash, createHmac } from 'node:crypto';
import { request } from 'node:http';
import { json } from 'node:stream/consumers';

/* A handler that makes the calls of another one, signed by hand (SigV4), and nothing else. */

const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL } = process.env;
const { host } = new URL(AWS_ENDPOINT_URL);
const NAMES = 'host;x-amz-date;x-amz-target';
const hmac = (key, part) => createHmac('sha256', key).update(part).digest();
const hash = (part) => createHash('sha256').update(part).digest('hex');

async function call({ service, target, body }) {
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  const scope = [time.slice(0, 8), AWS_REGION, service, 'aws4_request'];
  const headers = { host, 'x-amz-date': time, 'x-amz-target': target };
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
  const canonical = ['POST', '/', '', lines.join(''), NAMES, hash(body)].join('\n');
  const signed = ['AWS4-HMAC-SHA256', time, scope.join('/'), hash(canonical)].join('\n');
  const signature = hmac(scope.reduce(hmac, `AWS4${AWS_SECRET_ACCESS_KEY}`), signed);
  const credential = `Credential=${AWS_ACCESS_KEY_ID}/${scope.join('/')}`;
  const signedBy = `${credential}, SignedHeaders=${NAMES}`;
  headers.authorization = `AWS4-HMAC-SHA256 ${signedBy}, Signature=${signature.toString('hex')}`;
  const response = await new Promise((resolve, reject) => {
    request(AWS_ENDPOINT_URL, { method: 'POST', headers }, resolve).on('error', reject).end(body);
  });
  const received = await json(response);
  if (response.statusCode !== 200) throw new Error(`${target}: ${JSON.stringify(received)}`);
}

export async function handler(calls) {
  for (const each of calls) await call(each);
  return { statusCode: 200 };
}
