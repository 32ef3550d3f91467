import type { RequestOptions } from 'node:http';
import { sign } from 'aws4';
import { exchange, type HandlerOptions, type HttpResponse } from './http-exchange.ts';

/** The part of an SDK client's configuration that the transport supports. */
export interface ClientConfig {
  readonly endpoint?: string;
  readonly region?: string;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  readonly maxAttempts?: number;
  readonly requestHandler?: HandlerOptions;
}

/** An error of an AWS API, as the SDK throws it. */
type AwsError = Error & {
  code?: string;
  $metadata?: { httpStatusCode?: number; requestId?: string; attempts?: number };
};

/*
 * Retries as in the SDK's standard mode: waits with full jitter that double, and a budget that stops retries when most
 * requests fail. Waits are in milliseconds.
 */
const FIRST_THROTTLED_WAIT_MS = 1000;
const MAX_WAIT_MS = 20_000;
const RETRY_BUDGET = 500;
const RETRY_COST = 14;
const THROTTLED_RETRY_COST = 5;

const THROTTLED = new Set([
  'LimitExceededException',
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'ThrottlingException',
  'TooManyRequestsException',
  'TransactionInProgressException',
]);
const RETRIED_STATUS = new Set([500, 502, 503, 504]);
const RETRIED_CODE = new Set(['EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN']);

/** A command of an SDK client: the name of an operation and its input. */
export abstract class Command<I extends object = Record<string, unknown>> {
  abstract readonly operation: string;
  readonly input: I;
  constructor(input: I) {
    this.input = input;
  }
}

/** The class of the command for an operation. */
export const commandFor = (operation: string) =>
  class extends Command {
    readonly operation = operation;
  };

/** The second argument of an SDK client's `send`. */
export type SendOptions = { readonly abortSignal?: AbortSignal };

/** By the name in signatures: the first label of the host, and the suffix of the variable with another endpoint. */
const SERVICES = { dynamodb: ['dynamodb', 'DYNAMODB'], kms: ['kms', 'KMS'], ses: ['email', 'SESV2'] } as const;

/** Sends signed requests to one AWS service, and retries them. */
export class AwsClient {
  readonly #service: string;
  readonly #config: ClientConfig;
  readonly #region: string;
  readonly #url: URL;
  readonly #firstWaitMs: number;
  #budget = RETRY_BUDGET;

  constructor(service: keyof typeof SERVICES, config: ClientConfig = {}, firstWaitMs = 50) {
    const [host, suffix] = SERVICES[service];
    this.#firstWaitMs = firstWaitMs;
    this.#service = service;
    this.#config = config;
    this.#region = config.region ?? process.env.AWS_REGION ?? '';
    const endpoint = config.endpoint ?? process.env[`AWS_ENDPOINT_URL_${suffix}`] ?? process.env.AWS_ENDPOINT_URL;
    this.#url = new URL(endpoint ?? `https://${host}.${this.#region}.amazonaws.com`);
  }

  /** Posts JSON and returns the parsed body of a successful response. Fails with an error named as in the SDK. */
  async post(path: string, headers: Record<string, string>, input: unknown, signal?: AbortSignal) {
    const { maxAttempts = 3, requestHandler = {} } = this.#config;
    const body = JSON.stringify(input);
    let retryCost = 1;
    for (let attempt = 1; ; attempt++) {
      try {
        const response = await exchange(this.#signed(path, headers, body, signal), body, requestHandler);
        if (response.status >= 300) throw errorOf(response);
        this.#budget = Math.min(RETRY_BUDGET, this.#budget + retryCost);
        return (response.text === '' ? {} : JSON.parse(response.text)) as Record<string, unknown>;
      } catch (thrown) {
        const error = thrown as AwsError;
        error.$metadata = { ...error.$metadata, attempts: attempt };
        const isThrottled = THROTTLED.has(error.name) || error.$metadata.httpStatusCode === 429;
        retryCost = isThrottled ? THROTTLED_RETRY_COST : RETRY_COST;
        if (!(isThrottled || isTransient(error)) || attempt >= maxAttempts || this.#budget < retryCost) throw error;
        this.#budget -= retryCost;
        const wait = (isThrottled ? FIRST_THROTTLED_WAIT_MS : this.#firstWaitMs) * 2 ** (attempt - 1);
        await new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(wait, MAX_WAIT_MS)));
      }
    }
  }

  /** Signed anew for each attempt, because a signature has a time. */
  #signed(path: string, headers: Record<string, string>, body: string, signal: AbortSignal | undefined) {
    const { protocol, hostname, port, host } = this.#url;
    const { _X_AMZN_TRACE_ID: trace, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = process.env;
    const options = {
      ...{ protocol, hostname, port, method: 'POST', path, body, ...(signal && { signal }) },
      ...{ service: this.#service, region: this.#region },
      headers: { ...headers, Host: host, ...(trace && { 'X-Amzn-Trace-Id': trace }) },
    };
    const credentials = this.#config.credentials ?? {
      accessKeyId: AWS_ACCESS_KEY_ID as string,
      secretAccessKey: AWS_SECRET_ACCESS_KEY as string,
      sessionToken: AWS_SESSION_TOKEN,
    };
    return sign(options, credentials) as RequestOptions;
  }
}

const isTransient = ({ name, code = '', $metadata }: AwsError): boolean =>
  name === 'TimeoutError' || RETRIED_CODE.has(code) || RETRIED_STATUS.has($metadata?.httpStatusCode ?? 0);

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
function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}
