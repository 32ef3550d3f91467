import type { Item } from '../../../lib/table/table.ts';
import type { MemoryTable } from './memory-table.ts';

/** What a rule returned, the items that it changed, and the audit entry that it added. */
export interface RuleOutcome<R> {
  readonly result: R;
  /** By both keys; null if deleted. */
  readonly changed: Record<string, Item | null>;
  readonly audit: Item | null | undefined;
}

/** Waits for a rule, and reads what it has changed in its table. */
export async function outcomeOf<R>(table: MemoryTable, rule: Promise<R>): Promise<RuleOutcome<R>> {
  const result = await rule;
  const items = Object.entries(table.changed());
  const isAudit = ([name]: (typeof items)[number]) => name.startsWith('AUDIT#');
  return {
    result,
    changed: Object.fromEntries(items.filter((item) => !isAudit(item))),
    audit: items.find(isAudit)?.[1],
  };
}
