import type { Integration } from '../integrations/integration.ts';
import { INTEGRATIONS, integrationOf } from '../integrations/integration-table.ts';
import type { Collection } from '../table/list.ts';
import { activeCredentials } from './credential.ts';
import { moduleStateOf } from './module-state.ts';

/** What the module of an integration runs, and when its credentials expire. */
interface ListedModule extends ReturnType<typeof moduleStateOf> {
  readonly id: number;
  readonly name: string;
  readonly active: boolean;
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
  const { id, name, active } = integration;
  const usable = activeCredentials(integration, now);
  return {
    id,
    name,
    active,
    ...moduleStateOf(integration, now),
    credentials: usable.length,
    credentialsExpire: usable
      .map(({ expires }) => expires)
      .toSorted()
      .at(-1),
  };
}
