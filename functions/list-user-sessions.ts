import { endpoint } from '../lib/http/endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { ListUserSessions } from '../lib/sessions/session-contracts.ts';
import { listSessionsOf } from '../lib/sessions/sessions.ts';
import { openTable } from '../lib/table/open-table.ts';
import { sessionView } from '../lib/users/session-item.ts';

const table = openTable();

/** GET /api/users/{login}/sessions: the sessions of a user. */
export const handler = endpoint(ListUserSessions, async ({ caller, path }) => {
  const sessions = await listSessionsOf(table, caller, path.login);
  return ok(sessions.map((session) => sessionView(session, caller.jti)));
});
