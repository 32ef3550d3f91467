import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { RequestOptions } from 'node:http';
import { RequestSigner } from 'aws4';
import { endpointOf, type Service } from '../../../lib/runtime/aws.ts';
import { exchange, type HandlerOptions, type HttpResponse } from './http-exchange.ts';

/** The part of an SDK client's configuration that is not in the environment. */
export interface ClientConfig {
  readonly maxAttempts?: number;
  /** Not in the SDK: the longest wait before a throttled call is repeated, once at most. */
  readonly throttledWaitMs?: number;
  readonly requestHandler?: HandlerOptions;
}

type Headers = Readonly<Record<string, string>>;

export type Fields = Record<string, unknown>;

type AwsError = Error & {
  code?: string;
  $metadata?: {
    httpStatusCode?: number;
    requestId?: string;
    attempts?: number;
    /** Not in the SDK: for the log. */
    service?: Service;
    operation?: string;
  };
};

/*
 * Retries as in the SDK's standard mode, unless `throttledWaitMs` is set: waits with full jitter
 * that double, and a budget that stops retries when most requests fail.
 */
const FIRST_THROTTLED_WAIT_MS = 1000;
const WAIT_MS_MAX = 20_000;
const RETRY_BUDGET = 500;
const RETRY_COST = 14;
const THROTTLED_RETRY_COST = 5;

// biome-ignore format: one name per line would be longer than the code that retries
const THROTTLED = new Set([
  'BandwidthLimitExceeded', 'EC2ThrottledException', 'LimitExceededException',
  'PriorRequestNotComplete', 'ProvisionedThroughputExceededException', 'RequestLimitExceeded',
  'RequestThrottled', 'RequestThrottledException', 'SlowDown', 'ThrottledException', 'Throttling',
  'ThrottlingException', 'TooManyRequestsException', 'TransactionInProgressException',
]);
const RETRIED_NAME = /^(TimeoutError|RequestTimeout(Exception)?|ReplicatedWriteConflictException)$/;
const RETRIED_STATUS = new Set([500, 502, 503, 504]);
const RETRIED_CODE = new Set(['EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN']);

export const commandFor = (operation: string) =>
  class {
    readonly operation = operation;
    readonly input: Fields;
    constructor(input: Fields) {
      this.input = input;
    }
  };
export type Command = InstanceType<ReturnType<typeof commandFor>>;

/** The second argument of an SDK client's `send`. */
export type SendOptions = { readonly abortSignal?: AbortSignal };

const signingKeys = new Map<string, KeyObject>();

/** Keeps keys as KeyObjects: with a buffer, `createHmac` takes a sixth of the CPU of a read. */
class Signer extends RequestSigner {
  override signature(): string {
    const secret = `AWS4${this.credentials.secretAccessKey}`;
    const scope = [this.getDate(), this.region, this.service, 'aws4_request'];
    const name = [secret, ...scope].join();
    const hmac = (key: Buffer, part: string) => createHmac('sha256', key).update(part).digest();
    const key = signingKeys.get(name) ?? createSecretKey(scope.reduce(hmac, Buffer.from(secret)));
    signingKeys.set(name, key);
    return createHmac('sha256', key).update(this.stringToSign()).digest('hex');
  }
}

export class AwsClient {
  readonly #config;
  readonly #firstWaitMs;
  readonly #target;
  readonly #host;
  readonly #basePath;
  #budget = RETRY_BUDGET;

  constructor(service: Service, config: ClientConfig = {}, firstWaitMs = 50) {
    const { protocol, hostname, host, port, pathname } = endpointOf(service);
    this.#config = config;
    this.#firstWaitMs = firstWaitMs;
    this.#host = host;
    this.#basePath = pathname.replace(/\/$/, '');
    const { AWS_REGION: region = '' } = process.env;
    // A URL has the brackets of an IPv6 address, a connection has none.
    this.#target = {
      protocol,
      hostname: hostname.replace(/^\[|\]$/g, ''),
      port,
      region,
      service,
      method: 'POST',
    };
  }

  /** Fails with an error named as in the SDK. */
  async post(
    { operation, path, headers }: { operation: string; path: string; headers: Headers },
    input: unknown,
    signal?: AbortSignal,
  ) {
    const { maxAttempts = 3, throttledWaitMs, requestHandler = {} } = this.#config;
    const body = JSON.stringify(input);
    let retryCost = 1;
    for (let attempt = 1; ; attempt++) {
      try {
        const response = await exchange(
          this.#signed(path, headers, body),
          body,
          signal,
          requestHandler,
        );
        if (response.status >= 300) throw errorOf(response);
        this.#budget = Math.min(RETRY_BUDGET, this.#budget + retryCost);
        return (response.text === '' ? {} : JSON.parse(response.text)) as Fields;
      } catch (thrown) {
        const error = thrown as AwsError;
        const { service } = this.#target;
        error.$metadata = { ...error.$metadata, attempts: attempt, service, operation };
        const isThrottled = THROTTLED.has(error.name) || error.$metadata.httpStatusCode === 429;
        retryCost = isThrottled ? THROTTLED_RETRY_COST : RETRY_COST;
        const isRejectedSoon = isThrottled && throttledWaitMs !== undefined;
        if (
          !(isThrottled || isTransient(error)) ||
          attempt >= (isRejectedSoon ? 2 : maxAttempts) ||
          this.#budget < retryCost
        )
          throw error;
        this.#budget -= retryCost;
        const firstWait = isThrottled ? FIRST_THROTTLED_WAIT_MS : this.#firstWaitMs;
        const wait = isRejectedSoon ? throttledWaitMs : firstWait * 2 ** (attempt - 1);
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, Math.random() * Math.min(wait, WAIT_MS_MAX));
          // The next attempt then fails before it sends anything.
          signal?.addEventListener('abort', () => resolve(clearTimeout(timer)));
        });
      }
    }
  }

  /** For one attempt, because a signature has a time. */
  #signed(path: string, headers: Headers, body: string) {
    const { _X_AMZN_TRACE_ID: trace } = process.env;
    const all = { ...headers, Host: this.#host, ...(trace && { 'X-Amzn-Trace-Id': trace }) };
    const request = { ...this.#target, path: this.#basePath + path, body, headers: all };
    return new Signer(request).sign() as RequestOptions;
  }
}

const isTransient = ({ name, code = '', $metadata }: AwsError): boolean =>
  RETRIED_NAME.test(name) ||
  RETRIED_CODE.has(code) ||
  RETRIED_STATUS.has($metadata?.httpStatusCode ?? 0);

function errorOf({ status, headers, text }: HttpResponse): AwsError {
  const body = parsed(text);
  const type = headers['x-amzn-errortype'] ?? body.__type ?? body.code ?? 'UnknownError';
  const { __type, code, message, Message, ...details } = body;
  return Object.assign(new Error(String(message ?? Message ?? type)), details, {
    // `aws.dynamodb.v20120810#Name` in a body, `Name:http://…` in a header.
    name: String(type).replace(/^.*#/, '').replace(/:.*$/, ''),
    $metadata: { httpStatusCode: status, requestId: headers['x-amzn-requestid'] as string },
  });
}

/** A proxy between the function and the service can respond with something other than JSON. */
function parsed(text: string): Fields {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}
