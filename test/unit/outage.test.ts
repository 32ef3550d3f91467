import { expect, it } from 'vitest';
import { isOutage } from '../../lib/runtime/outage.ts';
import { awsError } from '../support/doubles/aws-errors.ts';

const with_ = (fields: object) => Object.assign(new Error('x'), fields);

it.each<[string, unknown, boolean]>([
  ...['TimeoutError', 'AbortError', 'TransactionInProgressException', 'Throttling'].map(
    (name): [string, unknown, boolean] => [name, awsError(name), true],
  ),
  ['a broken connection', with_({ code: 'ECONNRESET' }), true],
  ['an unknown host', with_({ code: 'ENOTFOUND' }), true],
  ['a retryable error', with_({ $retryable: {} }), true],
  ['a failure of AWS', with_({ $metadata: { httpStatusCode: 500 } }), true],
  ['a rejected request', with_({ $metadata: { httpStatusCode: 499 } }), false],
  ['another code', with_({ code: 'EACCES' }), false],
  ['another error', new TypeError('x'), false],
  ['no error', { name: 'TimeoutError' }, false],
])('%s: %s is an outage: %s', (_, error, expected) => expect(isOutage(error)).toBe(expected));
