import { createHmac } from 'node:crypto';
import { KMSClient } from '@aws-sdk/client-kms';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { openLoginThrottle } from '../../lib/accounts/login-throttle.ts';
import { Failure } from '../../lib/contract/failure.ts';
import { finishColdStart } from '../../lib/runtime/cold-start.ts';
import { setDeadline } from '../../lib/runtime/deadline.ts';
import type { Table } from '../../lib/table/table.ts';
import { useFrozenClock } from '../support/frozen-clock.ts';
import { useOpenedConnections } from '../support/opened-connections.ts';
import { recordingTable } from '../support/recording-table.ts';
import { type ScriptedResponse, scriptedClient } from '../support/scripted-client.ts';

/* How login attempts are counted, on a table that records its calls. */

const NOW = Date.UTC(2030, 0, 1);
const SECRET = Buffer.from('the secret of this service');
const MAC = { Mac: SECRET.toString('base64') };
const LIMITS = { failuresPerSource: 100, requestsPerSource: 1000 };
const hmac = (text: string) => createHmac('sha256', SECRET).update(text).digest('base64url');

const opened = useOpenedConnections();
useFrozenClock(NOW);
afterEach(() => setDeadline(Number.POSITIVE_INFINITY));

async function throttleOn(table: Table, ...responses: ScriptedResponse[]) {
  const { settings, requests, inputs } = scriptedClient(...responses);
  const throttle = openLoginThrottle(table, LIMITS, 'pepper', new KMSClient(settings));
  await finishColdStart();
  setDeadline(Number.POSITIVE_INFINITY);
  return { throttle, requests, inputs };
}
const from = (address: string) => ({ address, arrivedAt: NOW });

describe('the secret that pseudonymizes logins and addresses', () => {
  it('is a MAC from KMS, generated once in the cold start', async () => {
    const { throttle, inputs } = await throttleOn(recordingTable(), MAC);
    const before = inputs().length;

    await throttle.countRequest(from('203.0.113.7'));
    await throttle.recordAttempt('ada', from('203.0.113.7'));

    const Message = Buffer.from('gatehouse: who guesses at which login').toString('base64');
    expect(before).toBe(1);
    expect(inputs()).toEqual([{ KeyId: 'pepper', Message, MacAlgorithm: 'HMAC_SHA_256' }]);
  });

  it('is requested again by each request until KMS returns it', async () => {
    const outage = { error: 'KMSInternalException', status: 500 };
    const { throttle, requests } = await throttleOn(recordingTable(), outage, outage, MAC);

    await expect(throttle.countRequest(from('203.0.113.7'))).rejects.toMatchObject({ name: 'KMSInternalException' });
    await throttle.countRequest(from('203.0.113.7'));
    await throttle.countRequest(from('203.0.113.7'));

    expect(requests).toHaveLength(3);
  });

  it('is requested only once by concurrent requests', async () => {
    const outage = { error: 'KMSInternalException', status: 500 };
    const { throttle, requests } = await throttleOn(recordingTable(), outage, MAC);

    await Promise.all([throttle.countRequest(from('203.0.113.7')), throttle.countRequest(from('203.0.113.8'))]);

    expect(requests).toHaveLength(2);
  });

  it('is awaited no longer than a cold start may take', async () => {
    const { settings, requests } = scriptedClient(MAC);
    const timeout = vi.spyOn(AbortSignal, 'timeout');

    openLoginThrottle(recordingTable(), LIMITS, 'pepper', new KMSClient(settings));
    await finishColdStart();

    expect(timeout.mock.calls).toEqual([[2000]]);
    expect(requests[0]?.signal).toBeInstanceOf(AbortSignal);
    timeout.mockRestore();
  });

  it('is loaded while a connection to the table is opened', async () => {
    await throttleOn(recordingTable(), MAC);

    expect(opened).toEqual(['https://dynamodb.eu-south-2.amazonaws.com']);
  });
});

