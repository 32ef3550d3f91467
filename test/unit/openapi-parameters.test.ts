import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { filterSchemas, parametersOf } from '../../infra/api-document/parameters.ts';
import { listQuery } from '../../lib/contract/list-query.ts';

/* The patterns of openapi.json accept exactly what the service accepts. */

const query = listQuery({ id: 'number', name: 'text', made: 'date' });
const parameters = parametersOf(
  {
    tag: 'Status',
    summary: '',
    access: 'public',
    entityName: 'audit',
    query,
    headers: ['Link'],
  },
  {},
);

function patternOf(parameter: string): RegExp {
  const { schema } = parameters.find(({ name }) => name === parameter) ?? {};
  const isDate = JSON.stringify(schema) === '{"$ref":"#/components/schemas/FilterDate"}';
  const resolved = isDate ? filterSchemas().FilterDate : schema;
  const { pattern, items } = resolved as { pattern?: string; items?: { pattern: string } };
  return new RegExp(pattern ?? items?.pattern ?? 'no pattern', 'u');
}
const isAccepted = (parameter: string, value: string): boolean =>
  v.safeParse(query, { [parameter]: [value] }).success;

describe('the pattern of sort', () => {
  const accepted = [
    '',
    ',',
    'ignorecase',
    'ignoreCase,id',
    'id',
    'desc',
    'id,DESC',
    'id, desc',
    ' name ,id,asc',
    'id,Desc,ignoreCase,',
  ];
  const rejected = ['ID', 'desc,id', 'asc,desc', 'id desc', 'id,descending', 'identity'];

  it.each(accepted)('accepts "%s"', (value) => {
    expect([patternOf('sort').test(value), isAccepted('sort', value)]).toEqual([true, true]);
  });

  it.each(rejected)('rejects "%s"', (value) => {
    expect([patternOf('sort').test(value), isAccepted('sort', value)]).toEqual([false, false]);
  });
});

describe('the pattern of a date', () => {
  const accepted = [
    ...[
      '2024-02-29',
      '2000-02-29',
      '0000-02-29',
      '2023-02-28',
      '2024-12-31',
      '2024-04-30T24:00',
      '2024-01-01T24:00:00.0Z',
    ],
    ...['2024-01-01T00:00+14:00', '2024-01-01T00:00:59.123000000-23:59', '2024-01-01T23:59'],
    ...[
      '2024-01-01 00:00',
      '2024-01-01T23:59:59.0009Z',
      '2024-01-01T23:59:59,1+0100',
      '2024-01-01T00:00-01',
    ],
  ];
  const rejected = [
    ...[
      '2023-02-29',
      '1900-02-29',
      '2024-02-30',
      '2024-04-31',
      '2024-13-01',
      '2024-00-01',
      '2024-01-00',
      '2024-01-32',
    ],
    ...[
      '2024-01-01T24:01',
      '2024-01-01T24:00:00.1',
      '2024-01-01T23:60',
      '2024-01-01T23:59:60',
      '2024-01-01T00:00+24:00',
    ],
    ...[
      '2024-01-01T00:00+00:60',
      '2024-01-01Z',
      '2024-1-1',
      '20240101',
      '2024-01-01t00:00z',
      'now',
    ],
  ];

  it.each(accepted)('accepts %s', (value) => {
    expect([patternOf('made.equals').test(value), isAccepted('made.equals', value)]).toEqual([
      true,
      true,
    ]);
  });

  it.each(rejected)('rejects %s', (value) => {
    expect([patternOf('made.equals').test(value), isAccepted('made.equals', value)]).toEqual([
      false,
      false,
    ]);
  });
});
