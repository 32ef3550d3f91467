import type { Integration } from '../integrations/integration.ts';
import { integrationOf } from '../integrations/integration-table.ts';
import { idText } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import type { User } from '../users/user.ts';
import { userOf } from '../users/user-table.ts';

/** Below the bound of a list, which a collection of any size exceeds. */
const PAGE_ITEMS = 1000;

/** All users in the order of their ids, read page by page while the table may change. */
export const usersOf = (table: Table): AsyncGenerator<User> => entitiesOf(table, 'USER', userOf);

/** All integrations in the order of their ids, read page by page while the table may change. */
export const integrationsOf = (table: Table): AsyncGenerator<Integration> =>
  entitiesOf(table, 'INTEGRATION', integrationOf);

async function* entitiesOf<E>(table: Table, kind: 'USER' | 'INTEGRATION', entityOf: (item: Item) => E) {
  const to = idText(Number.MAX_SAFE_INTEGER);
  for (let last = 0; ; ) {
    const items = await table.query(kind, { from: idText(last + 1), to, limit: PAGE_ITEMS });
    for (const item of items) yield entityOf(item);
    if (items.length < PAGE_ITEMS) return;
    last = Number(items.at(-1)?.sk);
  }
}
