/**
 * What a request costs in a warm function, by route: sequential round trips | read units + write
 * units | calls. test/api/call-budgets.test.ts measures it, and docs/cost.md is calculated from it.
 */
// biome-ignore format: a table is read by its columns
export const BUDGETS: Readonly<Record<string, string>> = {
  'DELETE /api/users/{login}': '4 | 4 + 14 | 4 GetItem, TransactWriteItems',
  'DELETE /api/utm-integration-confs/{id}': '3 | 5 + 10 | 2 BatchGetItem, 2 GetItem, TransactWriteItems',
  'DELETE /api/utm-integrations/{id}': '4 | 5 + 14 | 3 GetItem, BatchGetItem, Query, TransactWriteItems',
  'GET /.well-known/jwks.json': '1 | 1 + 0 | Query',
  'GET /api/account': '1 | 1 + 0 | GetItem',
  'GET /api/audits': '3 | 4 + 1 | 2 Query, BatchGetItem, GetItem, UpdateItem',
  'GET /api/health': '1 | 1 + 0 | GetItem',
  'GET /api/users': '2 | 4 + 0 | BatchGetItem, GetItem, Query',
  'GET /api/users/authorities': '0 | 0 + 0 | ',
  'GET /api/users/{login}': '2 | 2 + 0 | 2 GetItem',
  'GET /api/utm-integration-confs': '4 | 8 + 1 | BatchGetItem, Decrypt, GetItem, Query, TransactGetItems, UpdateItem',
  'GET /api/utm-integration-confs/count': '1 | 3 + 0 | BatchGetItem, GetItem',
  'GET /api/utm-integration-confs/{id}': '3 | 6 + 1 | BatchGetItem, Decrypt, GetItem, TransactGetItems, UpdateItem',
  'GET /api/utm-integrations': '3 | 4 + 1 | BatchGetItem, GetItem, Query, UpdateItem',
  'GET /api/utm-integrations/count': '1 | 3 + 0 | BatchGetItem, GetItem',
  'GET /api/utm-integrations/{id}': '1 | 1 + 0 | GetItem',
  'GET /management/info': '0 | 0 + 0 | ',
  'GET /api/openapi.json': '0 | 0 + 0 | ',
  'POST /api/account': '2 | 2 + 10 | 2 GetItem, TransactWriteItems',
  'POST /api/account/change-password': '6 | 5 + 13 | 2 GenerateMac, 2 GetItem, 3 TransactWriteItems, BatchGetItem, UpdateItem',
  'POST /api/account/reset-password/finish': '4 | 4 + 13 | 2 BatchGetItem, GenerateMac, TransactWriteItems, UpdateItem',
  'POST /api/account/reset-password/init': '3 | 1 + 3 | BatchGetItem, TransactWriteItems, UpdateItem',
  'POST /api/authenticate': '4 | 5 + 5 | 2 TransactWriteItems, BatchGetItem, GenerateMac, GetItem, Sign, UpdateItem',
  'POST /api/users': '3 | 2 + 17 | 2 GetItem, TransactWriteItems, UpdateItem',
  'POST /api/users with a password': '3 | 2 + 15 | 2 GetItem, GenerateMac, TransactWriteItems, UpdateItem',
  'POST /api/utm-integration-confs': '3 | 3 + 10 | 3 GetItem, TransactWriteItems',
  'POST /api/utm-integrations': '3 | 2 + 9 | 2 GetItem, TransactWriteItems, UpdateItem',
  'POST /api/utm-integrations/{id}/module/restarted': '3 | 3 + 6 | 3 GetItem, TransactWriteItems',
  'PUT /api/users': '2 | 3 + 6 | 3 GetItem, TransactWriteItems',
  'PUT /api/utm-integration-confs': '3 | 5 + 8 | 2 BatchGetItem, 2 GetItem, TransactWriteItems',
  'PUT /api/utm-integrations': '3 | 3 + 6 | 3 GetItem, TransactWriteItems',
};

interface Budget {
  readonly roundTrips: number;
  readonly reads: number;
  readonly writes: number;
  /** The number of calls by operation. */
  readonly calls: Readonly<Record<string, number>>;
}

/** The parts of a route's budget. */
export function budgetOf(route: string): Budget {
  const [roundTrips = '', units = '', calls = ''] = BUDGETS[route]?.split('|') ?? [];
  const [reads = '', writes = ''] = units.split('+');
  const counted = [...calls.matchAll(/(\d+ )?(\w+)/g)].map(([, count = '1', operation]) => [
    operation,
    Number(count),
  ]);
  return {
    roundTrips: Number(roundTrips),
    reads: Number(reads),
    writes: Number(writes),
    calls: Object.fromEntries(counted),
  };
}
