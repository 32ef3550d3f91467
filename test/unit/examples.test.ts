import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { retryingFetch } from '../../examples/retrying-fetch.ts';
import { decryptSecrets, utmstackDecryption } from '../../examples/utmstack-secrets.ts';

type Scripted = readonly [status: number, retryAfter?: string];

let responses: Scripted[] = [];
let received: { method: string | undefined; body: string; time: number }[] = [];
const server = createServer(async (request, response) => {
  const body = (await request.toArray()).join('');
  received.push({ method: request.method, body, time: performance.now() });
  const [status, retryAfter] = responses.shift() ?? [200];
  response.writeHead(status, retryAfter ? { 'Retry-After': retryAfter } : {}).end(`${status}`);
});
let url: string;
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  received = [];
});
afterAll(() => server.close());

/** The status that the caller gets, and how many requests were sent. */
async function outcome(
  method: string,
  scripted: Scripted[],
  options = {},
): Promise<[number, number]> {
  responses = [...scripted];
  const body = method === 'POST' ? 'content' : undefined;
  const { status } = await retryingFetch({ firstWaitMs: 10, ...options })(url, {
    method,
    ...(body && { body }),
  });
  return [status, received.length];
}

it('repeats a request with its body after the seconds in Retry-After', async () => {
  expect(await outcome('POST', [[429, '1']])).toEqual([200, 2]);
  const [first, second] = received;
  expect(second).toMatchObject({ method: 'POST', body: 'content' });
  expect((second?.time ?? 0) - (first?.time ?? 0)).toBeGreaterThanOrEqual(990);
});

it('waits longer and longer without a number in Retry-After', async () => {
  expect(
    await outcome('GET', [[429], [429], [429, 'Sun, 22 Nov 2026 09:30:00 GMT']], {
      firstWaitMs: 40,
    }),
  ).toEqual([200, 4]);
  const waits = received.slice(1).map(({ time }, index) => time - (received[index]?.time ?? 0));
  expect(waits.map((wait, index) => wait >= 40 * 2 ** index - 2)).toEqual([true, true, true]);
});

it('repeats only a GET after 503, because a change may have been made', async () => {
  expect(await outcome('GET', [[503]])).toEqual([200, 2]);
  received = [];
  expect(await outcome('POST', [[503]])).toEqual([503, 1]);
});

it.each([200, 400, 412, 500])('does not repeat a request after %i', async (status) => {
  expect(await outcome('GET', [[status]])).toEqual([status, 1]);
});

it('responds with the rejection if it would have to wait for too long', async () => {
  expect(await outcome('GET', [[429, '1']], { waitMaxMs: 999 })).toEqual([429, 1]);
});

it('stops waiting when the request is aborted', async () => {
  // Longer than the timeout of a test.
  responses = [[429, '60']];

  const request = retryingFetch()(url, { signal: AbortSignal.timeout(50) });

  await expect(request).rejects.toThrow(/abort/);
});

// Encrypted by Java's PBKDF2WithHmacSHA1 and AES/CBC/PKCS5Padding, as UTMStack does it.
const SECRET = 'odaib8oRyZ8ahvv3I7VWbmu+EIwPxAj4vswT1clEJzc=';
const EMPTY = 'FjdjDi1jxxBaieBJW6E8dw==';
const UMLAUTS = 'nRqdYL3iKgjkbqZQQIy4Ww==';

const region = { confName: 'region', confValue: 'eu-central-1' };
const key = { confName: 'key', confValue: SECRET, secret: true };
const decrypt = utmstackDecryption('a key of UTMStack');

it('decrypts the secrets that UTMStack encrypted, and only them', () => {
  const record = {
    type: 'integration',
    parameters: [
      region,
      key,
      { confName: 'empty', confValue: EMPTY, secret: true },
      { confName: 'password', confValue: UMLAUTS, secret: true },
    ],
  };
  expect(decryptSecrets(record, decrypt)).toEqual({
    type: 'integration',
    parameters: [
      region,
      { confName: 'key', confValue: 'wJalrXUtnFEMI/K7MDENG', secret: true },
      { confName: 'password', confValue: 'pässwörd', secret: true },
    ],
  });
  const user = { type: 'user', login: 'ann' };
  expect(decryptSecrets(user, decrypt)).toEqual(user);
});

it.each([
  ['under another key', utmstackDecryption('another key'), SECRET],
  ['not at all', decrypt, 'wJalrXUtnFEMI/K7MDENG'],
])('names a secret that was encrypted %s', (_how, decryption, confValue) => {
  const record = { type: 'integration', parameters: [{ ...key, confValue }] };
  expect(() => decryptSecrets(record, decryption)).toThrow(/^key is not encrypted under this key/);
});
