import { type AuditEvent, type Change, changesBetween } from '../audit/audit-entry.ts';
import { pick } from '../contract/entity-fields.ts';
import { entityKey } from '../table/keys.ts';
import type { Collection } from '../table/list.ts';
import { attributesOf, type Item, type Table } from '../table/table.ts';
import { attributesAre, type Condition, set, type Write } from '../table/write.ts';
import { EDITABLE_INTEGRATION_FIELDS, type Integration } from './integration.ts';

/** Converts a table item to an integration. */
export function integrationOf(item: Item): Integration {
  return attributesOf(item) as unknown as Integration;
}

/** All integrations. */
export const INTEGRATIONS: Collection<Integration> = {
  kind: 'INTEGRATION',
  entityOf: integrationOf,
  unitsPerEntity: 0.2,
};

/** Reads an integration by id. */
export async function findIntegration(table: Table, id: number): Promise<Integration | undefined> {
  const item = await table.get(entityKey('INTEGRATION', id));
  return item && integrationOf(item);
}

/** The audit event for an action on an integration. */
export const auditEventForIntegration = (
  action: AuditEvent['action'],
  { id, name }: Integration,
  changes: readonly Change[],
): AuditEvent => ({ action, target: `integration/${id}`, targetName: name, changes });

/** What an audit event records of a creation, a change or a deletion. */
export const integrationChanges = (
  before: Integration | undefined,
  after: Integration | undefined,
): Change[] => changesBetween(before, after, [...EDITABLE_INTEGRATION_FIELDS, 'managedBy']);

/**
 * Requires that neither the integration nor its parameters have changed since the integration was
 * read.
 */
export const revisionIs = ({ revision }: Integration): Condition => attributesAre({ revision });

/** Every attribute that a change to an integration, its module or its parameters can affect. */
const CHANGED_ATTRIBUTES = [
  ...EDITABLE_INTEGRATION_FIELDS,
  'managedBy',
  'module',
  'parameterCount',
  'parametersEver',
  'parameterBytes',
  'credentials',
  'version',
  'revision',
  'moduleRevision',
] as const satisfies (keyof Integration)[];

/** The integration as a change leaves it, which its module reads unless `moduleRevision` stays. */
export const revised = (
  before: Integration,
  after: Integration,
  moduleRevision = before.moduleRevision + 1,
): Integration => ({ ...after, revision: before.revision + 1, moduleRevision });

/** The write of a change that the module does not read. */
export const integrationChangedUnseen = (before: Integration, after: Integration): Write =>
  integrationChanged(before, after, before.moduleRevision);

/** The write that replaces `before` with `after`, as `revised`, unless the revision has changed. */
export function integrationChanged(
  before: Integration,
  after: Integration,
  moduleRevision?: number,
): Write {
  const attributes = pick(revised(before, after, moduleRevision), CHANGED_ATTRIBUTES);
  return set(entityKey('INTEGRATION', before.id), attributes, revisionIs(before));
}
