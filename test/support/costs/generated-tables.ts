/**
 * Replaces the generated parts of a Markdown document: `<!-- begin NAME -->` and `<!-- end NAME
 * -->` enclose each of them. Throws if the document has no place for a part.
 */
export function withGenerated(document: string, parts: Readonly<Record<string, string>>): string {
  return Object.entries(parts).reduce((text, [name, part]) => {
    const [begin, end] = [`<!-- begin ${name} -->`, `<!-- end ${name} -->`];
    const [from, to] = [text.indexOf(begin), text.indexOf(end)];
    if (from < 0 || to < from) throw new Error(`The document has no ${begin} before ${end}`);
    return `${text.slice(0, from)}${begin}\n\n${part}\n\n${text.slice(to)}`;
  }, document);
}

/** A Markdown table. Every column but the first is aligned to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), `|---|${'---:|'.repeat(head.length - 1)}`, ...rows.map(line)].join('\n');
}

/** Three significant digits, or an integer with separators; NaN was not measured. */
export const digits = (value: number): string => {
  if (Number.isNaN(value)) return '–';
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(value >= 10 ? 1 : 2);
};
