import { Failure } from '../contract/failure.ts';
import type { Integration } from '../integrations/integration.ts';
import { type RecentValues, recentValues } from '../runtime/execution-environment.ts';
import type { Table } from '../table/table.ts';
import { openModuleKeys } from '../tokens/signing-keys.ts';
import { MODULE_AUDIENCE, MODULE_TOKEN_SECONDS, MODULE_TOKEN_TYPE } from '../tokens/token.ts';
import type { KeyedTokenKind } from '../tokens/verify-token.ts';
import { confirmedCredential, integrationOfClient, keysOfCredential } from './credential.ts';

/** A module as stated in its token. Its credential may have been deleted since. */
export interface ModuleCaller {
  readonly clientId: string;
  readonly integrationId: number;
}

/** The tokens of modules. */
export const moduleToken = (): KeyedTokenKind<ModuleCaller> => ({
  readKeys: openModuleKeys(),
  type: MODULE_TOKEN_TYPE,
  audience: MODULE_AUDIENCE,
  secondsMax: MODULE_TOKEN_SECONDS,
  isComplete: ({ sub, client_id, integration }) =>
    client_id === sub &&
    integration !== undefined &&
    integrationOfClient(String(sub)) === integration,
  callerOf: ({ sub, integration }) => ({
    clientId: sub as string,
    integrationId: integration as number,
  }),
});

/** A module whose credential the table has confirmed. */
export interface AuthorizedModule extends ModuleCaller {
  /** The address from which the request came. */
  readonly source: string;
  /** Its integration, by the call that has confirmed the credential. */
  readonly integration: Integration;
  /** Reads and confirms again, for a retry. Fails with invalid-token. */
  readonly reload: () => Promise<Integration>;
}

/** The client ids that were refused. A credential that was deleted or has expired never returns. */
type RefusedModules = RecentValues<true>;

const CLIENTS_MAX = 1000;
const LIFE_MS = 10_000;

/** Remembers refusals for one endpoint of one function instance, so that they cost no reads. */
export const refusedModules = (): RefusedModules => recentValues(CLIENTS_MAX, LIFE_MS);

/**
 * Confirms in the table that the credential of a module's token still exists, in one call. Fails
 * with forbidden for another integration than its own, and with invalid-token.
 */
export async function authorizeModule(
  table: Table,
  caller: ModuleCaller & Pick<AuthorizedModule, 'source'>,
  integrationId: number,
  refused: RefusedModules,
): Promise<AuthorizedModule> {
  const { clientId } = caller;
  if (integrationId !== caller.integrationId) throw new Failure('forbidden');
  if (refused.get(clientId)) throw new Failure('invalid-token');
  const reload = async () => {
    const items = await table.getAll(keysOfCredential(integrationId, clientId));
    const credential = confirmedCredential(items, clientId, Date.now());
    if (credential) return credential.integration;
    refused.set(clientId, true);
    throw new Failure('invalid-token');
  };
  return { ...caller, integration: await reload(), reload };
}
