import { LANGUAGES } from '../text.ts';

/** The languages by their own names, and the present one of a user whatever it is. */
export function languageOptions(present = ''): [string, string][] {
  const known: [string, string][] = LANGUAGES.map((language) => [language, nameOf(language)]);
  const isKnown = present === '' || known.some(([language]) => language === present);
  return isKnown ? known : [...known, [present, nameOf(present)]];
}

function nameOf(language: string): string {
  try {
    return new Intl.DisplayNames(language, { type: 'language' }).of(language) ?? language;
  } catch {
    return language;
  }
}
