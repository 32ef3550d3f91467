import { type Integration, wantedOf } from '../integrations/integration.ts';
import { INTEGRATIONS, integrationOf } from '../integrations/integration-table.ts';
import type { Collection } from '../table/list.ts';
import { activeCredentials } from './credential.ts';
import type { ModuleProgress } from './module-contracts.ts';
import { progressOf } from './module-state.ts';

/** What the module of an integration runs, and when its credentials expire. */
export interface ListedModule {
  readonly id: number;
  readonly name: string;
  readonly active: boolean;
  readonly progress: ModuleProgress;
  readonly wanted: number;
  readonly running: number | undefined;
  readonly failed: number | undefined;
  readonly reason: string | undefined;
  readonly lastSeen: string | undefined;
  readonly credentials: number;
  /** When the last of them expires: from then on, the module is refused. */
  readonly credentialsExpire: string | undefined;
}

/** The modules of all integrations. */
export const MODULES: Collection<ListedModule> = {
  ...INTEGRATIONS,
  entityOf: (item) => listedModule(integrationOf(item), Date.now()),
};

function listedModule(integration: Integration, now: number): ListedModule {
  const { id, name, active, report, seen, credentials = [] } = integration;
  const usable = activeCredentials(credentials, now);
  return {
    id,
    name,
    active,
    progress: progressOf(integration),
    wanted: wantedOf(integration),
    running: report?.running,
    failed: report?.failed,
    reason: report?.reason,
    lastSeen: seen,
    credentials: usable.length,
    credentialsExpire: usable
      .map(({ expires }) => expires)
      .toSorted()
      .at(-1),
  };
}
