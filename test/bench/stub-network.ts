import { EventEmitter } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import { Readable } from 'node:stream';
import { openReplies, type Replayed } from './replies.ts';

const MAX_KNOWN = 100;

/**
 * Replaces the HTTP clients of this process with one that responds with recorded responses and has
 * no sockets, so that a call to AWS costs only the work of the function and its libraries. Call it
 * before a bundle is imported.
 */
export function stubNetwork([first, second]: Replayed): { repeatSecond(): void } {
  let replyTo = openReplies([first, second]);
  const request = (...options: unknown[]) => {
    const onResponse = options.findLast((option) => typeof option === 'function');
    const settings = options.findLast((option) => typeof option === 'object') as {
      headers?: Record<string, string>;
    };
    const target =
      settings.headers?.['X-Amz-Target'] ?? settings.headers?.['x-amz-target'] ?? '.SendEmail';
    const fake = new FakeRequest((input) => {
      // A function opens its connections with an empty HEAD.
      const reply =
        input === '' ? { status: 200, body: '' } : replyTo(target.split('.')[1] as string, input);
      return (
        reply ?? {
          status: 400,
          body: `{"__type":"UnknownOperationException","message":"${target}"}`,
        }
      );
    });
    if (onResponse) fake.on('response', onResponse as (response: IncomingMessage) => void);
    return fake;
  };
  Object.assign(http, { request });
  Object.assign(https, { request });
  syncBuiltinESMExports();
  return {
    repeatSecond() {
      replyTo = remembering(openReplies([[], second]), second);
    },
  };
}

/**
 * Searches once for each input, and never for the only call of an operation: a search takes longer
 * than the call.
 */
function remembering(replyTo: ReturnType<typeof openReplies>, calls: Replayed[1]): typeof replyTo {
  const isOnly = (operation: string) =>
    calls.filter((call) => call.operation === operation).length === 1;
  const only = new Set(calls.map(({ operation }) => operation).filter(isOnly));
  const known = new Map<string, ReturnType<typeof replyTo>>();
  return (operation, input) => {
    const key = only.has(operation) ? operation : operation + input;
    const reply = known.get(key) ?? replyTo(operation, input);
    if (known.size < MAX_KNOWN) known.set(key, reply);
    return reply;
  };
}

/** The part of a ClientRequest that the transports use. */
class FakeRequest extends EventEmitter {
  readonly socket = {
    connecting: false,
    setKeepAlive: () => undefined,
    setTimeout: () => undefined,
  };
  readonly #reply: (input: string) => { status: number; body: string };

  constructor(reply: (input: string) => { status: number; body: string }) {
    super();
    this.#reply = reply;
  }

  end(input: string | Uint8Array = '') {
    setImmediate(() => {
      const { status, body } = this.#reply(
        typeof input === 'string' ? input : Buffer.from(input).toString(),
      );
      const response = Object.assign(new Readable({ read: () => undefined }), {
        statusCode: status,
        headers: {
          'content-type': 'application/x-amz-json-1.0',
          'content-length': String(body.length),
        },
      });
      response.push(body);
      response.push(null);
      response.once('end', () => this.emit('close'));
      this.emit('response', response);
    });
    return this;
  }

  setTimeout() {
    return this;
  }

  destroy() {
    return this;
  }
}
