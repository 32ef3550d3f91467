import { endpoint } from '../lib/http/endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { ListSessions } from '../lib/sessions/session-contracts.ts';
import { listSessions } from '../lib/sessions/sessions.ts';
import { openTable } from '../lib/table/open-table.ts';
import { sessionView } from '../lib/users/session-item.ts';

const table = openTable();

/** GET /api/account/sessions: the caller's sessions. */
export const handler = endpoint(ListSessions, async ({ caller }) => {
  const sessions = await listSessions(table, caller);
  return ok(sessions.map((session) => sessionView(session, caller.jti)));
});
