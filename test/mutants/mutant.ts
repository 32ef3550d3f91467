/** One place in the source, what a careless maintainer could make of it, and the test files that must notice. */
export interface Mutant {
  readonly file: string;
  /** The text to replace. It stands in the file exactly once. */
  readonly from: string;
  readonly to: string;
  readonly killedBy: readonly string[];
}

/** The source text of a place, and what could stand there instead. */
export type Change = readonly [from: string, to: string];

/** Mutants of one file that one test file notices. */
export const plant = (file: string, killedBy: string, changes: readonly Change[]): Mutant[] =>
  changes.map(([from, to]) => ({ file, from, to, killedBy: [killedBy] }));
