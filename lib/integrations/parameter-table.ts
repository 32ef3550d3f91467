import { type AuditEvent, type Change, changesBetween } from '../audit/audit-entry.ts';
import { Failure } from '../contract/failure.ts';
import type { Filter } from '../contract/list-query.ts';
import { sleepJittered } from '../runtime/waiting.ts';
import { canOwnParameters, entityKey, integrationIdOf, parametersRange } from '../table/keys.ts';
import type { Collection } from '../table/list.ts';
import type { ReadBudget } from '../table/read-budget.ts';
import { attributesOf, type Item, type OnConsumed, type Table } from '../table/table.ts';
import type { Version } from '../table/write.ts';
import { type Integration, PARAMETER_BYTES_MAX } from './integration.ts';
import { integrationOf } from './integration-table.ts';
import type { DecryptedParameter, SecretVersion } from './parameter.ts';

/** A stored configuration parameter, without its keys. */
export interface StoredParameter {
  readonly id: number;
  readonly confName: string;
  /** Encrypted; sealed-value.ts defines the format. */
  readonly confValue: Uint8Array;
  readonly confDescription?: string | undefined;
  /** Whether people can only write the value; absent means no. */
  readonly secret?: true | undefined;
  /** The name and version by which files refer to the value, if they have set it. */
  readonly secretVersion?: SecretVersion | undefined;
  /** From bytesOf. Absent in parameters stored before sizes were tracked; those count as 0. */
  readonly bytes?: number;
  /** Changes with every change that clients can see. */
  readonly version: Version;
}

/** A stored parameter with its integration's id, which is derived from the parameter's id. */
export interface Parameter extends StoredParameter {
  readonly integrationId: number;
}

/** Converts a table item to a parameter. */
export function parameterOf(item: Item): Parameter {
  const parameter = attributesOf(item) as unknown as StoredParameter;
  return { ...parameter, integrationId: integrationIdOf(parameter.id) };
}

/** A stored parameter as it is returned: with its value, or MASK in place of a secret. */
export const decrypted = (
  { id, confName, confDescription, secret, secretVersion, version }: StoredParameter,
  confValue: string,
  integration: Integration,
): DecryptedParameter => ({
  id,
  integration,
  confName,
  confValue,
  confDescription,
  secret,
  secretVersion,
  version,
});

/**
 * The id of the integration whose parameters the filters select; undefined if they select
 * parameters of several.
 */
export function ownerOf(filters: readonly Filter[]): number | undefined {
  const byOwner = filters.find(
    ({ field, operator }) => field === 'integrationId' && operator === 'equals',
  );
  return byOwner?.operands[0] as number | undefined;
}

/** All parameters; a filter on one integration reads only the parameters of that integration. */
export const PARAMETERS: Collection<Parameter> = {
  kind: 'CONF',
  entityOf: parameterOf,
  // With a margin for large values.
  unitsPerEntity: 1.5,
  tooLong: 'parameter-list-too-long',
  partOf(filters) {
    const owner = ownerOf(filters);
    if (owner === undefined) return undefined;
    // At most 60 units: 192 KiB of values, and other attributes of 90 items.
    return { range: canOwnParameters(owner) ? parametersRange(owner) : undefined };
  },
};

/**
 * Reads an integration and a parameter for a change, and charges the caller if they are large. The
 * budget must be unspent.
 */
export async function findForChange(
  table: Table,
  budget: ReadBudget,
  { integrationId, parameterId }: { readonly integrationId: number; readonly parameterId: number },
): Promise<{ integration: Integration | undefined; parameter: Parameter | undefined }> {
  let consumed = 0;
  const keys = [entityKey('INTEGRATION', integrationId), entityKey('CONF', parameterId)];
  const [integration, parameter] = await table.getAll(keys, (units) => {
    consumed += units;
  });
  await budget.settle(consumed);
  return {
    integration: integration && integrationOf(integration),
    parameter: parameter && parameterOf(parameter),
  };
}

/** The size of a parameter, in bytes of UTF-8, that counts towards PARAMETER_BYTES_MAX. */
export function bytesOf(confName: string, confValue: string, confDescription = ''): number {
  return (
    Buffer.byteLength(confName) + Buffer.byteLength(confValue) + Buffer.byteLength(confDescription)
  );
}

/**
 * The total size of an integration's parameters, in bytes, after one is created, updated or
 * deleted. Fails with parameters-too-large when the total exceeds the limit, except when the change
 * does not increase it.
 */
export function parameterBytesAfter(
  { parameterBytes = 0 }: Integration,
  before: Pick<StoredParameter, 'bytes'> | undefined,
  after: Pick<StoredParameter, 'bytes'> | undefined,
): number {
  const bytes = parameterBytes - (before?.bytes ?? 0) + (after?.bytes ?? 0);
  if (bytes > parameterBytes && bytes > PARAMETER_BYTES_MAX)
    throw new Failure('parameters-too-large');
  return bytes;
}

/**
 * Reads all parameters of an integration, as stored. An id that is too large to own any has none.
 */
export async function parameterItemsOf(
  table: Table,
  integrationId: number,
  onConsumed?: OnConsumed,
): Promise<Item[]> {
  return canOwnParameters(integrationId)
    ? table.query('CONF', parametersRange(integrationId), onConsumed)
    : [];
}

/** How many times an incomplete list is read again. */
const LISTS_MAX = 5;
/** The bound of the wait before it is read again. */
const WAIT_MS_MAX = 100;

/**
 * Reads all parameters of an integration that was read, and reports the read units. The list may
 * lack the last creation, even if the integration was read before it: a query may see only some of
 * the writes of a transaction. Every change of a parameter changes the revision, on which whatever
 * follows from the list must depend. A count that stays different is wrong; the change goes on.
 */
export async function allParametersOf(
  table: Table,
  { id, parameterCount }: Integration,
  onConsumed: OnConsumed,
): Promise<Parameter[]> {
  const list = async () => (await parameterItemsOf(table, id, onConsumed)).map(parameterOf);
  let parameters = await list();
  for (let tries = 0; tries < LISTS_MAX && parameters.length !== parameterCount; tries++) {
    await sleepJittered(WAIT_MS_MAX);
    parameters = await list();
  }
  return parameters;
}

/** The audit event for an action on a parameter of an integration. */
export const auditEventForParameter = (
  action: AuditEvent['action'],
  { id, confName }: StoredParameter,
  { name }: Integration,
  changes: readonly Change[],
): AuditEvent => ({
  action,
  target: `parameter/${id}`,
  targetName: confName,
  integrationName: name,
  changes,
});

/** What an audit event records of a creation, a change or a deletion: never a value. */
export const parameterChanges = (
  before: StoredParameter | undefined,
  after: StoredParameter | undefined,
): Change[] => changesBetween(before, after, ['confName', 'confDescription', 'secret']);
