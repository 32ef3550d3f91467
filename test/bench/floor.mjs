/* A handler that makes the calls of another one, signed by hand (SigV4), and nothing else. */
import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { json } from 'node:stream/consumers';

const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_REGION: region } = process.env;
const url = new URL(process.env.AWS_ENDPOINT_URL);
const NAMES = 'host;x-amz-date;x-amz-target';
const hmac = (key, part) => createHmac('sha256', key).update(part).digest();
const hash = (part) => createHash('sha256').update(part).digest('hex');

export async function handler(calls) {
  for (const { service, target, body } of calls) {
    const time = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
    const scope = [time.slice(0, 8), region, service, 'aws4_request'];
    const headers = { host: url.host, 'x-amz-date': time, 'x-amz-target': target };
    const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
    const canonical = ['POST', '/', '', lines.join(''), NAMES, hash(body)].join('\n');
    const signed = ['AWS4-HMAC-SHA256', time, scope.join('/'), hash(canonical)].join('\n');
    const signature = hmac(scope.reduce(hmac, `AWS4${secret}`), signed).toString('hex');
    const credential = `${id}/${scope.join('/')}, SignedHeaders=${NAMES}`;
    headers.authorization = `AWS4-HMAC-SHA256 Credential=${credential}, Signature=${signature}`;
    const sent = request(url, { method: 'POST', headers }).end(body);
    const [response] = await once(sent, 'response');
    const received = await json(response);
    if (response.statusCode !== 200) throw new Error(`${target}: ${JSON.stringify(received)}`);
  }
  return { statusCode: 200 };
}
