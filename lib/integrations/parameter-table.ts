import { entityKey, idText, PARAMETERS_PER_INTEGRATION_EVER, parameterId } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import { remove, unchanged, type Write } from '../table/write.ts';

/** A configuration parameter as it is stored, without its keys. */
export interface Parameter {
  readonly id: number;
  readonly confName: string;
  /** Sealed: see sealed-value.ts. */
  readonly confValue: Uint8Array;
  readonly confDescription?: string | undefined;
  /** Counts the changes that show. */
  readonly version: number;
}

/** The parameter in an item. */
export function parameterOf({ pk: _pk, sk: _sk, ...parameter }: Item): Parameter {
  return parameter as unknown as Parameter;
}

/** The parameter with this id, or undefined. */
export async function findParameter(table: Table, id: number): Promise<Parameter | undefined> {
  const item = await table.get(entityKey('CONF', id));
  return item && parameterOf(item);
}

/** All parameters of an integration. */
export async function parametersOf(table: Table, integrationId: number): Promise<Parameter[]> {
  const from = idText(parameterId(integrationId, 0));
  const to = idText(parameterId(integrationId, PARAMETERS_PER_INTEGRATION_EVER - 1));
  return (await table.query('CONF', { from, to })).map(parameterOf);
}

/** A parameter goes. */
export function parameterRemoved(parameter: Parameter): Write {
  return remove(entityKey('CONF', parameter.id), unchanged(parameter));
}
