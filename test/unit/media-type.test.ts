import { expect, it } from 'vitest';
import { mediaTypeInUtf8 } from '../../lib/http/body.ts';
import { cpuMsOf } from '../support/doubles/cpu-time.ts';

it.each([
  'application/json',
  ' Application/JSON\t',
  'application/json;',
  'application/json ; ;; ',
  'application/json;charset=utf-8;',
  'application/json; charset="utf-8" ; profile=x',
  'application/json; Charset = UTF8',
  String.raw`application/json; charset="u\tf-8"; q="a;\"=, b"`,
  'application/json; profile="; charset=iso-8859-1"',
])('%j is application/json in UTF-8', (header) => {
  expect(mediaTypeInUtf8(header)).toBe('application/json');
});

it.each([
  '',
  'application/',
  '/json',
  'application /json',
  'application/json x',
  'application/json, text/plain',
  'application/json; =x',
  'application/json; charset=',
  'application/json; charset=""',
  'application/json; charset="utf-8',
  'application/json; charset="utf-8"x',
  'application/json; charset=utf-8 x',
  'application/json; charset=iso-8859-1',
  'application/json; charset=utf-8x',
  'application/json; charset=utf-8; CHARSET=utf-16',
])('%j is malformed or in another charset', (header) => {
  expect(mediaTypeInUtf8(header)).toBeUndefined();
});

it.each([
  ['application/jsonx', 'application/jsonx'],
  ['x-application/json', 'x-application/json'],
  ['Text/Plain; format=flowed', 'text/plain'],
])('%j is %j', (header, type) => {
  expect(mediaTypeInUtf8(header)).toBe(type);
});

it('is read in linear time', async () => {
  const read = () => {
    for (const part of [' ', ';', '"', '\\', 'a', '; a', '="', '; a="\\'])
      mediaTypeInUtf8(`application/json;${part.repeat(100_000)}!`);
  };

  expect(await cpuMsOf(read)).toBeLessThan(1000);
});
