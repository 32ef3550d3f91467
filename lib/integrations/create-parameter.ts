import { Failure } from '../contract/failure.ts';
import { settleAll } from '../runtime/settle-all.ts';
import { entityKey, PARAMETERS_PER_INTEGRATION_EVER, parameterId } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { firstVersion } from '../table/version.ts';
import { changeTotal, claim } from '../table/write.ts';
import type { AuthorizedCaller } from '../users/authorized-caller.ts';
import type { User } from '../users/user.ts';
import { MOST_PARAMETERS } from './integration.ts';
import { findIntegration, integrationChanged } from './integration-table.ts';
import type { OpenParameter } from './parameter.ts';
import type { NewParameter } from './parameter-contracts.ts';
import { auditEventForParameter, bytesOf, parameterBytesAfter, type StoredParameter } from './parameter-table.ts';
import { openSeal, type Seal } from './sealed-value.ts';

/** Attaches a parameter to an integration. Fails with unknown-id, too-many-parameters, parameters-too-large, parameter-ids-used-up, forbidden. */
export async function createParameter(
  table: Table,
  caller: AuthorizedCaller,
  wanted: NewParameter,
): Promise<OpenParameter> {
  const { integration: owner, confName, confValue } = wanted;
  const confDescription = wanted.confDescription ?? undefined;
  let opened: Seal | undefined;
  const load = async (callerUser: Promise<User>) => {
    const [integration] = await settleAll([findIntegration(table, owner.id), callerUser]);
    // Whoever is rejected causes no call to KMS, and a further try none either.
    if (integration) opened ??= await openSeal(owner.id);
    return { integration, seal: opened };
  };
  return caller.change(load, ({ integration, seal }) => {
    if (!integration || !seal) throw new Failure('unknown-id');
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
      bytes: bytesOf(confName, confValue, confDescription),
      version: firstVersion(),
    };
    const parameterBytes = parameterBytesAfter(integration, undefined, parameter);
    return {
      writes: [
        integrationChanged(integration, { ...integration, parameterCount, parametersEver, parameterBytes }),
        claim(entityKey('CONF', id), { ...parameter }, 'retry'),
        changeTotal('CONF', 1),
      ],
      result: { id, integration, confName, confValue, confDescription, version: parameter.version },
      event: auditEventForParameter('parameter.created', parameter),
    };
  });
}