describe('a login attempt', () => {
  const network = { pk: `ATTEMPTS#${hmac('ada')}`, sk: `NETWORK#${hmac('203.0.113 ada')}` };
  const elsewhere = { pk: `ATTEMPTS#${hmac('ada')}`, sk: 'ELSEWHERE' };
  const source = { pk: `ATTEMPTS#${hmac('203.0.113.7')}`, sk: 'SOURCE' };

  it('is counted by login and network, by login elsewhere and by source, each under its own key', async () => {
    const table = recordingTable();
    const { throttle } = await throttleOn(table, MAC);

    const attempt = await throttle.recordAttempt('ada', from('203.0.113.7'));
    await attempt.clearFailures();

    expect(table.reads).toEqual([[network, elsewhere, source]]);
    expect(table.transactions).toMatchObject([
      [{ key: elsewhere, attributes: { n: 1 } }],
      [
        { key: network, attributes: { n: 0 } },
        { key: elsewhere, attributes: { n: 0 } },
      ],
    ]);
    expect(table.updates).toMatchObject([
      { key: source, values: { ':failures': 1, ':one': 1, ':since': NOW } },
      { key: source, update: expect.stringContaining('if_not_exists(#n, :one) - :one') },
    ]);
  });

  it('reads each counter by its own key', async () => {
    const counts = { n: 2, last: NOW, expires: NOW / 1000 + 60 };
    const items = [
      { ...source, n: 9, requests: 20, since: NOW - 1000 },
      { ...elsewhere, ...counts, n: 30 },
      { ...network, ...counts },
    ];
    const table = recordingTable(...items);
    const { throttle } = await throttleOn(table, MAC);

    const attempt = await throttle.recordAttempt('ada', from('203.0.113.7'));
    await attempt.clearFailures();

    expect(table.transactions).toMatchObject([
      [{ key: network, attributes: { n: 3 } }],
      [{ key: network, attributes: { n: 0 } }],
    ]);
    expect(table.transactions[1]).toHaveLength(1);
    expect(table.updates[0]).toMatchObject({
      values: { ':since': NOW - 1000, ':failureLimit': 100, ':requestLimit': 1000 },
    });
  });

  it('is rejected while its login is throttled, without being counted', async () => {
    const table = recordingTable({ ...elsewhere, n: 11, last: NOW - 500, expires: NOW / 1000 + 60 });
    const { throttle } = await throttleOn(table, MAC);

    const rejected = throttle.recordAttempt('ada', from('203.0.113.7'));

    await expect(rejected).rejects.toMatchObject({ code: 'too-many-attempts', retryAfter: 2 });
    expect([table.transactions, table.updates]).toEqual([[], []]);
  });

  it('fails when it cannot be counted against its source', async () => {
    const table = recordingTable();
    table.updateOutcomes.push(new Failure('unavailable'));
    const { throttle } = await throttleOn(table, MAC);

    await expect(throttle.recordAttempt('ada', from('203.0.113.7'))).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('is rejected when its source reaches the limit concurrently', async () => {
    const table = recordingTable();
    const { throttle } = await throttleOn(table, MAC);
    table.update = async () => {
      table.items = [{ ...source, n: 100, requests: 200, since: NOW - 60_000 }];
      return undefined;
    };

    const rejected = throttle.recordAttempt('ada', from('203.0.113.7'));

    await expect(rejected).rejects.toMatchObject({ code: 'too-many-attempts', retryAfter: 840 });
  });

  it('succeeds even when an outage prevents its failures from being cleared', async () => {
    const table = recordingTable();
    const { throttle } = await throttleOn(table, MAC);
    const attempt = await throttle.recordAttempt('ada', from('203.0.113.7'));
    table.transact = async () => {
      throw Object.assign(new Error('lost'), { name: 'TimeoutError' });
    };

    await expect(attempt.clearFailures()).resolves.toBeUndefined();
    expect(table.updates).toHaveLength(2);
    table.transact = async () => {
      throw new TypeError('a defect');
    };
    await expect(attempt.clearFailures()).rejects.toThrow('a defect');
  });
});

describe('a request without a login attempt', () => {
  const source = { pk: `ATTEMPTS#${hmac('2001:db8:1:2')}`, sk: 'SOURCE' };
  const address = '2001:db8:1:2:3::4';

  it('is counted against its source only, and not as a failure', async () => {
    const table = recordingTable();
    const { throttle } = await throttleOn(table, MAC);

    await throttle.countRequest(from(address));

    expect(table.reads).toEqual([[source]]);
    expect(table.transactions).toEqual([]);
    expect(table.updates).toMatchObject([{ key: source, values: { ':failures': 0, ':one': 1 } }]);
  });

  it('is counted in at most five tries when other requests change the counter', async () => {
    const lucky = recordingTable({ ...source, n: 0, requests: 5, since: NOW });
    const unlucky = recordingTable();
    lucky.updateOutcomes.push(false, false, false, false, true);
    unlucky.updateOutcomes.push(...Array(6).fill(false));
    const one = await throttleOn(lucky, MAC);
    const other = await throttleOn(unlucky, MAC);

    await one.throttle.countRequest(from(address));
    const failing = other.throttle.countRequest(from(address));

    await expect(failing).rejects.toMatchObject({ code: 'unavailable' });
    expect([lucky.updates.length, unlucky.updates.length]).toEqual([5, 5]);
    expect(lucky.updates[0]).toMatchObject({ update: 'ADD #n :failures, #requests :one', values: { ':since': NOW } });
    expect([lucky.reads.length, lucky.reads.at(-1)]).toEqual([5, [source]]);
  });

  it('is rejected when its source reaches the limit concurrently', async () => {
    const table = recordingTable();
    table.updateOutcomes.push(false);
    const { throttle } = await throttleOn(table, MAC);
    const { update } = table;
    table.update = async (write) => {
      table.items = [{ ...source, n: 0, requests: 1000, since: NOW - 60_000 }];
      return update(write);
    };

    const rejected = throttle.countRequest(from(address));

    await expect(rejected).rejects.toMatchObject({ code: 'too-many-attempts', retryAfter: 840 });
    expect(table.updates).toHaveLength(1);
  });
});

it('keysOf pseudonymizes the login, its network and the source', async () => {
  const { throttle } = await throttleOn(recordingTable(), MAC);

  expect(await throttle.keysOf('ada', from('203.0.113.7'))).toEqual({
    network: { pk: `ATTEMPTS#${hmac('ada')}`, sk: `NETWORK#${hmac('203.0.113 ada')}` },
    elsewhere: { pk: `ATTEMPTS#${hmac('ada')}`, sk: 'ELSEWHERE' },
    source: { pk: `ATTEMPTS#${hmac('203.0.113.7')}`, sk: 'SOURCE' },
  });
});

it.each(['FAILURES_PER_SOURCE', 'REQUESTS_PER_SOURCE', 'PEPPER_KEY'])('openLoginThrottle throws without %s', (name) => {
  for (const each of ['FAILURES_PER_SOURCE', 'REQUESTS_PER_SOURCE', 'PEPPER_KEY']) vi.stubEnv(each, '1');
  vi.stubEnv(name, '');

  expect(() => openLoginThrottle(recordingTable())).toThrow(`The environment variable ${name} is not set`);
});
