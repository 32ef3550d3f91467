import { domain } from './domain.ts';
import { edges } from './edges.ts';
import type { Mutant } from './mutant.ts';
import { operations } from './operations.ts';

export const mutants: readonly Mutant[] = [...domain, ...edges, ...operations];
