import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withGenerated } from './generated-tables.ts';

export interface Budget {
  /** How many of its calls to AWS follow each other. */
  readonly roundTrips: number;
  readonly reads: number;
  readonly writes: number;
  readonly calls: Readonly<Record<string, number>>;
}

const DOCUMENT = readFileSync(join(import.meta.dirname, '../../../docs/calls.md'), 'utf8');
const HEAD =
  '| request | round trips | read units | write units | calls |\n|---|---|---|---|---|\n';

function lineOf(name: string, { roundTrips, reads, writes, calls }: Budget): string {
  const named = Object.entries(calls).map(([operation, n]) =>
    n > 1 ? `${n} ${operation}` : operation,
  );
  return `| \`${name}\` | ${roundTrips} | ${reads} | ${writes} | ${named.sort().join(', ')} |`;
}

/** The text of docs/calls.md with these budgets, by the request. */
export const budgetDocument = (budgets: ReadonlyMap<string, Budget>): string =>
  withGenerated(DOCUMENT, {
    budgets: HEAD + [...budgets].map(([name, budget]) => lineOf(name, budget)).join('\n'),
  });

export const isDocumented = (name: string, budget: Budget): boolean =>
  DOCUMENT.includes(lineOf(name, budget));

export const BUDGETS: ReadonlyMap<string, Budget> = new Map(
  [...DOCUMENT.matchAll(/^\| `(.+)` \| (\d+) \| (\d+) \| (\d+) \| (.*) \|$/gm)].map(
    ([, name = '', roundTrips, reads, writes, calls = '']) => [
      name,
      {
        roundTrips: Number(roundTrips),
        reads: Number(reads),
        writes: Number(writes),
        calls: Object.fromEntries(
          [...calls.matchAll(/(\d+ )?(\w+)/g)].map(([, count = '1', operation]) => [
            operation,
            Number(count),
          ]),
        ),
      },
    ],
  ),
);
