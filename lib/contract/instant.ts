import * as v from 'valibot';
import { limited } from './limits.ts';

/*
 * Dates that clients and operators write (ISO 8601, extended format): a day, or a time with an
 * optional fraction and zone, which is Z, +01:00, +0100 or +01. Databases write a space for the T.
 */

const DATE =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?)(?:(?<=:\d{2}:\d{2})[.,](\d+))?(?:Z|([+-]\d{2})(?::?(\d{2}))?)?)?$/;

/**
 * The instant of a date in UTC, which is the zone by default. Drops what is beyond milliseconds.
 * Undefined if the text is no date, the day does not exist, or its year in UTC does not have four
 * digits, without which dates are not compared correctly as texts.
 */
export function instantOf(text: string): string | undefined {
  const [, day, time = '00:00', fraction, hours, minutes = '00'] = DATE.exec(text) ?? [];
  const midnight = new Date(day as string);
  const zone = hours ? `${hours}:${minutes}` : 'Z';
  const instant = new Date(`${day}T${time}${fraction ? `.${fraction.slice(0, 3)}` : ''}${zone}`);
  if (Number.isNaN(midnight.getTime()) || Number.isNaN(instant.getTime())) return undefined;
  const written = instant.toISOString();
  return midnight.toISOString().startsWith(day as string) && /^\d{4}-/.test(written)
    ? written
    : undefined;
}

/** A time with its zone, without which it would depend on who wrote it. */
export const instant = v.pipe(
  v.string('TypeMismatch'),
  v.metadata({ format: 'date-time' }),
  limited(
    { reason: 'a time that exists, in ISO 8601 with its zone' },
    (text) => /[T ].*[Z+-]/.test(text) && instantOf(text) !== undefined,
    'Pattern',
  ),
);
