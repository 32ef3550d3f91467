import { isUtf8 } from 'node:buffer';
import type { MiddlewareObj } from '@middy/core';
import httpJsonBodyParser from '@middy/http-json-body-parser';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { Contract } from '../contract/contract.ts';
import { Failure } from '../contract/failure.ts';
import { reviveNumber, unambiguousJson } from '../contract/json.ts';

/** RFC 7644, 3.1 and 8.1. */
export const SCIM_TYPE = 'application/scim+json';

const BODY_BYTES_MAX = 64 * 1024;

/**
 * Replaces the event's body with the parsed value: JSON, a form where OAuth requires one, or the
 * single field that the contract accepts as text/plain. Fails with too-large,
 * unsupported-media-type, and with malformed for JSON that is not valid or not the same to every
 * parser, and for bytes that are not UTF-8.
 */
export function parseBody({
  textAs,
  oauth,
  scim,
  bodyBytesMax = BODY_BYTES_MAX,
}: Contract): MiddlewareObj<APIGatewayProxyEventV2> {
  // It protects prototypes. The media type is checked here: the parser ignores the charset.
  const json: MiddlewareObj<APIGatewayProxyEventV2> = httpJsonBodyParser({
    reviver: reviveNumber,
    disableContentTypeCheck: true,
  });
  return {
    before(request) {
      const { event } = request;
      const { body = '', isBase64Encoded, headers } = event;
      const bytes = isBase64Encoded ? Buffer.from(body, 'base64') : Buffer.from(body);
      if (bytes.length > bodyBytesMax) throw new Failure('too-large');
      const { 'content-type': contentType } = headers;
      const type = contentType && mediaTypeInUtf8(contentType);
      const isText = textAs !== undefined && type === 'text/plain';
      const expected = oauth ? 'application/x-www-form-urlencoded' : 'application/json';
      const isExpected = type === expected || (scim && type === SCIM_TYPE);
      const isReadable = (isText || isExpected) && headers['content-encoding'] === undefined;
      if (!isReadable) throw new Failure('unsupported-media-type');
      // Decoding would replace invalid bytes silently, and the stored value would differ from the
      // one sent.
      if (isBase64Encoded && !isUtf8(bytes)) throw new Failure('malformed');

      const text = isBase64Encoded ? bytes.toString() : body;
      if (isText || oauth) {
        (event as { body: unknown }).body = isText ? { [textAs]: text.trim() } : fieldsOf(text);
        return;
      }
      try {
        Object.assign(event, { body: unambiguousJson(text), isBase64Encoded: false });
        json.before?.(request);
      } catch {
        throw new Failure('malformed');
      }
    },
  };
}

/** The fields of a form. Undefined if one is repeated, which RFC 6749, 3.2 forbids. */
function fieldsOf(text: string): Record<string, string> | undefined {
  // RFC 6749, 3.2: a parameter without a value counts as omitted.
  const fields = [...new URLSearchParams(text)].filter(([, value]) => value !== '');
  const isUnique = new Set(fields.map(([name]) => name)).size === fields.length;
  return isUnique ? Object.fromEntries(fields) : undefined;
}

const TOKEN = "[!#$%&'*+\\-.^_`|~\\dA-Za-z]+";
const TYPE = new RegExp(`^${TOKEN}/${TOKEN}`);
/**
 * A semicolon and a parameter, which may be missing; its value is a token or a quoted string (RFC
 * 9110, 5.6.6). Unlike in the RFC, spaces may surround the equals sign.
 */
const PARAMETER = new RegExp(
  `[ \\t]*;[ \\t]*(?:(${TOKEN})[ \\t]*=[ \\t]*(?:(${TOKEN})|"((?:[^"\\\\]|\\\\.)*)"))?`,
  'y',
);

/**
 * The media type in a Content-Type header, in lower case and without its parameters. Undefined if
 * the header is malformed, or if the charset is not UTF-8: RFC 8259 gives it no meaning for JSON,
 * but a client that names another one has probably used it. All other parameters are ignored.
 */
export function mediaTypeInUtf8(contentType: string): string | undefined {
  const header = contentType.trim();
  const [type] = TYPE.exec(header) ?? [];
  if (type === undefined) return undefined;
  PARAMETER.lastIndex = type.length;
  while (PARAMETER.lastIndex < header.length) {
    const [parameter, name, token, quoted] = PARAMETER.exec(header) ?? [];
    if (parameter === undefined) return undefined;
    const value = token ?? quoted?.replaceAll(/\\(.)/g, '$1');
    // "utf8" is a label of UTF-8 in the Encoding standard.
    if (name?.toLowerCase() === 'charset' && !/^utf-?8$/i.test(value as string)) return undefined;
  }
  return type.toLowerCase();
}
