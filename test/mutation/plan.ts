import { appendFileSync, readFileSync } from 'node:fs';

/** What a process does with its test files. Tests are named by file and title. */
export interface Plan {
  readonly files: readonly string[];
  /** The mutants that each test is repeated with; absent if it notes which ones it reaches. */
  readonly mutants?: Readonly<Record<string, readonly number[]>>;
  /** The mutants that are reached when functions are loaded: these start anew for them. */
  readonly onLoad?: readonly number[];
  /** The file of the notes. */
  readonly notes: string;
}

/** What a process notes, one per line. */
export type Note =
  | { readonly reached: readonly number[]; readonly test: string; readonly ms: number }
  /** Mutants that were reached when functions were loaded, and those between tests. */
  | { readonly onLoad: readonly number[]; readonly outside: readonly number[] }
  /** Written before the test runs, which may never end. */
  | { readonly trying: number; readonly test: string }
  | { readonly tried: number; readonly test: string; readonly isDetected: boolean }
  /** The test fails without a mutant by now, as others would: one has broken the process. */
  | { readonly broken: string }
  /** A test that fails without a mutant, at first or when it is repeated. */
  | { readonly unusable: string; readonly message: string };

export const readPlan = (): Plan => JSON.parse(readFileSync(process.env.PLAN ?? '', 'utf8'));

export const note = ({ notes }: Plan, entry: Note): void =>
  appendFileSync(notes, `${JSON.stringify(entry)}\n`);

export const notesIn = (file: string): Note[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
