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
