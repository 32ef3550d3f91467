/** Fills `{name}` in a text of the dictionary. */
export function fill(text: string, values: Readonly<Record<string, unknown>>): string {
  return text.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ''));
}

export interface PluralForms {
  readonly one: string;
  readonly other: string;
}

/** The form for this number, with the number in the way of the language. */
export function plural(language: string, forms: PluralForms, count: number): string {
  const form = new Intl.PluralRules(language).select(count) === 'one' ? forms.one : forms.other;
  return fill(form, { n: new Intl.NumberFormat(language).format(count) });
}

export const dateTime = (language: string, instant: string): string =>
  new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short' }).format(
    new Date(instant),
  );

/** A day such as 2027-01-15, which is in UTC. */
export const day = (language: string, date: string): string =>
  new Intl.DateTimeFormat(language, { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(date));

export const LANGUAGES = ['en', 'de'] as const;
export type Language = (typeof LANGUAGES)[number];

/** The first of these that the console has, or English: `de-AT` is German. */
export function languageOf(wanted: readonly string[]): Language {
  for (const tag of wanted) {
    const language = tag.toLowerCase().split(/[-_]/)[0];
    const known = LANGUAGES.find((one) => one === language);
    if (known) return known;
  }
  return 'en';
}
