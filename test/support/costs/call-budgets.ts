import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a request costs in a warm function. */
export interface Budget {
  /** How many of its calls to AWS follow each other. */
  readonly roundTrips: number;
  readonly reads: number;
  readonly writes: number;
  /** The number of calls by operation. */
  readonly calls: Readonly<Record<string, number>>;
}

const DOCUMENT = readFileSync(join(import.meta.dirname, '../../../docs/call-budgets.md'), 'utf8');
const [HEAD = ''] = DOCUMENT.split('| `');

function lineOf(name: string, { roundTrips, reads, writes, calls }: Budget): string {
  const named = Object.entries(calls).map(([operation, n]) =>
    n > 1 ? `${n} ${operation}` : operation,
  );
  return `| \`${name}\` | ${roundTrips} | ${reads} | ${writes} | ${named.sort().join(', ')} |\n`;
}

/** The text of docs/call-budgets.md with these budgets, by the request. */
export const budgetDocument = (budgets: ReadonlyMap<string, Budget>): string =>
  HEAD + [...budgets].map(([name, budget]) => lineOf(name, budget)).join('');

/** Whether the document has this budget. */
export const isDocumented = (name: string, budget: Budget): boolean =>
  DOCUMENT.includes(lineOf(name, budget));

/** The budgets in docs/call-budgets.md, by the request. */
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
