import { EventEmitter } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { describe, expect, it, vi } from 'vitest';
import { clientSettings, openConnection } from '../../lib/runtime/aws.ts';
import {
  abortBeforeDeadline,
  allowTimeToUndo,
  currentDeadline,
  finishColdStart,
  recentValues,
  setDeadline,
  startInColdStart,
} from '../../lib/runtime/execution-environment.ts';
import { isOutage } from '../../lib/runtime/outage.ts';
import { mapConcurrently, settleAll } from '../../lib/runtime/waiting.ts';
import { awsError, overlapCounter, waitMicrotasks } from '../support/doubles/aws-calls.ts';
import { freezeClock } from '../support/doubles/time.ts';

describe('isOutage', () => {
  const rejected = { $metadata: { httpStatusCode: 400 } };

  it.each<[string, unknown]>([
    ['a call that times out', awsError('TimeoutError', rejected)],
    ['a throttled call', awsError('ThrottlingException', rejected)],
    ['a connection that breaks', awsError('Error', { code: 'ECONNRESET' })],
    ['an error that the SDK would retry', awsError('Unknown', { $retryable: {} })],
    ['a response with status 500', awsError('Unknown', { $metadata: { httpStatusCode: 500 } })],
  ])('returns true for %s', (_, thrown) => {
    expect(isOutage(thrown)).toBe(true);
  });

  it.each([
    ['a response with status 499', awsError('Unknown', { $metadata: { httpStatusCode: 499 } })],
    ['a system error other than a connection error', awsError('Error', { code: 'ENOENT' })],
    ['a response without a status', awsError('Unknown', { $metadata: {} })],
    ['an object that is not an Error', { name: 'TimeoutError', $retryable: {} }],
    ['a programming error', new TypeError('x is undefined')],
    ['undefined', undefined],
  ])('returns false for %s', (_, thrown) => {
    expect(isOutage(thrown)).toBe(false);
  });
});

describe('a call to AWS', () => {
  const limits = (...clock: number[]) => {
    freezeClock();
    const timeout = vi.spyOn(AbortSignal, 'timeout');
    for (const milliseconds of clock) setDeadline(milliseconds);
    return timeout;
  };

  it('has no time limit outside a request', () => {
    expect(currentDeadline()).toBe(Number.POSITIVE_INFINITY);
    expect(abortBeforeDeadline()).toEqual({});
  });

  it('is aborted half a second before the deadline of the request', () => {
    const timeout = limits(8000);
    vi.setSystemTime(Date.now() + 3000);

    const { abortSignal } = abortBeforeDeadline();

    expect(currentDeadline() - Date.now()).toBe(5000);
    expect(timeout.mock.calls).toEqual([[4500]]);
    expect(abortSignal?.aborted).toBe(false);
  });

  it('shares its signal with other calls of the request without a maximum of their own', () => {
    const timeout = limits(10_000);

    const { abortSignal } = abortBeforeDeadline();
    vi.setSystemTime(Date.now() + 3000);
    const ofSameRequest = [
      abortBeforeDeadline(),
      abortBeforeDeadline(8000),
      abortBeforeDeadline(2000),
    ];
    setDeadline(10_000);
    const { abortSignal: ofNextRequest } = abortBeforeDeadline();

    expect(ofSameRequest.map((options) => options.abortSignal === abortSignal)).toEqual([
      true,
      true,
      false,
    ]);
    expect(ofNextRequest).not.toBe(abortSignal);
    expect(timeout.mock.calls).toEqual([[9500], [2000], [9500]]);
  });

  it('is limited by its own maximum where that is shorter, even outside a request', () => {
    const timeout = limits(8000);

    abortBeforeDeadline(2000);
    abortBeforeDeadline(9000);
    setDeadline(Number.POSITIVE_INFINITY);
    abortBeforeDeadline(2000.7);

    expect(timeout.mock.calls).toEqual([[2000], [7500], [2000]]);
  });

  it.each([
    [501, false],
    [500, true],
  ])('is aborted at once with %i ms left of the request: %s', (left, aborted) => {
    limits(left);

    expect(abortBeforeDeadline().abortSignal?.aborted).toBe(aborted);
  });
});

