import fc from 'fast-check';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { instant, instantOf } from '../../lib/contract/fields.ts';

const isWithZone = (text: string) => v.safeParse(instant, text).success;

describe('a date', () => {
  it.each([
    ['2026-11-20', '2026-11-20T00:00:00.000Z'],
    ['2026-11-20T13:45', '2026-11-20T13:45:00.000Z'],
    ['2026-11-20 13:45:10,5', '2026-11-20T13:45:10.500Z'],
    ['2024-02-29T13:45:10', '2024-02-29T13:45:10.000Z'],
  ])('is in UTC without a zone: %s', (text, expected) => {
    expect([instantOf(text), isWithZone(text)]).toEqual([expected, false]);
  });

  it('is understood with any fraction and offset of ISO 8601', () => {
    const fraction = fc.option(fc.tuple(fc.constantFrom('.', ','), fc.stringMatching(/^\d{1,9}$/)));
    const offset = fc.record({
      sign: fc.constantFrom('+', '-'),
      hours: fc.integer({ min: 0, max: 14 }),
      minutes: fc.option(fc.integer({ min: 0, max: 59 })),
      colon: fc.constantFrom(':', ''),
    });
    const second = fc.integer({ min: 0, max: 4_000_000_000 });
    fc.assert(
      fc.property(
        second,
        fraction,
        offset,
        fc.constantFrom('T', ' '),
        (seconds, part, { sign, hours, minutes, colon }, separator) => {
          const ms = Number((part?.[1] ?? '').padEnd(3, '0').slice(0, 3));
          const ahead = (hours * 60 + (minutes ?? 0)) * (sign === '+' ? 1 : -1);
          const local = new Date((seconds + ahead * 60) * 1000).toISOString().slice(0, 19);
          const two = (number: number) => String(number).padStart(2, '0');
          const zone = `${sign}${two(hours)}${minutes === null ? '' : colon + two(minutes)}`;
          const text = `${local.replace('T', separator)}${part?.join('') ?? ''}${zone}`;

          expect([text, instantOf(text), isWithZone(text)]).toEqual([
            ...[text, new Date(seconds * 1000 + ms).toISOString(), true],
          ]);
        },
      ),
    );
  });

  // test/unit/openapi.test.ts has others.
  it.each([
    ...['2026-04-31T00:00:00+02:00', '2026-11-20T13:45.5Z', '2026-11-20T13:45:00+1:00'],
    ...['0000-01-01T00:00:00+14:00', '9999-12-31T23:59:59-14:00', '2026-11-20Z', ''],
  ])('is none: %j', (text) => {
    expect([instantOf(text), isWithZone(text)]).toEqual([undefined, false]);
  });
});
