/*
 * Each kind of entity is one item collection sorted by id, so that every read and every list is a
 * strongly consistent read by primary key; the table has no secondary index.
 * docs/adding-an-endpoint.md draws it.
 */

/** The entities whose ids a sequence assigns. */
export const SEQUENCES = ['USER', 'INTEGRATION'] as const;
export type Sequence = (typeof SEQUENCES)[number];

/** The entities that have an item collection, ids and a total, by their partition keys. */
export const KINDS = [...SEQUENCES, 'CONF'] as const;
export type Kind = (typeof KINDS)[number];

export interface Key {
  readonly pk: string;
  readonly sk: string;
}

/** Whether the partition key has at most 2,048 bytes: DynamoDB rejects a read of a longer one. */
export const isReadable = ({ pk }: Key): boolean => Buffer.byteLength(pk) <= 2048;

/**
 * Pads an id to 16 digits, the length of the largest safe integer, so that sort keys order as
 * numbers do.
 */
export const idText = (id: number): string => String(id).padStart(16, '0');

export const entityKey = (kind: Kind, id: number): Key => ({ pk: kind, sk: idText(id) });

/**
 * The item collection of an entity by its key; undefined for other items, and if the sort key is
 * not an id.
 */
export function collectionOf({ pk, sk }: Key): Kind | undefined {
  const id = Number(sk);
  if (!Number.isSafeInteger(id) || id < 1 || sk !== idText(id)) return undefined;
  return KINDS.find((kind) => kind === pk);
}

/** Whether this is the key of an entity. */
export const isEntity = (key: Key): boolean => collectionOf(key) !== undefined;

/**
 * The ids of an integration's parameters form one range, so that one query reads them; no id is
 * reused.
 */
export const PARAMETERS_PER_INTEGRATION_EVER = 1_000_000;
export const parameterId = (integrationId: number, number: number): number =>
  integrationId * PARAMETERS_PER_INTEGRATION_EVER + number;
/** Whether the id is positive and the ids of all its possible parameters are safe integers. */
export const canOwnParameters = (integrationId: number): boolean =>
  integrationId > 0 && Number.isSafeInteger(parameterId(integrationId + 1, 0));

/** The sort keys of the first and the last possible parameter of an integration. */
export const parametersRange = (integrationId: number) => ({
  from: idText(parameterId(integrationId, 0)),
  to: idText(parameterId(integrationId, PARAMETERS_PER_INTEGRATION_EVER - 1)),
});
export const integrationIdOf = (parameterId: number): number =>
  Math.floor(parameterId / PARAMETERS_PER_INTEGRATION_EVER);