describe('openConnection', () => {
  /** Replaces requests, which would leave the machine. */
  function requestsOf(module: typeof http | typeof https) {
    const request = Object.assign(new EventEmitter(), { destroy: vi.fn(), end: vi.fn() });
    const spy = vi
      .spyOn(module, 'request')
      .mockReturnValue(request as unknown as http.ClientRequest);
    return { request, spy };
  }

  it.each([
    ['dynamodb', 'dynamodb'],
    ['ses', 'email'],
  ] as const)('connects to %s in the region of the function', (service, label) => {
    vi.stubEnv('AWS_ENDPOINT_URL', undefined);
    vi.stubEnv('AWS_REGION', 'eu-south-2');
    const { request, spy } = requestsOf(https);

    openConnection(service);

    expect(spy.mock.calls.map(([url, options]) => [String(url), options])).toEqual([
      [
        `https://${label}.eu-south-2.amazonaws.com/`,
        { method: 'HEAD', agent: clientSettings.requestHandler.httpsAgent, timeout: 500 },
      ],
    ]);
    expect(request.end).toHaveBeenCalledOnce();
    // The connection is free once the response has been read.
    const resume = vi.fn();
    const [, , respond] = spy.mock.calls[0] as unknown as [URL, object, (response: object) => void];
    respond({ resume });
    expect(resume).toHaveBeenCalledOnce();
  });

  it('connects to the endpoint of the service, and abandons what times out or fails', () => {
    vi.stubEnv('AWS_ENDPOINT_URL', 'https://127.0.0.1:1');
    vi.stubEnv('AWS_ENDPOINT_URL_DYNAMODB', 'http://127.0.0.1:2');
    const { request, spy } = requestsOf(http);
    openConnection('dynamodb');
    expect(request.destroy).not.toHaveBeenCalled();

    request.emit('timeout');
    request.emit('error', new Error('reset'));

    expect(String(spy.mock.calls[0]?.[0])).toBe('http://127.0.0.1:2/');
    expect(request.destroy).toHaveBeenCalledOnce();
  });
});

it('recent values are the latest ones, each until its time is over', () => {
  freezeClock(1000);
  const values = recentValues<number>(2, 500);
  const held = () => ['a', 'b', 'c'].map(values.get);

  values.set('a', 1);
  values.set('b', 2);
  values.set('b', 3);
  const full = held();
  vi.setSystemTime(1499);
  values.set('a', 4);
  values.set('c', 5);
  const overfull = held();
  vi.setSystemTime(1998);
  const atLast = held();
  vi.setSystemTime(1999);

  expect([full, overfull, atLast, held()]).toEqual([
    [1, 3, undefined],
    ...Array(2).fill([4, undefined, 5]),
    Array(3).fill(undefined),
  ]);
});

describe('allowTimeToUndo', () => {
  it.each([
    ['leaves a later deadline', 10_000, 10_000],
    ['gives calls 300 ms', 600, 800],
    ['gives calls 300 ms after the deadline', -5000, 800],
  ])('%s', (_, remaining, expected) => {
    freezeClock();
    setDeadline(remaining);

    allowTimeToUndo();

    expect(currentDeadline() - Date.now()).toBe(expected);
  });
});

describe('startInColdStart', () => {
  it('makes the first request wait for the work, for two seconds at most', async () => {
    freezeClock();
    const completed: string[] = [];
    const later = (name: string, milliseconds: number) =>
      new Promise<void>((resolve) => setTimeout(resolve, milliseconds)).then(
        () => void completed.push(name),
      );

    startInColdStart(() => later('fails', 1).then(() => Promise.reject(new Error('lost'))));
    startInColdStart(() => later('works', 5));
    const limit = currentDeadline() - Date.now();
    await finishColdStart();

    expect(completed).toEqual(['fails', 'works']);
    expect(limit).toBe(2500);
  });
});

describe('settleAll', () => {
  it('waits for every promise, then rejects with the first failure in order', async () => {
    const completed: string[] = [];
    const fails = async (name: string, turns: number) => {
      for (let turn = 0; turn < turns; turn++) await undefined;
      completed.push(name);
      throw new Error(name);
    };

    const both = settleAll([fails('first', 20), fails('second', 1), fails('third', 30)]);

    await expect(both).rejects.toThrow('first');
    expect(completed).toEqual(['second', 'first', 'third']);
  });

  it('returns the results in order', async () => {
    const late = new Promise<string>((resolve) => setImmediate(() => resolve('late')));

    expect(await settleAll([late, Promise.resolve(7)])).toEqual(['late', 7]);
  });
});

describe('mapConcurrently', () => {
  it.each([
    [1, 10, 1],
    [4, 10, 4],
    [10, 3, 3],
    [2, 0, 0],
  ])('with a limit of %i maps %i items, %i of them at a time', async (limit, length, most) => {
    const overlap = overlapCounter();
    const items = Array.from({ length }, (_, index) => index);

    const results = await mapConcurrently(items, limit, (item) => overlap.run(async () => item));

    expect([results, overlap.most]).toEqual([items, most]);
  });

  it('begins the next item as soon as one has settled', async () => {
    const begun: string[] = [];
    const first = Promise.withResolvers<void>();

    const mapped = mapConcurrently(['slow', 'a', 'b', 'c'], 2, async (item) => {
      begun.push(item);
      if (item === 'slow') await first.promise;
    });
    await waitMicrotasks();
    const begunBeforeFirst = [...begun];
    first.resolve();
    await mapped;

    expect(begunBeforeFirst).toEqual(['slow', 'a', 'b', 'c']);
  });

  it('rejects with the first failure in order, after all items have settled', async () => {
    const completed: number[] = [];

    const mapped = mapConcurrently([1, 2, 3, 4, 5], 2, async (item) => {
      await waitMicrotasks(item === 2 ? 30 : 3);
      completed.push(item);
      if (item === 2 || item === 4) throw new Error(`item ${item}`);
    });

    await expect(mapped).rejects.toThrow('item 2');
    expect(completed.toSorted()).toEqual([1, 2, 3, 4, 5]);
  });
});
