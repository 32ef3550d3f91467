import { authorize } from '../../../lib/authorization/authorize.ts';
import type { Role } from '../../../lib/contract/contract.ts';
import type { Integration } from '../../../lib/integrations/integration.ts';
import { integrators } from '../../../lib/integrations/integration-contracts.ts';
import type { StoredParameter } from '../../../lib/integrations/parameter-table.ts';
import { entityKey } from '../../../lib/table/keys.ts';
import type { Item, Table } from '../../../lib/table/table.ts';
import type { AuthorizedCaller } from '../../../lib/users/authorized-caller.ts';

/* An integration, a parameter of it, and a caller, as items of a table. */

/** An integration with one parameter. */
export const GATE: Integration = {
  id: 5,
  name: 'Gate',
  shortName: 'gate',
  description: 'Doors',
  integrationType: 'API',
  active: true,
  parameterCount: 1,
  parametersEver: 3,
  parameterBytes: 100,
  version: '3-abc',
  revision: 8,
  moduleRevision: 7,
};
/** The parameter of GATE. */
export const KEY: StoredParameter = {
  id: 5_000_002,
  confName: 'key',
  confValue: Buffer.from([1]),
  confDescription: 'Of the gate',
  bytes: 30,
  version: '2-xyz',
};

/** The item of GATE with other fields. */
export const gate = (fields: Partial<Integration> = {}): Item => ({
  ...entityKey('INTEGRATION', 5),
  ...GATE,
  ...fields,
});
/** The item of KEY with other fields. */
export const parameter = (fields: Partial<StoredParameter> = {}): Item => {
  const stored = { ...KEY, ...fields };
  return { ...entityKey('CONF', stored.id), ...stored };
};

/** The item of a caller with this role. */
export const callerWith = (role: Role, login = 'ada'): Item => ({
  ...entityKey('USER', 1),
  id: 1,
  login,
  incarnation: 'first',
  activated: true,
  passwordChanges: 0,
  authorities: [role],
});

/** The caller, where a role of integrators is required. */
export const asIntegrator = (table: Table): AuthorizedCaller =>
  authorize(
    table,
    {
      id: 1,
      incarnation: 'first',
      jti: 'j',
      expires: 0,
      passwordChanges: 0,
      sessionEndings: 0,
      source: '192.0.2.1',
    },
    integrators,
  );
