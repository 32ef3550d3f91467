import { Failure } from '../contract/failure.ts';
import type { Integration } from '../integrations/integration.ts';
import { findIntegration } from '../integrations/integration-table.ts';
import type { Table } from '../table/table.ts';
import { activeCredential } from './credential.ts';
import type { ModuleCaller } from './module-token.ts';

/** A module whose credential the table has confirmed. */
export interface AuthorizedModule extends ModuleCaller {
  /** Its integration, by the read that has confirmed the credential. */
  readonly integration: Integration;
  /** Reads and confirms again, for a retry. Fails with invalid-token. */
  readonly reload: () => Promise<Integration>;
}

/**
 * Confirms in the table that the credential of a module's token still exists, in one read. Fails
 * with forbidden for another integration than its own, and with invalid-token.
 */
export async function authorizeModule(
  table: Table,
  caller: ModuleCaller,
  integrationId: number,
): Promise<AuthorizedModule> {
  if (integrationId !== caller.integrationId) throw new Failure('forbidden');
  const reload = async () => {
    const integration = await findIntegration(table, integrationId);
    if (!integration || !activeCredential(integration, caller.clientId, Date.now()))
      throw new Failure('invalid-token');
    return integration;
  };
  return { ...caller, integration: await reload(), reload };
}
