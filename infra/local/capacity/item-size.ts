type Value = Readonly<Record<string, unknown>>;
export type Item = Readonly<Record<string, Value>>;

const BYTES_PER_WRITE_UNIT = 1024;

/** Of an eventually consistent read of the smallest item, or of one that does not exist. */
export const READ_UNITS_MIN = 0.5;

/** A transaction writes twice, to prepare and to commit. */
export const writeUnits = (bytes: number, transactional: boolean): number =>
  Math.max(1, Math.ceil(bytes / BYTES_PER_WRITE_UNIT)) * (transactional ? 2 : 1);

const utf8Bytes = (text: string): number => Buffer.byteLength(text);
const sum = (numbers: readonly number[]): number =>
  numbers.reduce((total, number) => total + number, 0);

/** Includes the attribute names. */
export const itemBytes = (item: Item): number =>
  sum(Object.entries(item).map(([name, value]) => utf8Bytes(name) + valueBytes(value)));

function valueBytes(value: Value): number {
  const [[type, content] = []] = Object.entries(value);
  switch (type) {
    case 'S':
      return utf8Bytes(content as string);
    case 'N':
      return numberBytes(content as string);
    case 'B':
      return Buffer.byteLength(content as string, 'base64');
    case 'SS':
    case 'NS':
    case 'BS':
      return sum(
        (content as string[]).map((element) => valueBytes({ [type.slice(0, 1)]: element })),
      );
    case 'L':
      return 3 + sum((content as Value[]).map((element) => 1 + valueBytes(element)));
    case 'M':
      return 3 + Object.keys(content as Item).length + itemBytes(content as Item);
    default:
      return 1; // BOOL and NULL
  }
}

/** One byte per two significant digits, plus one. */
function numberBytes(text: string): number {
  const [digits = ''] = text.replace(/[-+.]/g, '').split(/e/i);
  return Math.ceil(digits.replace(/^0+|0+$/g, '').length / 2) + 1;
}
