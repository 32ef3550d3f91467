import { Failure } from '../contract/failure.ts';
import { entityKey, PARAMETERS_PER_INTEGRATION_EVER, parameterId } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { changeTotal, firstVersion, put } from '../table/write.ts';
import type { AuthorizedCaller } from '../users/caller.ts';
import { type Integration, PARAMETERS_MAX } from './integration.ts';
import { findIntegration, integrationChanged } from './integration-table.ts';
import { type DecryptedParameter, requireNewValue } from './parameter.ts';
import type { NewParameter } from './parameter-contracts.ts';
import {
  auditEventForParameter,
  bytesOf,
  decrypted,
  parameterBytesAfter,
  parameterChanges,
  type StoredParameter,
} from './parameter-table.ts';
import { openSeal, type Seal } from './sealed-value.ts';

/**
 * Adds a parameter to an integration. Fails with unknown-id, parameter-ids-used-up,
 * too-many-parameters, parameters-too-large, forbidden, and with invalid for the mask.
 */
export async function createParameter(
  table: Table,
  caller: AuthorizedCaller,
  newParameter: NewParameter,
): Promise<DecryptedParameter> {
  const { integration: owner } = newParameter;
  return caller.change({
    load: () => findIntegration(table, owner.id),
    prepare: async (integration) => integration && openSeal(owner.id),
    decide: ({ loaded: integration, prepared: seal }) => {
      if (!integration || !seal) throw new Failure('unknown-id');
      const added = parameterAdded(integration, newParameter, seal);
      return {
        writes: [integrationChanged(integration, added.integration), ...added.writes],
        result: decrypted(added.parameter, newParameter.confValue, added.integration),
        event: added.event,
      };
    },
  });
}

type ParameterToAdd = Pick<NewParameter, 'confName' | 'confValue' | 'confDescription' | 'secret'> &
  Pick<StoredParameter, 'secretVersion'>;

/** Decides the creation of a parameter. Fails as `addParameter` does. */
export function parameterAdded(integration: Integration, fields: ParameterToAdd, seal: Seal) {
  const { parameter, after } = addParameter(integration, fields, seal);
  const changes = parameterChanges(undefined, parameter);
  return {
    parameter,
    integration: after,
    writes: [put(entityKey('CONF', parameter.id), { ...parameter }), changeTotal('CONF', 1)],
    event: auditEventForParameter('parameter.created', parameter, integration, changes),
  };
}

/**
 * A new parameter of an integration, and the integration with its counters. Fails with
 * parameter-ids-used-up, too-many-parameters, parameters-too-large, and with invalid for the mask,
 * or what is left of it.
 */
export function addParameter(
  integration: Integration,
  fields: ParameterToAdd,
  seal: Seal,
): { parameter: StoredParameter; after: Integration } {
  const { confName, confValue, confDescription } = fields;
  requireNewValue(confValue, fields.secret === true);
  const parameterCount = integration.parameterCount + 1;
  const parametersEver = integration.parametersEver + 1;
  // Checked first: deleting a parameter does not free its id, so too-many-parameters would mislead
  // the client.
  if (parametersEver >= PARAMETERS_PER_INTEGRATION_EVER) throw new Failure('parameter-ids-used-up');
  if (parameterCount > PARAMETERS_MAX) throw new Failure('too-many-parameters');
  const id = parameterId(integration.id, parametersEver);
  const parameter: StoredParameter = {
    id,
    confName,
    confValue: seal(confValue, id),
    confDescription,
    ...(fields.secret && { secret: true }),
    ...(fields.secretVersion && { secretVersion: fields.secretVersion }),
    bytes: bytesOf(confName, confValue, confDescription),
    version: firstVersion(),
  };
  const parameterBytes = parameterBytesAfter(integration, undefined, parameter);
  return { parameter, after: { ...integration, parameterCount, parametersEver, parameterBytes } };
}
