import { randomBytes } from 'node:crypto';
import { Failure } from '../contract/failure.ts';

/**
 * One state of one entity: a count and 72 random bits. The count alone would be shared by an entity that is created again
 * under the same login, and by two histories of one entity after the table was restored from a backup.
 * Items that were written before versions had random bits hold a plain number.
 */
export type Version = string | number;

/** The version of a new entity. */
export const firstVersion = (): Version => nextVersion(0);

/** The version that follows a visible change. */
export function nextVersion(version: Version): Version {
  return `${Number.parseInt(String(version), 10) + 1}-${randomBytes(9).toString('base64url')}`;
}

/** The versions that a conditional change may replace; undefined when it may replace any. */
export type Precondition = readonly string[] | undefined;

/** Rejects a change of an entity that has changed since the client read it. Fails with version-changed. */
export function requireVersion({ version }: { readonly version: Version }, precondition: Precondition): void {
  if (precondition && !precondition.includes(String(version))) throw new Failure('version-changed');
}
