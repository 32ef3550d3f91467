import { idText } from '../../table/keys.ts';
import type { Item, Table } from '../../table/table.ts';

/** Below the bound of a list, which a collection of any size exceeds. */
const PAGE_ITEMS = 1000;

/**
 * The items of all users or integrations in their order, read page by page while the table may
 * change.
 */
export async function* itemsOf(table: Table, kind: 'USER' | 'INTEGRATION'): AsyncGenerator<Item> {
  const to = idText(Number.MAX_SAFE_INTEGER);
  for (let from = idText(1); ; ) {
    const items = await table.query(kind, { from, to, limit: PAGE_ITEMS });
    yield* items;
    const last = items.at(-1);
    if (!last || items.length < PAGE_ITEMS) return;
    // The next possible sort key, even if the last one is not an id, as in a copy made by hand.
    from = `${last.sk}\0`;
  }
}
