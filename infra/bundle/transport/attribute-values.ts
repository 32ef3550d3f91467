/** A value as DynamoDB's JSON protocol writes it, for example `{ "S": "text" }`. */
type AttributeValue = Partial<{
  S: string;
  N: string;
  BOOL: boolean;
  M: Attributes;
  L: AttributeValue[];
  B: string;
  SS: string[];
  NS: string[];
  NULL: true;
}>;
export type Attributes = Record<string, AttributeValue>;

function toAttributeValue(value: unknown): AttributeValue {
  if (typeof value === 'string') return { S: value };
  if (typeof value === 'number') return { N: numberText(value) };
  if (typeof value === 'boolean') return { BOOL: value };
  if (value === null) return { NULL: true };
  if (value instanceof Uint8Array) return { B: Buffer.from(value).toString('base64') };
  if (Array.isArray(value)) return { L: value.map(toAttributeValue) };
  if (value instanceof Set && value.size > 0) {
    const elements = [...value];
    return elements.every((element) => typeof element === 'string')
      ? { SS: elements }
      : { NS: elements.map(numberText) };
  }
  if (typeof value === 'object' && [Object.prototype, null].includes(Object.getPrototypeOf(value)))
    return { M: toAttributes(value) };
  throw new Error('The value cannot be stored in DynamoDB');
}

/** Omits undefined fields. Throws for values that DynamoDB cannot store. */
export function toAttributes(object: object): Attributes {
  const attributes: Attributes = {};
  const fields = object as Record<string, unknown>;
  for (const name in fields)
    if (fields[name] !== undefined) attributes[name] = toAttributeValue(fields[name]);
  return attributes;
}

export function fromAttributes(attributes: Attributes): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const name in attributes)
    object[name] = fromAttributeValue(attributes[name] as AttributeValue);
  return object;
}

function fromAttributeValue({ S, N, BOOL, M, L, B, SS, NS, NULL }: AttributeValue): unknown {
  if (S !== undefined) return S;
  if (N !== undefined) return numberOf(N);
  if (BOOL !== undefined) return BOOL;
  if (M !== undefined) return fromAttributes(M);
  if (L !== undefined) return L.map(fromAttributeValue);
  if (B !== undefined) return new Uint8Array(Buffer.from(B, 'base64'));
  if (SS !== undefined) return new Set(SS);
  if (NS !== undefined) return new Set(NS.map(numberOf));
  if (NULL) return null;
  throw new Error('DynamoDB returned a value of an unknown type');
}

function numberText(value: number): string {
  if (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER)
    throw new Error('The number is not exact');
  return String(value);
}

/** A bigint where a number would not be exact, as the SDK returns it. */
const numberOf = (text: string) =>
  Math.abs(Number(text)) > Number.MAX_SAFE_INTEGER ? BigInt(text) : Number(text);
