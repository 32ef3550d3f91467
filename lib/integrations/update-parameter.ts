import { changedFields } from '../audit/audit-entry.ts';
import { Failure } from '../failure.ts';
import { entityKey, integrationIdOf } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { set, unchanged } from '../table/write.ts';
import { together } from '../together.ts';
import { type Caller, changeAs } from '../users/caller.ts';
import { demandVersion, type ExpectedVersions, nextVersion } from '../version.ts';
import type { Integration } from './integration.ts';
import { findIntegration, integrationChanged } from './integration-table.ts';
import type { OpenParameter } from './parameter.ts';
import { type ParameterChange, UpdateParameter } from './parameter-contracts.ts';
import { deedOnParameter, findParameter } from './parameter-table.ts';
import { openSeal } from './sealed-value.ts';

/**
 * Changes a parameter and flags the module of its integration as needing a restart, both or neither.
 * Fails with unknown-id, also when the parameter belongs to another integration, version-changed, forbidden.
 */
export async function updateParameter(
  table: Table,
  caller: Caller,
  wanted: ParameterChange,
  expected: ExpectedVersions,
): Promise<OpenParameter> {
  const { id, integration: owner, confName, confValue } = wanted;
  const load = () => together([findIntegration(table, owner.id), findParameter(table, id), openSeal(owner.id)]);
  return changeAs(table, caller, UpdateParameter.who, load, ([integration, parameter, seal]) => {
    if (!integration || !parameter || integrationIdOf(id) !== owner.id) throw new Failure('unknown-id');
    demandVersion(parameter, expected);
    const confDescription =
      wanted.confDescription === undefined ? parameter.confDescription : (wanted.confDescription ?? undefined);
    const flagged: Integration = {
      ...integration,
      module: { needsRestart: true, changes: (integration.module?.changes ?? 0) + 1 },
      version: nextVersion(integration.version),
    };
    const changes = {
      confName,
      confValue: seal(confValue, id),
      confDescription,
      version: nextVersion(parameter.version),
    };
    return {
      writes: [integrationChanged(integration, flagged), set(entityKey('CONF', id), changes, unchanged(parameter))],
      result: { id, integration: flagged, confName, confValue, confDescription, version: changes.version },
      // Whether the value is another one, nobody can tell who may not read it.
      deed: deedOnParameter('parameter.updated', parameter, [
        ...changedFields(parameter, { ...parameter, confName, confDescription }, ['confName', 'confDescription']),
        'confValue',
      ]),
    };
  });
}
