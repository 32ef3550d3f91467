import type { TableScanner } from '../table/table-scanner.ts';
import { type Verdict, verifyParameters, verifySequence, verifyTotal } from './counters.ts';
import type { Finding, FindingKind } from './finding.ts';
import { verifyGuards } from './guards.ts';
import { findDefect } from './item-kinds.ts';
import { verifyRoster } from './roster.ts';
import { type Survey, survey } from './survey.ts';

/** What a table holds, what is wrong with it, and what could not be told. */
export interface Verification {
  readonly items: number;
  readonly users: number;
  readonly integrations: number;
  readonly parameters: number;
  readonly findings: readonly Finding[];
  /** One sentence for each thing that changed too fast to be compared. */
  readonly undecided: readonly string[];
}

/**
 * Whether every rule that spans items holds. Reads the whole table once, changes nothing, and reads again what does not
 * fit, together: the service may go on meanwhile, and what it is just changing is no finding.
 * `onProgress` is told how many items have been read. Fails with NoGatehouseTable, or with what the SDK throws.
 */
export async function verifyTable(
  table: TableScanner,
  onProgress = (_items: number): void => undefined,
): Promise<Verification> {
  const seen = await survey(table, onProgress);
  const verdicts: Verdict[] = [
    { findings: await verifyItems(table, seen) },
    { findings: await verifyGuards(table, seen) },
    { findings: await verifyRoster(table, seen) },
    await verifyParameters(table, seen),
    await verifySequence(table, seen, 'USER'),
    await verifySequence(table, seen, 'INTEGRATION'),
    await verifyTotal(table, seen, 'USER'),
    await verifyTotal(table, seen, 'INTEGRATION'),
    await verifyTotal(table, seen, 'CONF'),
  ];
  return {
    items: seen.items,
    users: seen.counts.USER,
    integrations: seen.counts.INTEGRATION,
    parameters: seen.counts.CONF,
    findings: verdicts.flatMap(({ findings }) => findings),
    undecided: verdicts.flatMap(({ undecided }) => undecided ?? []),
  };
}

async function verifyItems(table: TableScanner, { flawed }: Survey): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const key of flawed) {
    const [item] = await table.snapshot([key]);
    const flaw = item && findDefect(item);
    if (flaw) findings.push(flaw);
  }
  return findings;
}

/** How many findings there are of each kind. */
export function countByKind(findings: readonly Finding[]): Partial<Record<FindingKind, number>> {
  const counts: Partial<Record<FindingKind, number>> = {};
  for (const { kind } of findings) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}
