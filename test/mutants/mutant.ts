/** One place in the source, what a careless maintainer could make of it, and the test files that must notice. */
export interface Mutant {
  readonly file: string;
  /** The text to replace. It stands in the file exactly once. */
  readonly from: string;
  readonly to: string;
  readonly killedBy: readonly string[];
}
