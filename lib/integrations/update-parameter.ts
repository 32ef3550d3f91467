import { pick } from '../contract/entity-fields.ts';
import { Failure } from '../contract/failure.ts';
import { entityKey, integrationIdOf } from '../table/keys.ts';
import { readBudget } from '../table/read-budget.ts';
import type { Table } from '../table/table.ts';
import { nextVersion, type Precondition, requireVersion, set, versionIs } from '../table/write.ts';
import type { AuthorizedCaller } from '../users/caller.ts';
import { type Integration, moduleToRestart } from './integration.ts';
import { integrationChanged } from './integration-table.ts';
import { type DecryptedParameter, MASK, requireNewValue } from './parameter.ts';
import type { ParameterChange } from './parameter-contracts.ts';
import {
  auditEventForParameter,
  bytesOf,
  findForChange,
  parameterBytesAfter,
  parameterChanges,
  type StoredParameter,
} from './parameter-table.ts';
import { openSeal, type Seal } from './sealed-value.ts';

/**
 * Updates a parameter and flags its integration's module for a restart, in one transaction. Fails
 * with unknown-id (also when the parameter belongs to another integration), version-changed,
 * parameters-too-large, forbidden, read-budget-spent, and with invalid for the mask where a value
 * is needed. The mask keeps the value of a secret.
 */
export async function updateParameter(
  table: Table,
  caller: AuthorizedCaller,
  changes: ParameterChange,
  precondition: Precondition,
): Promise<DecryptedParameter> {
  const { id, integration: owner, confName, confValue } = changes;
  const budget = readBudget(table, caller);
  return caller.change({
    loadEarly: () => budget.requireUnspent(),
    load: () => findForChange(table, budget, { integrationId: owner.id, parameterId: id }),
    prepare: async ({ integration, parameter }) =>
      integration && parameter && !keepsValue(parameter, changes) ? openSeal(owner.id) : undefined,
    decide: ({ loaded: { integration, parameter }, prepared: seal, now }) => {
      if (!integration || !parameter || integrationIdOf(id) !== owner.id)
        throw new Failure('unknown-id');
      requireVersion(parameter, precondition);
      const { confDescription } = { ...parameter, ...pick(changes, ['confDescription']) };
      const secret = (changes.secret ?? parameter.secret) ? true : undefined;
      const isKept = keepsValue(parameter, changes) && secret === true;
      // Whoever takes the flag away must not read the value by it.
      if (!isKept) requireNewValue(confValue, parameter.secret === true || secret === true);
      const after: StoredParameter = {
        ...parameter,
        confName,
        confValue: isKept ? parameter.confValue : sealed(seal, confValue, id),
        confDescription,
        secret,
        bytes: isKept
          ? bytesOfValue(parameter) + bytesOf(confName, '', confDescription)
          : bytesOf(confName, confValue, confDescription),
        version: nextVersion(parameter.version),
      };
      const flagged: Integration = {
        ...integration,
        parameterBytes: parameterBytesAfter(integration, parameter, after),
        module: moduleToRestart(integration.module, 1, now),
        version: nextVersion(integration.version),
      };
      const attributes = {
        confName,
        confValue: after.confValue,
        confDescription,
        secret,
        bytes: after.bytes,
        version: after.version,
      };
      return {
        writes: [
          integrationChanged(integration, flagged),
          // The revision does not cover it: it may have been read before the integration was.
          set(entityKey('CONF', id), attributes, versionIs(parameter)),
        ],
        result: {
          id,
          integration: flagged,
          confName,
          confValue,
          confDescription,
          secret,
          version: after.version,
        },
        // Always listed: without permission to decrypt, this function cannot tell whether the value
        // has changed.
        event: auditEventForParameter('parameter.updated', parameter, integration, [
          ...parameterChanges(parameter, after),
          ...(isKept ? [] : [{ field: 'confValue' }]),
        ]),
      };
    },
  });
}

/** The size of the stored value alone. */
const bytesOfValue = ({ bytes = 0, confName, confDescription }: StoredParameter): number =>
  bytes - bytesOf(confName, '', confDescription);

const keepsValue = ({ secret }: StoredParameter, { confValue }: ParameterChange): boolean =>
  secret === true && confValue === MASK;

/** Fails with unavailable if a retry needs a seal that the first attempt did not. */
function sealed(seal: Seal | undefined, confValue: string, id: number): Uint8Array {
  if (!seal) throw new Failure('unavailable');
  return seal(confValue, id);
}
