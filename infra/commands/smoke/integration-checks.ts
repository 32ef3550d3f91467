import { randomBytes } from 'node:crypto';
import type { Checks } from './checks.ts';
import { Unexpected } from './deployment.ts';
import { markedIntegration } from './marked.ts';

/** Creates the marked integration with two parameters, changes them, and deletes them. */
export async function checkIntegrations(checks: Checks): Promise<void> {
  const { body: created } = await checks.succeeds('POST /api/utm-integrations', {
    body: markedIntegration,
  });
  const path = { id: created.id as number };
  await checks.succeeds('GET /api/utm-integrations', { query: '?size=1' });
  await checks.succeeds('GET /api/utm-integrations/count');
  const { headers } = await checks.succeeds('GET /api/utm-integrations/{id}', { path });
  const etag = headers.get('etag') ?? '';
  await checks.check('GET /api/utm-integrations/{id} returns 304 for the current ETag', () =>
    checks.deployment.succeedEmpty('GET /api/utm-integrations/{id}', 304, {
      path,
      headers: { 'If-None-Match': etag },
    }),
  );
  await checks.succeeds('PUT /api/utm-integrations', {
    body: { ...created, shortName: 'changed' },
    headers: { 'If-Match': etag },
  });
  await checkParameters(checks, path);
  const body = { changes: 1 };
  await checks.succeeds('POST /api/utm-integrations/{id}/module/restarted', { path, body });
  // Also deletes the remaining parameter.
  await checks.succeeds('DELETE /api/utm-integrations/{id}', { path });
}

async function checkParameters(checks: Checks, integration: { id: number }): Promise<void> {
  const query = `?integrationId.equals=${integration.id}`;
  const kept = { integration, confName: 'kept', confValue: 'first' };
  const { body: created } = await checks.succeeds('POST /api/utm-integration-confs', {
    body: kept,
  });
  const { body: other } = await checks.deployment.succeed('POST /api/utm-integration-confs', {
    body: { ...kept, confName: 'deleted' },
  });
  const path = { id: created.id };
  const confValue = randomBytes(15).toString('base64url');
  await checks.succeeds('PUT /api/utm-integration-confs', {
    body: { ...kept, ...path, confValue },
  });
  const { body: read } = await checks.succeeds('GET /api/utm-integration-confs/{id}', { path });
  await checks.check('a value is decrypted as it was sent', async () => {
    if (read.confValue !== confValue) throw new Unexpected('the value is a different one');
  });
  await checks.succeeds('GET /api/utm-integration-confs', { query });
  await checks.succeeds('GET /api/utm-integration-confs/count', { query });
  await checks.succeeds('DELETE /api/utm-integration-confs/{id}', { path: { id: other.id } });
}
