import { randomUUID } from 'node:crypto';
import { Failure } from '../contract/failure.ts';

/**
 * Identifies one state of one entity: a count and 122 random bits. The count alone would be
 * ambiguous after an entity is created again under the same login, and after the table is restored
 * from a backup.
 */
export type Version = string;

/** The version of a newly created entity. */
export const firstVersion = (): Version => newVersion(1);

/** The version after a visible change. */
export const nextVersion = (version: Version): Version =>
  newVersion(Number.parseInt(version, 10) + 1);

const newVersion = (count: number): Version => `${count}-${randomUUID()}`;

/**
 * The versions of an entity that the client accepts, by If-Match and If-None-Match. Undefined
 * without these headers: it accepts any version.
 */
export type Precondition = { includes(version: string): boolean } | undefined;

/** Fails with version-changed if the entity is not in a state that the client accepts. */
export function requireVersion(
  { version }: { readonly version: Version },
  precondition: Precondition,
): void {
  if (precondition && !precondition.includes(version)) throw new Failure('version-changed');
}
