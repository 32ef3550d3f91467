/** A spreadsheet would execute a cell that begins with one of these as a formula. */
const FORMULA = /^(?=["'\s]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n])/;
/** The same where a spreadsheet that expects another separator would divide the cell. */
const DIVIDED_FORMULA = /([,;\t\r\n]["'\s]*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g;

/**
 * The separator that spreadsheets in this language expect: not the decimal sign. With a first line
 * `sep=,` instead, Excel would ignore the byte order mark, and read umlauts as other characters.
 */
export const separatorIn = (language: string): string =>
  new Intl.NumberFormat(language).format(0.5).includes(',') ? ';' : ',';

/** One cell of a CSV file (RFC 4180); an apostrophe keeps a formula a text. */
export function csvCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = Array.isArray(value) ? value.join(' ') : String(value);
  const isText = typeof value !== 'number' && typeof value !== 'boolean';
  const safe = isText ? text.replace(DIVIDED_FORMULA, "$1'").replace(FORMULA, "'") : text;
  return /[",\r\n;\t]/.test(safe) || safe !== safe.trim()
    ? `"${safe.replaceAll('"', '""')}"`
    : safe;
}

export const csvLine = (values: readonly unknown[], separator: string): string =>
  `${values.map(csvCell).join(separator)}\r\n`;
