/** One place in the source, and a plausible mistake to put there. */
export interface Mutation {
  readonly file: string;
  /** The text to replace, which occurs in the file exactly once. */
  readonly from: string;
  readonly to: string;
}

/** A mutation, and the test files that must detect it. */
export interface Mutant extends Mutation {
  readonly killedBy: readonly string[];
}

/** A source text and its replacement. */
type Change = readonly [from: string, to: string];

/** Mutants of one file that the same test files detect. */
export const plant = (
  file: string,
  killedBy: string | readonly string[],
  changes: readonly Change[],
): Mutant[] => changes.map(([from, to]) => ({ file, from, to, killedBy: [killedBy].flat() }));
