import type { Integration } from '../../lib/integrations/integration.ts';
import { credentialKey } from '../../lib/integrations/integration-items.ts';
import { bytesOf, type StoredParameter } from '../../lib/integrations/parameter-table.ts';
import { totalKey } from '../../lib/table/item-kind.ts';
import { entityKey } from '../../lib/table/keys.ts';
import type { Item } from '../../lib/table/table.ts';
import { hashOfSecret, hourOf } from '../../lib/tokens/secret.ts';
import type { User } from '../../lib/users/user.ts';
import { storedUser } from '../support/doubles/stored-items.ts';
import { NOW, sealedValue } from './determinism.ts';
import { ada, tableOf } from './people.ts';
import { FIRST_ID } from './worlds.ts';

/* An integration with parameters, a credential and a module. */

/** May change integrations. */
export const ina = storedUser(6, 'ina', {
  incarnation: 'ina-first',
  securityStamp: 'ina-stamp',
  version: '1-ina',
});

export const SECRET = `ghm_${'0'.repeat(43)}2CZclj`;
export const CLIENT = 'module-5-AAAAAAAAAAAA';
export const MODULE = { integrationId: 5, clientId: CLIENT };
const instant = (days: number): string => new Date(NOW + days * 86_400_000).toISOString();

const parameterOf = (id: number, confName: string, confValue: string): StoredParameter => ({
  id,
  confName,
  confValue: sealedValue(confValue, id),
  bytes: bytesOf(confName, confValue),
  version: `1-${confName}`,
});
export const HOST = parameterOf(5_000_001, 'host', 'a');
export const KEY: StoredParameter = { ...parameterOf(5_000_002, 'key', 'b'), secret: true };
export const PARAMETERS = [HOST, KEY];

/** Has two parameters and a credential. Its module runs an older configuration. */
export const gate: Integration = {
  id: 5,
  name: 'Gate',
  shortName: 'gate',
  integrationType: 'API',
  active: true,
  parameterCount: 2,
  parametersEver: 2,
  parameterBytes: PARAMETERS.reduce((sum, { bytes = 0 }) => sum + bytes, 0),
  version: '3-gate',
  revision: 8,
  moduleRevision: 7,
  module: { needsRestart: true, needsRestartSince: NOW - 1000, changes: 3 },
  credentials: [
    { clientId: CLIENT, createdDate: instant(-1), createdBy: 'ada', expires: instant(30) },
  ],
  report: { running: 6, since: NOW - 60_000, times: 1 },
  seen: instant(-1),
};

/** A table with this integration, an administrator and a user who may change integrations. */
export function integrationTable(
  fields: Partial<Integration> = {},
  users: readonly User[] = [ada, ina],
): Item[] {
  return [
    ...tableOf(...users),
    { ...entityKey('INTEGRATION', 5), ...gate, ...fields },
    ...PARAMETERS.map((parameter) => ({ ...entityKey('CONF', parameter.id), ...parameter })),
    {
      ...credentialKey(CLIENT),
      hash: hashOfSecret(SECRET),
      expires: Math.ceil(Date.parse(instant(30)) / 1000),
    },
    { ...totalKey('INTEGRATION'), n: 1, changes: 1 },
    { ...totalKey('CONF'), n: 2, changes: 2 },
  ];
}

/** Tables that differ in what the integration has done so far. */
export const integrationTables = {
  running: integrationTable(),
  /** No module was seen or is to restart. */
  unseen: integrationTable({ module: undefined, report: undefined, seen: undefined }),
  inactive: integrationTable({ active: false }),
  /** One more report is recorded this second, and one more is audited this hour. */
  reporting: integrationTable({
    report: {
      running: 5,
      since: NOW - 100,
      times: 2,
      audited: { since: NOW - 60_000, entries: 9 },
    },
    seen: hourOf(NOW),
  }),
} as const satisfies Record<string, Item[]>;

/** A table in which the first id that a request draws is taken. */
export const tableWithDrawnId = (): Item[] => [
  ...integrationTable().filter(({ pk }) => pk !== 'TOTAL'),
  { ...entityKey('INTEGRATION', FIRST_ID), ...gate, id: FIRST_ID, ...NO_PARAMETERS },
  { ...totalKey('INTEGRATION'), n: 2, changes: 2 },
  { ...totalKey('CONF'), n: 2, changes: 2 },
  { ...totalKey('USER'), n: 2, changes: 2 },
];
const NO_PARAMETERS = { parameterCount: 0, parametersEver: 0, parameterBytes: 0, credentials: [] };
