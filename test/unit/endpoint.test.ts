import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import * as v from 'valibot';
import { describe, expect, it, vi } from 'vitest';
import type { Contract } from '../../lib/contract/contract.ts';
import { endpoint } from '../../lib/http/endpoint.ts';
import { publicEndpoint } from '../../lib/http/public-endpoint.ts';
import { ok, okEmpty } from '../../lib/http/response.ts';
import {
  CALL_RESERVE_MS,
  countRetry,
  currentDeadline,
  startInColdStart,
} from '../../lib/runtime/execution-environment.ts';
import { useLogLines } from '../support/doubles/output.ts';
import { NOW, useVerifierEnvironment } from '../support/instance/tokens.ts';

/*
 * Calls endpoints as Lambda does, for what no request shows: events that API Gateway never sends,
 * errors that no handler throws, and time. Everything else is tested in test/api.
 */

const lines = useLogLines();

type Result = APIGatewayProxyStructuredResultV2 & { statusCode: number; body: string };

async function call(handler: unknown, event: object = {}, remaining = 10_000): Promise<Result> {
  const received = {
    routeKey: 'POST /api/gates',
    rawPath: '/api/gates',
    rawQueryString: '',
    headers: { 'content-type': 'application/json' },
    requestContext: { requestId: 'request-1', http: { sourceIp: '203.0.113.7' } },
    ...event,
  };
  const context = { getRemainingTimeInMillis: () => remaining };
  return (handler as (...received: object[]) => Promise<Result>)(received, context);
}

const PUBLIC = {
  access: 'public',
  summary: 'Try',
  tag: 'Status',
  entityName: 'userManagement',
} as const satisfies Contract;

describe('a request', () => {
  it('waits for the cold start and takes its deadline from Lambda', async () => {
    const completed: string[] = [];
    startInColdStart(async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      completed.push('cold start');
    });
    let remaining = 0;
    const handler = publicEndpoint(PUBLIC, async () => {
      remaining = currentDeadline() - Date.now();
      completed.push('request');
      return okEmpty();
    });

    await call(handler, {}, 7000);

    expect(completed).toEqual(['cold start', 'request']);
    expect(remaining).toBeGreaterThan(6500);
    expect(remaining).toBeLessThanOrEqual(7000);
  });

  it('is answered once its work is complete, however little time Lambda has left', async () => {
    const handler = publicEndpoint(
      PUBLIC,
      () => new Promise((resolve) => setTimeout(resolve, 5, okEmpty())),
    );

    const { statusCode, headers } = await call(handler, {}, 1);

    expect([statusCode, headers?.['Content-Type']]).toEqual([200, undefined]);
    expect(lines[0]?.milliseconds).toBeLessThan(1000);
  });

  it('logs only its own retries', async () => {
    const retried = publicEndpoint(PUBLIC, async () => {
      countRetry();
      return okEmpty();
    });
    await call(retried);
    await call(retried);

    expect(lines.map(({ retries }) => retries)).toEqual([1, 1]);
  });

  it.each<[string, unknown]>([
    ['an error with a status', Object.assign(new Error('secret'), { statusCode: 404 })],
    ['null', null],
  ])('that fails with %s is answered with 500, without its message', async (_, thrown) => {
    const { statusCode, body } = await call(publicEndpoint(PUBLIC, () => Promise.reject(thrown)));

    expect(statusCode).toBe(500);
    expect(JSON.parse(body)).not.toHaveProperty('params');
    expect(lines.at(-1)?.milliseconds).toBeLessThan(1000);
    expect(body + JSON.stringify(lines)).not.toContain('secret');
  });
});

describe('a request body', () => {
  const text = v.string('TypeMismatch');
  const body = v.object({ email: text });
  const echo = publicEndpoint({ ...PUBLIC, body, textAs: 'email' }, async (request) =>
    ok(request.body),
  );

  it.each([
    ['application/json', '{"email":"ä@b.c"}'],
    ['text/plain', ' ä@b.c\n'],
  ])('of %s may be in base64', async (type, sent) => {
    const event = {
      body: Buffer.from(sent).toString('base64'),
      isBase64Encoded: true,
      headers: { 'content-type': type },
    };

    expect((await call(echo, event)).body).toBe('{"email":"ä@b.c"}');
  });

  it('has one error for each field, whose message is one that clients translate', async () => {
    const own = v.pipe(
      text,
      v.check(() => false, 'A custom message'),
    );
    const twice = v.rawCheck<string>(({ addIssue }) => {
      addIssue({ message: 'Size' });
      addIssue({ message: 'Pattern' });
    });
    const contract = { ...PUBLIC, body: v.object({ own, twice: v.pipe(text, twice) }) };

    const response = await call(
      publicEndpoint(contract, async () => okEmpty()),
      { body: '{"own":"x","twice":"x"}' },
    );

    expect(JSON.parse(response.body).fieldErrors).toMatchObject([
      { field: 'own', message: 'TypeMismatch' },
      { field: 'twice', message: 'Size' },
    ]);
  });
});

describe('a protected endpoint', () => {
  useVerifierEnvironment();

  it('loads the public keys in the cold start, within two seconds', () => {
    vi.stubEnv('TABLE_NAME', 'Gates');
    vi.spyOn(DynamoDBDocumentClient, 'from').mockReturnValue({ send: async () => ({}) } as never);

    endpoint({ ...PUBLIC, access: 'authenticated' }, async () => okEmpty());

    expect(currentDeadline() - NOW * 1000).toBe(2000 + CALL_RESERVE_MS);
  });
});
