const TOKEN = "[!#$%&'*+\\-.^_`|~\\dA-Za-z]+";
const TYPE = new RegExp(`^${TOKEN}/${TOKEN}`);
/**
 * A semicolon and a parameter, which may be missing; its value is a token or a quoted string (RFC
 * 9110, 5.6.6). Unlike in the RFC, spaces may surround the equals sign.
 */
const PARAMETER = new RegExp(
  `[ \\t]*;[ \\t]*(?:(${TOKEN})[ \\t]*=[ \\t]*(?:(${TOKEN})|"((?:[^"\\\\]|\\\\.)*)"))?`,
  'y',
);

/**
 * The media type in a Content-Type header, in lower case and without its parameters. Undefined if
 * the header is malformed, or if the charset is not UTF-8: RFC 8259 gives it no meaning for JSON,
 * but a client that names another one has probably used it. All other parameters are ignored.
 */
export function mediaTypeInUtf8(contentType: string): string | undefined {
  const header = contentType.trim();
  const [type] = TYPE.exec(header) ?? [];
  if (type === undefined) return undefined;
  PARAMETER.lastIndex = type.length;
  while (PARAMETER.lastIndex < header.length) {
    const [parameter, name, token, quoted] = PARAMETER.exec(header) ?? [];
    if (parameter === undefined) return undefined;
    const value = token ?? quoted?.replaceAll(/\\(.)/g, '$1');
    // "utf8" is a label of UTF-8 in the Encoding standard.
    if (name?.toLowerCase() === 'charset' && !/^utf-?8$/i.test(value as string)) return undefined;
  }
  return type.toLowerCase();
}
