import type { Instrumenter } from '@stryker-mutator/instrumenter';
import type { Note } from './plan.ts';

/** A change of one place of the code. */
export type Mutant = Awaited<ReturnType<Instrumenter['instrument']>>['mutants'][number];

/** What is known of the mutants and the tests. */
export interface Results {
  /** Milliseconds by test. */
  readonly durations: Map<string, number>;
  /** The tests that reach a mutant. */
  readonly testsOf: Map<number, string[]>;
  /** Mutants that are reached when functions are loaded, and those between tests. */
  readonly onLoad: Set<number>;
  readonly outside: Set<number>;
  /** The test that detected a mutant. */
  readonly detected: Map<number, string>;
  readonly survived: Map<number, Set<string>>;
  readonly unusable: Set<string>;
}

/** The results before a test has run; of mutants with these ids. */
export const emptyResults = (ids: Iterable<number>): Results => ({
  durations: new Map(),
  testsOf: new Map([...ids].map((id) => [id, []])),
  onLoad: new Set(),
  outside: new Set(),
  detected: new Map(),
  survived: new Map(),
  unusable: new Set(),
});

/** Adds what a process has noted. */
export function addNote(entry: Note, results: Results): void {
  if ('reached' in entry) {
    results.durations.set(entry.test, entry.ms);
    for (const id of entry.reached) results.testsOf.get(id)?.push(entry.test);
  } else if ('onLoad' in entry) {
    for (const id of entry.onLoad) results.onLoad.add(id);
    for (const id of entry.outside) results.outside.add(id);
  } else if ('unusable' in entry) results.unusable.add(entry.unusable);
  else if ('tried' in entry && entry.isDetected) results.detected.set(entry.tried, entry.test);
  else if ('tried' in entry) {
    const survived = results.survived.get(entry.tried) ?? new Set();
    results.survived.set(entry.tried, survived.add(entry.test));
  }
}
