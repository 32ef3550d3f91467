import { edges } from './edges.ts';
import type { Mutant } from './mutant.ts';

/** Every mutant that is planted. */
export const mutants: readonly Mutant[] = [...edges];
