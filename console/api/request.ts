import { type Links, linksOf } from '../list.ts';
import { claimsOf } from '../session.ts';
import type { Operations } from './generated/operations.gen.ts';
import type { FieldError } from './generated/types.gen.ts';

type Operation = keyof Operations;

/** What a request needs. The query of a list is the page's, with any filter. */
type Arguments<O extends Operation> = Pick<Operations[O]['data'], 'body' | 'path'> & {
  readonly query?: Readonly<Record<string, string | number | undefined>>;
};

/** A rejected request, or one without a response: then the status is 0. */
export interface Problem {
  readonly status: number;
  readonly message: string;
  readonly type?: string;
  readonly detail?: string;
  readonly requestId?: string;
  readonly fieldErrors: readonly FieldError[];
  readonly retryAfterSeconds?: number;
}

/** For the `retryAfterSeconds` of a problem. */
export const waitFor = (seconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, seconds * 1000));

export interface Success<Data> {
  readonly ok: true;
  readonly data: Data;
  readonly etag: string | undefined;
  readonly total: number | undefined;
  readonly links: Links;
  readonly alert: string | undefined;
}

export type Answer<Data> = Success<Data> | { readonly ok: false; readonly problem: Problem };

interface Options {
  readonly ifMatch?: string | undefined;
}

export interface Connection {
  readonly fetch: typeof fetch;
  readonly token: () => string | undefined;
  /** Asks for the password again; true if the session goes on. */
  readonly resume: () => Promise<boolean>;
  readonly onFactorRequired: () => void;
}

export type Send = <O extends Operation>(
  operation: O,
  args: Arguments<O>,
  options?: Options,
) => Promise<Answer<Operations[O]['response']>>;

/** Sends requests. Nothing is thrown: what fails is a problem. */
export const connect = (connection: Connection): Send => {
  return async function send<O extends Operation>(
    operation: O,
    args: Arguments<O>,
    options: Options = {},
  ): Promise<Answer<Operations[O]['response']>> {
    const token = connection.token();
    const [, path = ''] = operation.split(' ');
    const response = await connection
      .fetch(urlOf(path, args), initOf(operation, args, token, options))
      .catch(() => undefined);
    if (!response) return { ok: false, problem: NO_RESPONSE };
    const text = await response.text().catch(() => undefined);
    if (text === undefined) return { ok: false, problem: NO_RESPONSE };
    if (response.ok) {
      const data = parsed(text);
      if (data === undefined && text !== '') return { ok: false, problem: NO_RESPONSE };
      return successOf(response, data as Operations[O]['response']);
    }
    if (response.status === 401 && token && (await resumed(connection, token)))
      return send(operation, args, options);
    const problem = problemOf(response, text);
    if (problem.message === 'error.secondfactorrequired') connection.onFactorRequired();
    return { ok: false, problem };
  };
};

const NO_RESPONSE: Problem = { status: 0, message: 'error.network', fieldErrors: [] };

/**
 * Whether the user has a new token. Another request may have asked for it in the meantime, or
 * another user may have logged in, who must not send what this one has begun.
 */
async function resumed({ token, resume }: Connection, ended: string): Promise<boolean> {
  const present = token();
  if (present === ended) return resume();
  return present !== undefined && claimsOf(present)?.id === claimsOf(ended)?.id;
}

function urlOf(template: string, args: Arguments<Operation>): string {
  const { path = {}, query = {} } = args as {
    path?: Record<string, string | number>;
    query?: Record<string, string | number | undefined>;
  };
  const url = template.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(path[name])),
  );
  const set = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const search = new URLSearchParams(
    Object.fromEntries(set.map(([name, value]) => [name, String(value)])),
  );
  return set.length > 0 ? `${url}?${search}` : url;
}

function initOf(
  operation: Operation,
  args: Arguments<Operation>,
  token: string | undefined,
  { ifMatch }: Options,
): RequestInit {
  const { body } = args as { body?: unknown };
  const [method = ''] = operation.split(' ');
  // RFC 6749, 4.
  const isForm = operation === 'POST /api/oauth2/token';
  return {
    method,
    headers: {
      ...(token && { Authorization: `Bearer ${token}` }),
      ...(body !== undefined && !isForm && { 'Content-Type': 'application/json' }),
      ...(ifMatch && { 'If-Match': ifMatch }),
    },
    ...(body !== undefined && {
      body: isForm ? new URLSearchParams(body as Record<string, string>) : JSON.stringify(body),
    }),
    cache: 'no-store',
    credentials: 'omit',
  };
}

function successOf<Data>({ headers }: globalThis.Response, data: Data): Success<Data> {
  const total = headers.get('X-Total-Count');
  return {
    ok: true,
    data,
    etag: headers.get('ETag') ?? undefined,
    total: total === null ? undefined : Number(total),
    links: linksOf(headers.get('Link')),
    alert: headers.get('X-gatehouseApp-alert') ?? undefined,
  };
}

/** API Gateway and the edge have responses of their own, some of which are no JSON. */
function problemOf({ status, headers }: Response, text: string): Problem {
  const body = (parsed(text) ?? {}) as Partial<Problem>;
  const retryAfter = Number(headers.get('Retry-After') ?? Number.NaN);
  const isOurs = body.message?.startsWith('error.');
  return {
    ...(isOurs && body),
    status,
    message: isOurs ? (body.message as string) : `error.http.${status}`,
    fieldErrors: body.fieldErrors ?? [],
    ...(Number.isFinite(retryAfter) && { retryAfterSeconds: retryAfter }),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
