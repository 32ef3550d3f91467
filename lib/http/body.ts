import { isUtf8 } from 'node:buffer';
import type { MiddlewareObj } from '@middy/core';
import httpJsonBodyParser from '@middy/http-json-body-parser';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { Contract } from '../contract/contract.ts';
import { Failure } from '../contract/failure.ts';
import { isTooDeepOrAmbiguous } from '../contract/json-limits.ts';

const BODY_BYTES_MAX = 64 * 1024;
const TEXT_IN_UTF8 = /^text\/plain\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;
const JSON_IN_UTF8 = /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;

/**
 * Replaces the event's body with the parsed value: JSON, or the single field that the contract accepts as text/plain.
 * Fails with too-large, unsupported-media-type, and with malformed for bytes that are not UTF-8 and for JSON that is
 * invalid, nested too deeply or has duplicate keys.
 */
export function parseBody({ textAs }: Contract): MiddlewareObj<APIGatewayProxyEventV2> {
  const parser = httpJsonBodyParser({ disableContentTypeCheck: true });
  return {
    before(request) {
      const { body = '', isBase64Encoded, headers } = request.event;
      const bytes = Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8');
      if (bytes.length > BODY_BYTES_MAX) throw new Failure('too-large');
      const type = headers['content-type'] ?? '';
      const isText = textAs !== undefined && TEXT_IN_UTF8.test(type);
      const isReadable = (isText || JSON_IN_UTF8.test(type)) && headers['content-encoding'] === undefined;
      if (!isReadable) throw new Failure('unsupported-media-type');
      // Decoding would replace invalid bytes silently, and the stored value would differ from the one sent.
      if (isBase64Encoded && !isUtf8(bytes)) throw new Failure('malformed');

      const text = isBase64Encoded ? bytes.toString('utf8') : body;
      if (isText) {
        (request.event as { body: unknown }).body = { [textAs]: text.trim() };
        return;
      }
      parser.before?.(request);
      if (isTooDeepOrAmbiguous(text)) throw new Failure('malformed');
    },
  };
}
