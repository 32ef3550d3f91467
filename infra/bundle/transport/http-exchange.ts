import http, { type IncomingHttpHeaders, type RequestOptions } from 'node:http';
import https from 'node:https';

/** Options of the SDK's request handler, with timeouts in milliseconds. */
export interface HandlerOptions {
  readonly connectionTimeout?: number;
  /** From the request until the end of the response. */
  readonly requestTimeout?: number;
  readonly httpAgent?: http.Agent;
  readonly httpsAgent?: https.Agent;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Codes that the SDK reports as a TimeoutError: the connection broke, or was never made. */
const BROKEN_CONNECTION = new Set(['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ETIMEDOUT']);

/** Fails with TimeoutError, AbortError, or an error of the network. */
export function exchange(
  options: RequestOptions,
  body: string,
  signal: AbortSignal | undefined,
  { connectionTimeout, requestTimeout, httpAgent, httpsAgent }: HandlerOptions,
): Promise<HttpResponse> {
  const isTls = options.protocol === 'https:';
  return new Promise((resolve, reject) => {
    const request = (isTls ? https : http).request({
      ...options,
      agent: isTls ? httpsAgent : httpAgent,
    });
    const stop = (name: string, message: string) =>
      request.destroy(Object.assign(new Error(message), { name }));
    const expectWithin = (milliseconds: number | undefined, what: string) =>
      milliseconds &&
      setTimeout(stop, milliseconds, 'TimeoutError', `No ${what} within ${milliseconds} ms`);
    const timer = expectWithin(requestTimeout, 'response');
    let connectionTimer: ReturnType<typeof expectWithin>;
    // `http.request` would watch the signal with a stream observer, which takes a tenth of a
    // repeated call.
    const abort = () => stop('AbortError', 'The request was aborted');
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort);

    const fail = (error: NodeJS.ErrnoException) => {
      if (BROKEN_CONNECTION.has(error.code ?? '')) error.name = 'TimeoutError';
      reject(error);
    };
    request.on('error', fail);
    request.on('close', () => {
      clearTimeout(timer);
      clearTimeout(connectionTimer);
      signal?.removeEventListener('abort', abort);
    });
    request.on('socket', (socket) => {
      if (!socket.connecting) return;
      connectionTimer = expectWithin(connectionTimeout, 'connection');
      socket.once(isTls ? 'secureConnect' : 'connect', () => clearTimeout(connectionTimer));
    });
    request.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('error', fail);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
    });
    request.end(body);
  });
}
