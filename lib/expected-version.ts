import { Failure } from './failure.ts';

/** The versions that a conditional change may replace; undefined when it may replace any. */
export type ExpectedVersions = readonly number[] | undefined;

/** Refuses a change of what is no longer as the client knows it. Fails with version-changed. */
export function demandVersion({ version }: { readonly version: number }, expected: ExpectedVersions): void {
  if (expected && !expected.includes(version)) throw new Failure('version-changed');
}
