import { randomBytes } from 'node:crypto';
import type { Checks } from './checks.ts';
import { Unexpected } from './deployment.ts';
import { markedIntegration } from './marked.ts';

/** Creates the marked integration with two parameters, changes them, and deletes them. */
export async function checkIntegrations(checks: Checks, token: string): Promise<void> {
  const { body: created } = await checks.succeeds('POST /api/utm-integrations', {
    token,
    body: markedIntegration,
  });
  const path = { id: created.id as number };
  await checks.succeeds('GET /api/utm-integrations', { token, query: '?size=1' });
  await checks.succeeds('GET /api/utm-integrations/count', { token });
  const { headers } = await checks.succeeds('GET /api/utm-integrations/{id}', { token, path });
  const etag = headers.get('etag') ?? '';
  await checks.check('GET /api/utm-integrations/{id} returns 304 for the current ETag', () =>
    checks.deployment.succeedEmpty('GET /api/utm-integrations/{id}', 304, {
      token,
      path,
      headers: { 'If-None-Match': etag },
    }),
  );
  await checks.succeeds('PUT /api/utm-integrations', {
    token,
    body: { ...created, shortName: 'changed' },
    headers: { 'If-Match': etag },
  });
  await checkParameters(checks, token, created.id);
  const body = { changes: 1 };
  await checks.succeeds('POST /api/utm-integrations/{id}/module/restarted', { token, path, body });
  // Also deletes the remaining parameter.
  await checks.succeeds('DELETE /api/utm-integrations/{id}', { token, path });
}

async function checkParameters(checks: Checks, token: string, integration: number): Promise<void> {
  const parameter = (confName: string, confValue: string) => ({
    integration: { id: integration },
    confName,
    confValue,
  });
  const query = `?integrationId.equals=${integration}`;
  const { deployment } = checks;
  const { body: kept } = await checks.succeeds('POST /api/utm-integration-confs', {
    token,
    body: parameter('kept', 'first'),
  });
  const { body: other } = await deployment.succeed('POST /api/utm-integration-confs', {
    token,
    body: parameter('deleted', 'first'),
  });
  const value = randomBytes(15).toString('base64url');
  await checks.succeeds('PUT /api/utm-integration-confs', {
    token,
    body: { ...parameter('kept', value), id: kept.id },
  });
  const { body: read } = await checks.succeeds('GET /api/utm-integration-confs/{id}', {
    token,
    path: { id: kept.id },
  });
  await checks.check('a value is decrypted as it was sent', async () => {
    if (read.confValue !== value) throw new Unexpected('the value is a different one');
  });
  await checks.succeeds('GET /api/utm-integration-confs', { token, query });
  await checks.succeeds('GET /api/utm-integration-confs/count', { token, query });
  await checks.succeeds('DELETE /api/utm-integration-confs/{id}', {
    token,
    path: { id: other.id },
  });
}
