import { Readable } from 'node:stream';

interface SentRequest {
  readonly operation: string;
  // biome-ignore lint/suspicious/noExplicitAny: inputs differ by operation
  readonly input: any;
  readonly signal: AbortSignal | undefined;
}

/** A response as JSON, an AWS error, or a failure of the connection. */
export type ScriptedResponse =
  | object
  | { readonly error: string; readonly status?: number; readonly more?: object }
  | Error;

interface HttpRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** Settings under which a real client gets these responses in turn; a further request fails. */
export function scriptedClient(...responses: ScriptedResponse[]) {
  const requests: SentRequest[] = [];
  const requestHandler = {
    async handle(
      { path, headers, body }: HttpRequest,
      { abortSignal }: { abortSignal?: AbortSignal } = {},
    ) {
      const operation = headers['x-amz-target']?.split('.').at(-1) ?? path;
      requests.push({ operation, input: JSON.parse(textOf(body) || '{}'), signal: abortSignal });
      if (abortSignal?.aborted) throw Object.assign(new Error('Given up'), { name: 'AbortError' });
      if (responses.length === 0) throw new Error(`No response is left for ${operation}`);
      const response = responses.shift() as ScriptedResponse;
      if (response instanceof Error) throw response;
      if (!('error' in response)) return respond(200, response);
      const {
        error,
        status = 400,
        more,
      } = response as { error: string; status?: number; more?: object };
      return respond(status, { __type: error, message: error, ...more });
    },
  };
  const settings = {
    region: 'eu-central-1',
    credentials: { accessKeyId: 'nobody', secretAccessKey: 'nothing' },
    maxAttempts: 1,
    requestHandler,
  };
  const inputs = () => requests.map(({ input }) => input);
  return { settings, requests, inputs };
}

const textOf = (body: string | Uint8Array = ''): string =>
  typeof body === 'string' ? body : new TextDecoder().decode(body);

function respond(statusCode: number, body: object) {
  const text = JSON.stringify(body);
  const headers = {
    'content-type': 'application/x-amz-json-1.0',
    'content-length': String(text.length),
  };
  return { response: { statusCode, headers, body: Readable.from([Buffer.from(text)]) } };
}
