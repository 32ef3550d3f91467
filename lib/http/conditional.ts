import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { Failure } from '../contract/failure.ts';
import type { Precondition } from '../table/write.ts';
import { isRead } from './request.ts';
import type { Response } from './response.ts';

/*
 * Conditional requests (RFC 9110, 13): If-Match and If-None-Match. Entities have no date of
 * modification.
 */

type Headers = APIGatewayProxyEventV2['headers'];

/** The versions that a change accepts of its entity. */
export function preconditionOf({
  'if-match': ifMatch,
  'if-none-match': ifNoneMatch,
}: Headers): Precondition {
  if (ifMatch === undefined && ifNoneMatch === undefined) return undefined;
  return {
    includes: (version) => isAcceptedByIfMatch(ifMatch, version) && !isKnown(ifNoneMatch, version),
    isNegative: ifMatch === undefined,
  };
}

/**
 * The response to a read of one entity, or 304 if the client has it already. Fails with
 * version-changed if If-Match does not accept the entity; the responses of changes are returned
 * unchanged.
 */
export function respondConditionally(event: APIGatewayProxyEventV2, response: Response): Response {
  const etag = response.headers?.ETag;
  if (!isRead(event) || etag === undefined) return response;
  const { headers } = event;
  const version = etag.slice(1, -1);
  if (!isAcceptedByIfMatch(headers['if-match'], version)) throw new Failure('version-changed');
  if (!isKnown(headers['if-none-match'], version)) return response;
  return { status: 304, ...(response.headers && { headers: response.headers }) };
}

/** If-Match compares strongly, and a header that is not a list of tags accepts no version. */
const isAcceptedByIfMatch = (ifMatch: string | undefined, version: string): boolean =>
  ifMatch === undefined || isAny(ifMatch) || tagsIn(ifMatch).has(`"${version}"`);

/** If-None-Match compares weakly, and a header that is not a list of tags names no version. */
const isKnown = (ifNoneMatch: string | undefined, version: string): boolean =>
  ifNoneMatch !== undefined &&
  (isAny(ifNoneMatch) || [...tagsIn(ifNoneMatch)].some((tag) => tag.endsWith(`"${version}"`)));

const isAny = (header: string): boolean => header.trim() === '*';

const ENTITY_TAG = /(W\/)?"[\x21\x23-\x7e\x80-\uffff]*"/g;

/**
 * The entity tags of a list; none if it contains anything else, or tags without a comma between
 * them.
 */
function tagsIn(list: string): ReadonlySet<string> {
  const isList = /^[\s,]*(\0\s*(,[\s,]*|$))*$/.test(list.replaceAll(ENTITY_TAG, '\0'));
  return new Set(isList ? list.match(ENTITY_TAG) : undefined);
}
