/*
 * The size of an item, and what it costs to read or write it. Sources: "Item sizes and formats" and "Read and write
 * operations" in the DynamoDB Developer Guide; docs/adr/0003-local-cloud-runs-the-template.md links them.
 */

/** An attribute value as it is on the wire: one type and what it holds. */
export type Value = Readonly<Record<string, unknown>>;
export type Item = Readonly<Record<string, Value>>;

/** A read that is not transactional is strongly or eventually consistent. */
export type ReadMode = 'eventual' | 'strong' | 'transactional';

const UNITS_PER_READ = { eventual: 0.5, strong: 1, transactional: 2 } satisfies Record<ReadMode, number>;
const BYTES_PER_READ_UNIT = 4096;
const BYTES_PER_WRITE_UNIT = 1024;

/** What it costs to read this many bytes; an item that does not exist costs as much as the smallest one. */
export const readUnits = (bytes: number, mode: ReadMode): number =>
  Math.max(1, Math.ceil(bytes / BYTES_PER_READ_UNIT)) * UNITS_PER_READ[mode];

/** What it costs to write or check an item; a transaction writes twice, to prepare and to commit. */
export const writeUnits = (bytes: number, transactional: boolean): number =>
  Math.max(1, Math.ceil(bytes / BYTES_PER_WRITE_UNIT)) * (transactional ? 2 : 1);

const utf8Bytes = (text: string): number => Buffer.byteLength(text, 'utf8');
const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

/** The size of an item, names included; 0 for one that does not exist. */
export const itemBytes = (item: Item | undefined): number =>
  sum(Object.entries(item ?? {}).map(([name, value]) => utf8Bytes(name) + valueBytes(value)));

function valueBytes(value: Value): number {
  const [[type, held] = []] = Object.entries(value);
  switch (type) {
    case 'S':
      return utf8Bytes(held as string);
    case 'N':
      return numberBytes(held as string);
    case 'B':
      return Buffer.byteLength(held as string, 'base64');
    case 'SS':
    case 'NS':
    case 'BS':
      return sum((held as string[]).map((element) => valueBytes({ [type.slice(0, 1)]: element })));
    case 'L':
      return 3 + sum((held as Value[]).map((element) => 1 + valueBytes(element)));
    case 'M':
      return 3 + Object.keys(held as Item).length + itemBytes(held as Item);
    default:
      return 1; // BOOL and NULL
  }
}

/** One byte for two significant digits, and one more. */
function numberBytes(text: string): number {
  const [digits = ''] = text.replace(/[-+.]/g, '').split(/e/i);
  return Math.ceil(digits.replace(/^0+|0+$/g, '').length / 2) + 1;
}

/** The parts of an Update that decide on the size of the item. */
export interface Update {
  readonly Key?: Item;
  readonly UpdateExpression?: string;
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>>;
  readonly ExpressionAttributeValues?: Item;
}

/**
 * The size of an item after an Update: exact when it sets attributes to values, removes them, or adds new members to a
 * set. Whatever else it refers to counts as if it came on top of the item, and so never as too little.
 */
export function bytesAfterUpdate(update: Update, before: Item | undefined): number {
  const { Key, UpdateExpression = '', ExpressionAttributeNames = {}, ExpressionAttributeValues = {} } = update;
  const after: Record<string, Value> = { ...before, ...Key };
  const bytesOf = (operand: string): number => {
    const value = ExpressionAttributeValues[operand] ?? before?.[ExpressionAttributeNames[operand] ?? operand];
    return value ? valueBytes(value) : 0;
  };
  let bytesOnTop = 0;
  // The keywords are reserved words: no attribute that is named in place can be mistaken for one.
  const [, ...clauses] = UpdateExpression.split(/(?<![#:\w.])(SET|REMOVE|ADD|DELETE)(?=\s)/i);
  for (let index = 0; index < clauses.length; index += 2) {
    const keyword = clauses[index]?.toUpperCase();
    for (const action of clauses[index + 1]?.split(/,(?![^(]*\))/) ?? []) {
      const [, path = '', operands = ''] = /^([^\s=]+)[\s=]*(.*)$/s.exec(action.trim()) ?? [];
      const name = ExpressionAttributeNames[path] ?? path;
      const value = ExpressionAttributeValues[operands];
      if (keyword === 'REMOVE') delete after[name];
      else if (keyword === 'SET' && value && !/[.[]/.test(path)) after[name] = value;
      else if (keyword !== 'DELETE') {
        const operandBytes = (operands.match(/[#:]?\w+/g) ?? []).map(bytesOf);
        bytesOnTop += sum(operandBytes) + (name in after ? 0 : utf8Bytes(name));
      }
    }
  }
  return itemBytes(after) + bytesOnTop;
}
