import { isUtf8 } from 'node:buffer';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import * as v from 'valibot';
import type { Contract } from '../contract/contract.ts';
import { Failure, type FieldError } from '../contract/failure.ts';
import type { Precondition } from '../table/version.ts';

const LARGEST_BODY = 64 * 1024;
const TEXT_IN_UTF8 = /^text\/plain\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;
const JSON_IN_UTF8 = /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;

/** Whether the body is text, where the contract takes one. */
export function isText({ textAs }: Contract, { headers }: APIGatewayProxyEventV2): boolean {
  return textAs !== undefined && TEXT_IN_UTF8.test(headers['content-type'] ?? '');
}

/** Refuses a body that need not be read: too large, or not JSON in UTF-8 (or text, where the contract takes it). */
export function checkBodyForm(contract: Contract, event: APIGatewayProxyEventV2): void {
  const { body = '', isBase64Encoded, headers } = event;
  const size = isBase64Encoded ? Buffer.from(body, 'base64').length : Buffer.byteLength(body);
  if (size > LARGEST_BODY) throw new Failure('too-large');
  const type = headers['content-type'] ?? '';
  const isKnown = JSON_IN_UTF8.test(type) || isText(contract, event);
  const readable = isKnown && headers['content-encoding'] === undefined;
  if (!readable) throw new Failure('unsupported-media-type');
  // What is no UTF-8 would be stored as something else than it was.
  if (isBase64Encoded && !isUtf8(Buffer.from(body, 'base64'))) throw new Failure('malformed');
}

/** The body as the text that it is. */
export const textOf = ({ body = '', isBase64Encoded }: APIGatewayProxyEventV2): string =>
  isBase64Encoded ? Buffer.from(body, 'base64').toString('utf8') : body;

/** The parts of a request, each by its own schema and never poured into one object. Fails with invalid, malformed and the two id rules. */
export function readParts(contract: Contract, event: APIGatewayProxyEventV2) {
  // By now the body parser has put an object where JSON was.
  const parsed: unknown = event.body;
  const text = contract.textAs && isText(contract, event) ? { [contract.textAs]: textOf(event).trim() } : undefined;
  const body = text ?? parsed;
  if (contract.body && !isObject(body)) throw new Failure('malformed');
  return {
    path: contract.path && v.parse(contract.path, event.pathParameters ?? {}),
    query: contract.query && read(contract.query, valuesOf(event.rawQueryString)),
    body: contract.body && read(contract.body, body),
  };
}

/** If-Match (RFC 9110, 13.1.1): undefined for `*`, which every version matches; weak tags match none. */
export function parseIfMatch(ifMatch: string | undefined): Precondition {
  if (ifMatch === undefined || ifMatch.trim() === '*') return undefined;
  return [...ifMatch.matchAll(/(W\/)?"([\x21\x23-\x7e]*)"/g)]
    .filter(([, weak]) => !weak)
    .map(([, , version = '']) => version);
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Every parameter with all of its values. */
function valuesOf(rawQueryString: string): Record<string, string[]> {
  const values: Record<string, string[]> = Object.create(null);
  for (const [name, value] of new URLSearchParams(rawQueryString)) {
    values[name] = [...(values[name] ?? []), value];
  }
  return values;
}

const CODES = ['NotNull', 'NotBlank', 'Size', 'Pattern', 'Email', 'TypeMismatch'];
const ID_RULES = ['no-id', 'id-not-wanted'] as const;

function read(schema: v.GenericSchema<unknown, unknown>, value: unknown): unknown {
  const { success, output, issues } = v.safeParse(schema, value, { abortPipeEarly: true });
  if (success) return output;

  const fields = new Map<string, FieldError>();
  for (const issue of issues) {
    if (ID_RULES.some((rule) => rule === issue.message)) continue;
    const field = v.getDotPath(issue) ?? '';
    if (!fields.has(field)) fields.set(field, { field, message: codeOf(issue) });
  }
  if (fields.size > 0) throw new Failure('invalid', { fieldErrors: [...fields.values()] });
  throw new Failure(ID_RULES.find((rule) => issues.some((issue) => issue.message === rule)) ?? 'malformed');
}

function codeOf({ input, message }: v.BaseIssue<unknown>): string {
  if (input === undefined || input === null) return 'NotNull';
  return CODES.includes(message) ? message : 'TypeMismatch';
}
