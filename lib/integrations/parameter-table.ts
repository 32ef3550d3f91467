import type { AuditEvent } from '../audit/audit-entry.ts';
import { Failure } from '../contract/failure.ts';
import { entityKey, integrationIdOf, parametersRange } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import type { Version } from '../table/version.ts';
import { remove, versionIs, type Write } from '../table/write.ts';
import { type Integration, MOST_PARAMETER_BYTES } from './integration.ts';

/** A configuration parameter as it is stored, without its keys. */
export interface StoredParameter {
  readonly id: number;
  readonly confName: string;
  /** Sealed: see sealed-value.ts. */
  readonly confValue: Uint8Array;
  readonly confDescription?: string | undefined;
  /** See bytesOf; absent in parameters from before this was counted, which count for nothing. */
  readonly bytes?: number;
  /** Moves with every visible change. */
  readonly version: Version;
}

/** A stored parameter and whose it is, which its id tells. */
export interface Parameter extends StoredParameter {
  readonly integrationId: number;
}

/** The parameter in an item. */
export function parameterOf({ pk: _pk, sk: _sk, ...stored }: Item): Parameter {
  const parameter = stored as unknown as StoredParameter;
  return { ...parameter, integrationId: integrationIdOf(parameter.id) };
}

/** The parameter with this id, or undefined. */
export async function findParameter(table: Table, id: number): Promise<Parameter | undefined> {
  const item = await table.get(entityKey('CONF', id));
  return item && parameterOf(item);
}

/** What a parameter counts for against the limit of its integration: name, value and description in UTF-8. */
export function bytesOf(confName: string, confValue: string, confDescription = ''): number {
  return Buffer.byteLength(confName) + Buffer.byteLength(confValue) + Buffer.byteLength(confDescription);
}

/**
 * The bytes of all parameters of an integration when one of them comes, changes or goes. Fails with
 * parameters-too-large, unless they become fewer.
 */
export function parameterBytesAfter(
  { parameterBytes = 0 }: Integration,
  before: Pick<StoredParameter, 'bytes'> | undefined,
  after: Pick<StoredParameter, 'bytes'> | undefined,
): number {
  const bytes = parameterBytes - (before?.bytes ?? 0) + (after?.bytes ?? 0);
  if (bytes > parameterBytes && bytes > MOST_PARAMETER_BYTES) throw new Failure('parameters-too-large');
  return bytes;
}

/** All parameters of an integration. */
export async function parametersOf(table: Table, integrationId: number): Promise<Parameter[]> {
  return (await table.query('CONF', parametersRange(integrationId))).map(parameterOf);
}

/** What is done to a parameter, for the audit trail. */
export const auditEventForParameter = (
  action: AuditEvent['action'],
  { id, confName }: StoredParameter,
  fields: readonly string[] = [],
): AuditEvent => ({ action, target: `parameter/${id}`, targetName: confName, fields });

/** A parameter goes. */
export function parameterRemoved(parameter: Parameter): Write {
  return remove(entityKey('CONF', parameter.id), versionIs(parameter));
}
