import { entityKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { changeTotal, claim } from '../table/write.ts';
import { type Caller, changeAs } from '../users/caller.ts';
import { firstVersion } from '../version.ts';
import type { Integration } from './integration.ts';
import { CreateIntegration, type NewIntegration } from './integration-contracts.ts';
import { deedOnIntegration } from './integration-table.ts';

/** Registers an integration. Fails with forbidden. */
export async function createIntegration(table: Table, caller: Caller, wanted: NewIntegration): Promise<Integration> {
  const id = await table.nextId('INTEGRATION');
  const integration: Integration = {
    id,
    name: wanted.name,
    shortName: wanted.shortName,
    description: wanted.description ?? undefined,
    integrationType: wanted.integrationType,
    active: wanted.active,
    parameterCount: 0,
    parametersEver: 0,
    version: firstVersion(),
    revision: 1,
  };
  const writes = [claim(entityKey('INTEGRATION', id), { ...integration }, 'reload'), changeTotal('INTEGRATION', 1)];
  return changeAs(
    table,
    caller,
    CreateIntegration.who,
    async () => undefined,
    () => ({ writes, result: integration, deed: deedOnIntegration('integration.created', integration) }),
  );
}
