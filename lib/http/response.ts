import type { EntityName } from '../contract/contract.ts';
import { Failure } from '../contract/failure.ts';
import { requireReturnable } from '../contract/json.ts';
import type { ListQuery, QueryParameter } from '../contract/list-query.ts';
import type { Page } from '../table/steps.ts';
import type { Version } from '../table/write.ts';

/** A handler's response. lambda-handler.ts adds the headers that all responses share. */
export interface Response {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON text, unless the headers state another type. */
  readonly body?: string;
  /** Whether the body is the Base64 of the bytes to send. */
  readonly isBase64Encoded?: true;
  /** The user that a request without a token has authenticated, for the log. */
  readonly callerId?: number;
  /** The module's client id, for the log. */
  readonly clientId?: string;
}

/** 200 with a body. */
export function ok(body: unknown, headers: Record<string, string> = {}): Response {
  return okJson(JSON.stringify(body), headers);
}

/** 200 with a body that is JSON text already. */
export function okJson(body: string, headers: Record<string, string> = {}): Response {
  return { status: 200, headers, body };
}

/** 200 with a file. */
export function okFile({
  headers,
  base64,
}: {
  readonly headers: Readonly<Record<string, string>>;
  readonly base64: string;
}): Response {
  return { status: 200, headers, body: base64, isBase64Encoded: true };
}

/** 200 without a body. */
export function okEmpty(headers: Record<string, string> = {}): Response {
  return { status: 200, headers };
}

/** 204, which has no body. */
export function noContent(): Response {
  return { status: 204 };
}

/** 201 with the location of the created resource. */
export function created(
  body: unknown,
  location: string,
  headers: Record<string, string> = {},
): Response {
  return { status: 201, headers: { ...headers, Location: location }, body: JSON.stringify(body) };
}

/**
 * The headers from which clients compose a notification: the event and the name or id of the
 * entity.
 */
export function alert(
  entityName: EntityName,
  event: 'created' | 'updated' | 'deleted' | 'confirmationRequested',
  which: string | number,
) {
  const key = entityName === 'userManagement' ? entityName : `gatehouseApp.${entityName}`;
  return {
    'X-gatehouseApp-alert': `${key}.${event}`,
    'X-gatehouseApp-params': encodeURIComponent(which),
  };
}

/** The ETag header, which a client sends back in If-Match. */
export function etag({ version }: { readonly version: Version }) {
  return { ETag: `"${version}"` };
}

/**
 * Node's `fetch` rejects responses with more than 16 KB of headers; proxies often allow 8 KB per
 * header.
 */
const LINK_BYTES_MAX = 8000;

/**
 * A page of a list: a plain array, with the total and the links to other pages in headers. Fails
 * with page-too-large, and with invalid when the sort and filters are too long for a link to the
 * next page.
 */
export function pageResponse<E>(
  { entities, total, more, cursor }: Page<E>,
  view: (entity: E) => unknown,
  { query, pathname }: { query: ListQuery<unknown>; pathname: string },
): Response {
  const body = requireReturnable(JSON.stringify(entities.map(view)), 'page-too-large');
  const link = linkHeader(query, { total, more, cursor }, pathname);
  return {
    status: 200,
    body,
    headers: {
      ...(total !== undefined && { 'X-Total-Count': String(total) }),
      ...(link && { Link: link }),
    },
  };
}

/**
 * Drops links from the end until the header fits: a client can do without `first`, but not without
 * `next`.
 */
function linkHeader(
  query: ListQuery<unknown>,
  page: Omit<Page<unknown>, 'entities'>,
  pathname: string,
): string {
  const links = linksTo(query, page, pathname);
  // Links are percent-encoded, so each character is one byte.
  while (links.join(',').length > LINK_BYTES_MAX) {
    if (page.more && links.length === 1) {
      throw new Failure('invalid', {
        fieldErrors: [{ field: longestParameter(query), message: 'Size' }],
      });
    }
    links.pop();
  }
  return links.join(',');
}

/**
 * RFC 8288, in the order that clients expect. Commas in `sort` are encoded: clients split the
 * header at commas.
 */
function linksTo(
  { page, size, parameters, after }: ListQuery<unknown>,
  { total, more, cursor }: Omit<Page<unknown>, 'entities'>,
  pathname: string,
): string[] {
  const last = total === undefined ? undefined : Math.max(0, Math.ceil(total / size) - 1);
  // Without a total, a page after a cursor may have a number that is too high to be read by it.
  const hasPrevious = page > 0 && (last === undefined ? after === undefined : page - 1 <= last);
  const pages = {
    next: more ? page + 1 : undefined,
    prev: hasPrevious ? page - 1 : undefined,
    last,
    first: 0,
  };
  return Object.entries(pages).flatMap(([relation, target]) => {
    if (target === undefined) return [];
    const query = new URLSearchParams({ page: String(target), size: String(size) });
    for (const [name, value] of parameters) query.append(name, value);
    if (relation === 'next' && cursor) query.set('cursor', cursor);
    return [`<${pathname}?${query}>; rel="${relation}"`];
  });
}

function longestParameter({ parameters }: ListQuery<unknown>): string {
  const bytes = ([name, value]: QueryParameter) =>
    new URLSearchParams([[name, value]]).toString().length;
  // Without parameters, a link is never too long.
  const [name] = parameters.toSorted((a, b) => bytes(b) - bytes(a))[0] as QueryParameter;
  return name;
}
