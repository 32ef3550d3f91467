/** A spreadsheet would execute a cell that begins with one of these as a formula. */
const FORMULA = /^[=+\-@\t\r\n]/;

/** One cell of a CSV file (RFC 4180); an apostrophe keeps a formula a text. */
export function csvCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = Array.isArray(value) ? value.join(' ') : String(value);
  const isText = typeof value !== 'number' && typeof value !== 'boolean';
  const safe = isText && FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n;]/.test(safe) || safe !== safe.trim() ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export const csvLine = (values: readonly unknown[]): string =>
  `${values.map(csvCell).join(',')}\r\n`;
