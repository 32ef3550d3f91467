import type { AuditEvent } from '../audit/audit-entry.ts';
import { pick } from '../contract/entity-fields.ts';
import { entityKey } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import { type Condition, set, type Write } from '../table/write.ts';
import { EDITABLE_INTEGRATION_FIELDS, type Integration } from './integration.ts';

/** The integration in an item. */
export function integrationOf({ pk: _pk, sk: _sk, ...integration }: Item): Integration {
  return integration as unknown as Integration;
}

/** The integration with this id, or undefined. */
export async function findIntegration(table: Table, id: number): Promise<Integration | undefined> {
  const item = await table.get(entityKey('INTEGRATION', id));
  return item && integrationOf(item);
}

/** What is done to an integration, for the audit trail. */
export const auditEventForIntegration = (
  action: AuditEvent['action'],
  { id, name }: Integration,
  fields: readonly string[] = [],
): AuditEvent => ({
  action,
  target: `integration/${id}`,
  targetName: name,
  fields,
});

/** Nothing about the integration or its parameters has changed since it was read. */
export function revisionIs(integration: Integration): Condition {
  return {
    condition: '#revision = :revision',
    names: { '#revision': 'revision' },
    values: { ':revision': integration.revision },
    onConditionFailed: 'retry',
  };
}

/** What a change of an integration, its module or its parameters writes. */
const CHANGED_ATTRIBUTES = [
  ...EDITABLE_INTEGRATION_FIELDS,
  'module',
  'parameterCount',
  'parametersEver',
  'parameterBytes',
  'version',
] as const satisfies (keyof Integration)[];

/** An integration becomes another; all attributes that any change can touch are written. */
export function integrationChanged(before: Integration, after: Integration): Write {
  const attributes = pick(after, CHANGED_ATTRIBUTES);
  return set(entityKey('INTEGRATION', before.id), { ...attributes, revision: before.revision + 1 }, revisionIs(before));
}
