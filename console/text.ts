import type { Dictionary } from './languages/en.ts';

export function fill(text: string, values: Readonly<Record<string, unknown>>): string {
  return text.replace(/\{(\w+)\}/g, (_, name: string) => isolated(String(values[name] ?? '')));
}

export const DAY_MS = 86_400_000;

const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Bidi_Control}]/u;

/** A name that is read from right to left must not turn round the sentence that it is in. */
const isolated = (name: string): string =>
  RIGHT_TO_LEFT.test(name) ? `\u2068${name.replace(/\p{Bidi_Control}/gu, '')}\u2069` : name;

export interface PluralForms {
  readonly one: string;
  readonly other: string;
}

/** The form for this number, with the number in the way of the language. */
export function plural(language: string, forms: PluralForms, count: number): string {
  const form = new Intl.PluralRules(language).select(count) === 'one' ? forms.one : forms.other;
  return fill(form, { n: new Intl.NumberFormat(language).format(count) });
}

/** With seconds: two entries can be of one minute. */
export const dateTime = (language: string, instant: string): string =>
  new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'medium' }).format(
    new Date(instant),
  );

const UNITS = [
  ['year', 365 * 24 * 3600],
  ['month', 30 * 24 * 3600],
  ['day', 24 * 3600],
  ['hour', 3600],
  ['minute', 60],
] as const;

/** How far an instant is from now, in its largest unit: `3 days ago`, `in 2 hours`. */
export function relativeTime(language: string, instant: string, now: number): string {
  const seconds = (Date.parse(instant) - now) / 1000;
  const [unit, length] = UNITS.find(([, least]) => Math.abs(seconds) >= least) ?? ['second', 1];
  // With `auto`, 47 hours ago would be `yesterday`, although it was the day before.
  const numeric = unit === 'second' ? 'auto' : 'always';
  const format = new Intl.RelativeTimeFormat(language, { numeric, style: 'short' });
  return format.format(unit === 'second' ? 0 : Math.trunc(seconds / length), unit);
}

/** The name of the zone in which days and times are shown, such as `Europe/Berlin`. */
export const timeZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The instant at which a day in the zone of the browser begins, or the one at which it is over. */
export function boundOf(day: string, bound: 'from' | 'until'): string {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  return new Date(year, month - 1, bound === 'from' ? date : date + 1).toISOString();
}

/** The day of such an instant; the text itself if it is none. */
export function dayOf(instant: string, bound: 'from' | 'until'): string {
  const time = Date.parse(instant);
  if (Number.isNaN(time)) return instant;
  const shown = new Date(bound === 'from' ? time : time - 1);
  const twoDigits = (number: number): string => String(number).padStart(2, '0');
  const parts = [shown.getMonth() + 1, shown.getDate()].map(twoDigits);
  return [String(shown.getFullYear()).padStart(4, '0'), ...parts].join('-');
}

/** A day such as 2027-01-15, which is in UTC. */
export const day = (language: string, date: string): string =>
  new Intl.DateTimeFormat(language, { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(date));

/** The languages of the console, whose texts are loaded when they are needed. */
export const DICTIONARIES = {
  en: () => import('./languages/en.ts').then(({ en }): Dictionary => en),
  de: () => import('./languages/de.ts').then(({ de }): Dictionary => de),
  es: () => import('./languages/es.ts').then(({ es }): Dictionary => es),
};
export type Language = keyof typeof DICTIONARIES;
export const LANGUAGES = Object.keys(DICTIONARIES) as readonly Language[];

/** The first of these that the console has, or English: `de-AT` is German. */
export function languageOf(wanted: readonly string[]): Language {
  for (const tag of wanted) {
    const language = tag.toLowerCase().split(/[-_]/)[0];
    const known = LANGUAGES.find((one) => one === language);
    if (known) return known;
  }
  return 'en';
}
