import { randomUUID } from 'node:crypto';
import { Failure } from '../contract/failure.ts';

/**
 * Identifies one state of one entity: a count and 122 random bits. The count alone would be
 * ambiguous after an entity is created again under the same login, and after the table is restored
 * from a backup. Items written before versions had random bits hold a plain number.
 */
export type Version = string | number;

/** The version of a newly created entity. */
export const firstVersion = (): Version => nextVersion(0);

/** Whether an entity has never been visibly changed since its creation. */
export const isFirstVersion = (version: Version): boolean => countOf(version) <= 1;

const countOf = (version: Version): number => Number.parseInt(String(version), 10);

/** The version after a visible change. */
export function nextVersion(version: Version): Version {
  return `${countOf(version) + 1}-${randomUUID()}`;
}

/**
 * The versions that the client accepts of the entity that it changes; undefined accepts any
 * version.
 */
export type Precondition = { includes(version: string): boolean } | undefined;

/** Fails with version-changed if the entity is not in a state that the client accepts. */
export function requireVersion(
  { version }: { readonly version: Version },
  precondition: Precondition,
): void {
  if (precondition && !precondition.includes(String(version))) throw new Failure('version-changed');
}
