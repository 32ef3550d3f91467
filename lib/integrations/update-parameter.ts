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
  decrypted,
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
  const { id, integration: owner } = changes;
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
      const { after, ...changed } = parameterChanged(integration, parameter, changes, seal, now);
      return {
        writes: [integrationChanged(integration, changed.integration), ...changed.writes],
        result: decrypted(after, changes.confValue, changed.integration),
        event: changed.event,
      };
    },
  });
}

/** What a change of a parameter sets; the mask keeps the value of a secret. */
type ParameterFields = Pick<ParameterChange, 'confName' | 'confValue'> &
  Partial<Pick<StoredParameter, 'confDescription' | 'secretVersion'>> & {
    readonly secret?: boolean | undefined;
  };

/**
 * Decides the change of a parameter, and of its integration with the flag for a restart.
 * Fails with parameters-too-large, and with invalid for the mask where a value is needed.
 */
export function parameterChanged(
  integration: Integration,
  parameter: StoredParameter,
  changes: ParameterFields,
  seal: Seal | undefined,
  now: number,
) {
  const { id } = parameter;
  const { confName, confValue, secretVersion } = changes;
  const { confDescription } = { ...parameter, ...pick(changes, ['confDescription']) };
  const secret: true | undefined = (changes.secret ?? parameter.secret) ? true : undefined;
  const isKept = keepsValue(parameter, changes) && secret === true;
  // Whoever takes the flag away must not read the value by it.
  if (!isKept) requireNewValue(confValue, parameter.secret === true || secret === true);
  const changed = {
    confName,
    // Only the mask comes without a seal: where it keeps no value, it has been rejected.
    confValue: isKept ? parameter.confValue : (seal as Seal)(confValue, id),
    confDescription,
    secret,
    secretVersion: isKept ? parameter.secretVersion : secretVersion,
    bytes: isKept
      ? bytesOfValue(parameter) + bytesOf(confName, '', confDescription)
      : bytesOf(confName, confValue, confDescription),
    version: nextVersion(parameter.version),
  };
  const after: StoredParameter = { ...parameter, ...changed };
  const flagged: Integration = {
    ...integration,
    parameterBytes: parameterBytesAfter(integration, parameter, after),
    module: moduleToRestart(integration.module, 1, now),
    version: nextVersion(integration.version),
  };
  return {
    after,
    integration: flagged,
    // The revision does not cover it: it may have been read before the integration was.
    writes: [set(entityKey('CONF', id), changed, versionIs(parameter))],
    // Always listed: without permission to decrypt, nobody can tell whether the value has changed.
    event: auditEventForParameter('parameter.updated', parameter, integration, [
      ...parameterChanges(parameter, after),
      ...(isKept ? [] : [{ field: 'confValue' }]),
    ]),
  };
}

/** The size of the stored value alone. */
const bytesOfValue = ({ bytes = 0, confName, confDescription }: StoredParameter): number =>
  bytes - bytesOf(confName, '', confDescription);

const keepsValue = ({ secret }: StoredParameter, { confValue }: ParameterFields): boolean =>
  secret === true && confValue === MASK;
