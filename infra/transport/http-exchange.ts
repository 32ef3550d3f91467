import http, { type IncomingHttpHeaders, type RequestOptions } from 'node:http';
import https from 'node:https';

/** The options of the SDK's request handler that the transport supports. Timeouts are in milliseconds. */
export interface HandlerOptions {
  readonly connectionTimeout?: number;
  /** From the request until the end of the response. */
  readonly requestTimeout?: number;
  readonly httpAgent?: http.Agent;
  readonly httpsAgent?: https.Agent;
}

/** A response with its complete body. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Codes that the SDK reports as a TimeoutError: the connection broke, or was never made. */
const BROKEN_CONNECTION = new Set(['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ETIMEDOUT']);

/** Sends a request and reads the whole response. Fails with TimeoutError, AbortError, or an error of the network. */
export function exchange(
  options: RequestOptions,
  body: string,
  { connectionTimeout, requestTimeout, httpAgent, httpsAgent }: HandlerOptions,
): Promise<HttpResponse> {
  const isTls = options.protocol === 'https:';
  return new Promise((resolve, reject) => {
    const request = (isTls ? https : http).request({ ...options, agent: isTls ? httpsAgent : httpAgent });
    const timers: NodeJS.Timeout[] = [];
    const limit = (milliseconds: number | undefined, missing: string): NodeJS.Timeout | undefined => {
      if (milliseconds === undefined) return undefined;
      const error = Object.assign(new Error(`No ${missing} within ${milliseconds} ms`), { name: 'TimeoutError' });
      const timer = setTimeout(() => request.destroy(error), milliseconds);
      timers.push(timer);
      return timer;
    };
    const fail = (error: NodeJS.ErrnoException) => {
      for (const timer of timers) clearTimeout(timer);
      if (BROKEN_CONNECTION.has(error.code ?? '')) error.name = 'TimeoutError';
      reject(error);
    };

    limit(requestTimeout, 'response');
    request.on('error', fail);
    request.on('socket', (socket) => {
      if (!socket.connecting) return;
      const timer = limit(connectionTimeout, 'connection');
      socket.once(isTls ? 'secureConnect' : 'connect', () => clearTimeout(timer));
    });
    request.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('error', fail);
      response.on('end', () => {
        for (const timer of timers) clearTimeout(timer);
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      });
    });
    request.end(body);
  });
}
