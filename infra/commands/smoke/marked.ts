import type { Deployment } from './deployment.ts';

/*
 * What a smoke test creates. Its marks make it recognizable, so that the next run can remove what
 * this one left.
 */

const MARK = 'Created by npm run smoke';

/** The login of the marked user, which the test renames. */
export const LOGINS = { first: 'gatehouse-smoke', renamed: 'gatehouse-smoke-renamed' };

/**
 * The mailbox simulator of SES accepts these addresses, even in the sandbox, and delivers nothing.
 */
export const ADDRESSES = {
  first: 'success+gatehouse-smoke@simulator.amazonses.com',
  changed: 'success+gatehouse-smoke-changed@simulator.amazonses.com',
};

export const markedUser = { login: LOGINS.first, lastName: MARK, authorities: ['ROLE_USER'] };
export const markedIntegration = {
  name: 'gatehouse-smoke',
  shortName: 'smoke',
  integrationType: 'API',
  active: false,
  description: MARK,
};

/** Deletes marked users and integrations, and nothing without the mark. */
export async function removeMarked(deployment: Deployment): Promise<void> {
  for (const login of Object.values(LOGINS)) {
    const path = { login };
    const { status, body } = await deployment.send('GET /api/users/{login}', { path });
    if (status !== 200 || body?.lastName !== MARK) continue;
    await deployment.succeed('DELETE /api/users/{login}', { path });
  }
  // Leftovers are among the newest; the maximum of a page.
  const query = '?sort=id,desc&size=2000';
  const { body } = await deployment.succeed('GET /api/utm-integrations', { query });
  for (const { id, name, description } of body) {
    if (name !== markedIntegration.name || description !== MARK) continue;
    await deployment.succeed('DELETE /api/utm-integrations/{id}', { path: { id } });
  }
}
