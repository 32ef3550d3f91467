import { editableFields, type FieldUse, viewOf } from '../contract/entity-fields.ts';
import type { Version } from '../table/write.ts';

/** The kinds of source or sink that an integration can be. */
export const INTEGRATION_TYPES = [
  'COLLECTOR',
  'FORWARDER',
  'SCANNER',
  'CLOUD',
  'WEBHOOK',
  'API',
] as const;
type IntegrationType = (typeof INTEGRATION_TYPES)[number];

/** A stored integration, without its keys. */
export interface Integration {
  readonly id: number;
  readonly name: string;
  readonly shortName: string;
  readonly description?: string | undefined;
  readonly integrationType: IntegrationType;
  readonly active: boolean;
  /** The set of files that manages it; absent means none. */
  readonly managedBy?: string | undefined;
  /**
   * Absent until a parameter is updated, or the table is adopted after a restore, for the first
   * time.
   */
  readonly module?: RestartFlag | undefined;
  readonly parameterCount: number;
  /**
   * Includes deleted and skipped parameters. Parameter ids are numbered from it, so an id is never
   * reused.
   */
  readonly parametersEver: number;
  /** The sum of bytesOf over its parameters; absent means 0. */
  readonly parameterBytes?: number | undefined;
  /** Changes with every change that clients can see. */
  readonly version: Version;
  /**
   * Counts all changes, including changes of its parameters, but no reports of its module. Every
   * write that depends on the integration checks it.
   */
  readonly revision: number;
  /**
   * Counts the changes that the module reads, so no changes of credentials: the number of the
   * configuration that the module is wanted to run. The adoption of a restored table makes it jump.
   */
  readonly moduleRevision: number;
  /**
   * With which its module authenticates itself; absent means none. Each has an item of its own with
   * a hash, and is accepted only while both exist.
   */
  readonly credentials?: readonly StoredCredential[] | undefined;
  /** What its module has reported last. */
  readonly report?: ModuleReport | undefined;
  /** When its module was seen last, to the hour (ISO 8601, UTC). */
  readonly seen?: string | undefined;
}

/** A credential of the module of an integration, without the hash of its secret. */
export interface StoredCredential {
  readonly clientId: string;
  /** ISO 8601, UTC. */
  readonly createdDate: string;
  readonly createdBy: string;
  readonly expires: string;
  /** Of a credential without a secret. */
  readonly identity?: ModuleIdentity | undefined;
}

/** What the platform on which a module runs states about it in its tokens: iss, sub and aud. */
export interface ModuleIdentity {
  readonly issuer: string;
  readonly subject: string;
  readonly audience: string;
}

/** What a module runs, by the numbers of its configuration. */
export interface ModuleReport {
  readonly running: number;
  /** The number that it could not apply. */
  readonly failed?: number | undefined;
  /** Why not, in its own words. */
  readonly reason?: string | undefined;
  /** Since when reports are counted, in milliseconds since 1970, and how many were stored since. */
  readonly since?: number | undefined;
  readonly times?: number | undefined;
  /** What the audit trail has of the reports. */
  readonly audited?: AuditedReports | undefined;
}

/** How many reports of a module have an entry of the audit trail; times in ms since 1970. */
interface AuditedReports {
  /** Since when entries are counted. */
  readonly since: number;
  readonly entries: number;
  /** How many reports since the last entry have none; absent means none. */
  readonly leftOut?: number | undefined;
  readonly lastLeftOut?: number | undefined;
}

/** The flag for a restart, for modules that do not poll. */
interface RestartFlag {
  readonly needsRestart: boolean;
  /**
   * When the flag was set, in milliseconds since 1970. Clients never see it. Absent while the flag
   * is not set, and in items that were flagged before times were stored.
   */
  readonly needsRestartSince?: number | undefined;
  /** The number of parameter updates so far; an adoption adds 1,000,000. */
  readonly changes: number;
}

/**
 * The module after this many changes of its parameters. A flag that is already set keeps its time.
 */
export const moduleToRestart = (
  module: RestartFlag | undefined,
  changes: number,
  now: number,
): RestartFlag => ({
  needsRestart: true,
  needsRestartSince: (module?.needsRestart ? module.needsRestartSince : undefined) ?? now,
  changes: (module?.changes ?? 0) + changes,
});

/** Per integration, so that it can be deleted with all its parameters in one transaction. */
export const PARAMETERS_MAX = 90;

/**
 * The limit, per integration, on the total size of parameter names, values and descriptions.
 * DynamoDB allows 1,000 write units per second and partition key; deleting this many bytes in one
 * transaction costs up to 620.
 */
export const PARAMETER_BYTES_MAX = 192 * 1024;

/** Fields that are not in INTEGRATION_FIELDS: `integrationView` and modules have some of them. */
type InternalField =
  | 'managedBy'
  | 'parameterCount'
  | 'parametersEver'
  | 'parameterBytes'
  | 'version'
  | 'revision'
  | 'moduleRevision'
  | 'credentials'
  | 'report'
  | 'seen';

/**
 * The fields that clients see, in response order. The view, the attributes that a change writes,
 * the fields of its audit event and the list filters are derived from this list. A field of
 * Integration that is neither listed here nor internal is a compile error.
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

/** The response body for an integration. */
export const integrationView = (integration: Integration) => ({
  ...viewOf(integration, INTEGRATION_FIELDS),
  module: moduleView(integration),
  managedBy: integration.managedBy,
});

/** The module object in responses; null until the flag is set for the first time. */
export function moduleView({ module }: Integration): RestartFlag | null {
  return module ? { needsRestart: module.needsRestart, changes: module.changes } : null;
}
