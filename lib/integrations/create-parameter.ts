import { Failure } from '../failure.ts';
import { entityKey, PARAMETERS_PER_INTEGRATION_EVER, parameterId } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { changeTotal, claim } from '../table/write.ts';
import { together } from '../together.ts';
import { type Caller, changeAs } from '../users/caller.ts';
import { firstVersion } from '../version.ts';
import { MOST_PARAMETERS } from './integration.ts';
import { findIntegration, integrationChanged } from './integration-table.ts';
import type { OpenParameter } from './parameter.ts';
import { CreateParameter, type NewParameter } from './parameter-contracts.ts';
import { deedOnParameter, type StoredParameter } from './parameter-table.ts';
import { openSeal } from './sealed-value.ts';

/** Attaches a parameter to an integration. Fails with unknown-id, too-many-parameters, parameter-ids-used-up, forbidden. */
export async function createParameter(table: Table, caller: Caller, wanted: NewParameter): Promise<OpenParameter> {
  const { integration: owner, confName, confValue } = wanted;
  const confDescription = wanted.confDescription ?? undefined;
  const load = () => together([findIntegration(table, owner.id), openSeal(owner.id)]);
  return changeAs(table, caller, CreateParameter.who, load, ([integration, seal]) => {
    if (!integration) throw new Failure('unknown-id');
    const parameterCount = integration.parameterCount + 1;
    const parametersEver = integration.parametersEver + 1;
    // First, because with no ids left it would not help to delete a parameter.
    if (parametersEver >= PARAMETERS_PER_INTEGRATION_EVER) throw new Failure('parameter-ids-used-up');
    if (parameterCount > MOST_PARAMETERS) throw new Failure('too-many-parameters');
    const id = parameterId(integration.id, parametersEver);
    const parameter: StoredParameter = {
      id,
      confName,
      confValue: seal(confValue, id),
      confDescription,
      version: firstVersion(),
    };
    return {
      writes: [
        integrationChanged(integration, { ...integration, parameterCount, parametersEver }),
        claim(entityKey('CONF', id), { ...parameter }, 'reload'),
        changeTotal('CONF', 1),
      ],
      result: { id, integration, confName, confValue, confDescription, version: parameter.version },
      deed: deedOnParameter('parameter.created', parameter),
    };
  });
}
