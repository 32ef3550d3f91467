import { editableFields, type FieldUse, viewOf } from '../contract/entity-fields.ts';
import type { Version } from '../table/version.ts';

/** What kind of source or sink an integration is. */
export const INTEGRATION_TYPES = ['COLLECTOR', 'FORWARDER', 'SCANNER', 'CLOUD', 'WEBHOOK', 'API'] as const;
type IntegrationType = (typeof INTEGRATION_TYPES)[number];

/** An integration as it is stored, without its keys. */
export interface Integration {
  readonly id: number;
  readonly name: string;
  readonly shortName: string;
  readonly description?: string | undefined;
  readonly integrationType: IntegrationType;
  readonly active: boolean;
  /** Absent until a parameter has changed. */
  readonly module?: Module | undefined;
  /** How many parameters it has, and how many it has ever had: the next one's own number. */
  readonly parameterCount: number;
  readonly parametersEver: number;
  /** The bytes of all its parameters, see bytesOf; absent while none has any. */
  readonly parameterBytes?: number | undefined;
  /** Moves with every visible change. */
  readonly version: Version;
  /** Counts all changes, those of its parameters included: whoever decides on an integration checks it. */
  readonly revision: number;
}

/** What runs an integration. It must restart to see the parameters that changed since it last did. */
interface Module {
  readonly needsRestart: boolean;
  /** How many parameter changes there have been. */
  readonly changes: number;
}

/** The most parameters that one integration can have, so that it can be deleted with all of them in one transaction. */
export const MOST_PARAMETERS = 90;

/**
 * The most bytes that the names, values and descriptions of its parameters can have together. DynamoDB writes 1,000 units
 * a second under one partition key, and deleting that much in one transaction costs up to 620.
 */
export const MOST_PARAMETER_BYTES = 192 * 1024;

/** The fields that no client sees. */
type InternalField = 'parameterCount' | 'parametersEver' | 'parameterBytes' | 'version' | 'revision';

/**
 * The fields that clients see, in the order in which they see them: the view, the stored attributes of a change, the
 * fields of its audit event and the filters of lists are derived from this list. A field of Integration that is neither
 * here nor internal does not compile.
 */
export const INTEGRATION_FIELDS = {
  id: { filter: 'number' },
  name: { filter: 'text', editable: true },
  shortName: { filter: 'text', editable: true },
  description: { filter: 'text', editable: true },
  integrationType: { filter: { oneOf: INTEGRATION_TYPES }, editable: true },
  active: { filter: 'boolean', editable: true },
  module: {},
} as const satisfies Record<Exclude<keyof Integration, InternalField>, FieldUse>;

/** The fields that a request can set. */
export const EDITABLE_INTEGRATION_FIELDS = editableFields(INTEGRATION_FIELDS);
export type EditableIntegrationField = (typeof EDITABLE_INTEGRATION_FIELDS)[number];

/** What authenticated clients see of an integration. */
export const integrationView = (integration: Integration) => ({
  ...viewOf(integration, INTEGRATION_FIELDS),
  module: moduleView(integration),
});

/** The module object in responses, or null. */
export function moduleView({ module }: Integration): Module | null {
  return module ? { needsRestart: module.needsRestart, changes: module.changes } : null;
}
