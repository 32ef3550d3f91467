import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import * as v from 'valibot';
import type { Contract } from '../contract/contract.ts';
import { Failure, FIELD_CODES, type FieldError } from '../contract/failure.ts';
import { limitsOf } from '../contract/fields.ts';
import type { ModuleCaller } from '../modules/module-caller.ts';
import type { Caller } from '../users/caller.ts';

/**
 * The API Gateway event, with the client's address if there is an edge, its caller once verified,
 * and for the log the user or the module that the request has authenticated by a secret.
 */
export type Event = APIGatewayProxyEventV2 & {
  clientAddress?: string;
  caller?: Caller | ModuleCaller;
  callerId?: number | undefined;
  clientId?: string | undefined;
};

/** Whether a request reads, by its method. */
export const isRead = ({ requestContext }: APIGatewayProxyEventV2): boolean =>
  ['GET', 'HEAD'].includes(requestContext.http.method);

/**
 * Parses the parameters of the path. Fails with not-found: a path with an invalid parameter names
 * no resource.
 */
export function readPath(contract: Contract, event: APIGatewayProxyEventV2): unknown {
  if (!contract.path) return undefined;
  const { success, output } = v.safeParse(contract.path, event.pathParameters ?? {});
  if (!success) throw new Failure('not-found');
  return output;
}

/**
 * Validates query and body, each against its own schema. The parts of a request are never merged,
 * so a body cannot override the path. Fails with invalid, malformed, no-id, id-not-wanted.
 */
export function readQueryAndBody(contract: Contract, event: APIGatewayProxyEventV2) {
  // parseBody has already replaced the text with the parsed value.
  const body: unknown = event.body;
  if (contract.body && !isObject(body)) throw new Failure('malformed');
  return {
    query: contract.query && readPart(contract.query, valuesOf(event.rawQueryString)),
    body: contract.body && readPart(contract.body, body),
  };
}

const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Keeps repeated parameters. The object has no prototype, so a parameter called `__proto__` is
 * harmless.
 */
function valuesOf(rawQueryString: string): Record<string, string[]> {
  const values: Record<string, string[]> = Object.create(null);
  for (const [name, value] of new URLSearchParams(rawQueryString)) {
    values[name] = [...(values[name] ?? []), value];
  }
  return values;
}

const ID_RULES = ['no-id', 'id-not-wanted'] as const;

/** A body of 64 KiB can have 20,000 invalid elements, and their errors 40 times its size. */
const FIELD_ERRORS_MAX = 100;

export function readPart(schema: v.GenericSchema<unknown, unknown>, value: unknown): unknown {
  // Stryker disable next-line ObjectLiteral,BooleanLiteral: only the time of later checks differs
  const { success, output, issues } = v.safeParse(schema, value, { abortPipeEarly: true });
  if (success) return output;

  const fields = new Map<string, FieldError>();
  for (const issue of issues) {
    if (ID_RULES.some((rule) => rule === issue.message)) continue;
    const field = v.getDotPath(issue) as string;
    if (!fields.has(field))
      fields.set(field, { field, message: codeOf(issue), ...limitsOf(issue) });
  }
  if (fields.size > 0)
    throw new Failure('invalid', { fieldErrors: [...fields.values()].slice(0, FIELD_ERRORS_MAX) });
  throw new Failure(issues[0].message as (typeof ID_RULES)[number]);
}

function codeOf({ input, message }: v.BaseIssue<unknown>): FieldError['message'] {
  if (input === undefined || input === null) return 'NotNull';
  return FIELD_CODES.find((code) => code === message) ?? 'TypeMismatch';
}

/** The headers that the edge sets. It overwrites headers of these names that a client sends. */
export const EDGE_HEADERS = {
  secret: 'gatehouse-edge-secret',
  clientAddress: 'gatehouse-client-address',
} as const;

/**
 * Returns the address of the client, and rejects every request that does not prove with the secret
 * that it came through the edge. Undefined in an environment without an edge, where anybody could
 * send these headers.
 */
export function openEdge(): ((headers: APIGatewayProxyEventV2['headers']) => string) | undefined {
  const { EDGE_SECRET_HASHES: hashes } = process.env;
  if (hashes === undefined) return undefined;
  const accepted = hashes.split(',').map((hash) => Buffer.from(hash, 'hex'));
  return (headers) => {
    const secret = headers[EDGE_HEADERS.secret];
    const address = headers[EDGE_HEADERS.clientAddress] ?? '';
    // Without an address, all clients would share one count of the login throttle.
    if (!secret || !isAccepted(secret) || isIP(address) === 0) throw new Failure('not-from-edge');
    return address;
  };

  /** 256 random bits cannot be guessed from their hash, so it need not be slow. */
  function isAccepted(secret: string): boolean {
    const sent = createHash('sha256').update(secret).digest();
    return accepted.some((hash) => timingSafeEqual(hash, sent));
  }
}
