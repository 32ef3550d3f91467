import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { OPERATOR } from '../../infra/local/state/operator.ts';
import { credentialKey } from '../../lib/integrations/integration-items.ts';
import { VERIFIED_ATTRIBUTES } from '../../lib/operations/integrity/find-defect.ts';
import type { FindingKind } from '../../lib/operations/integrity/finding.ts';
import { repairTable } from '../../lib/operations/integrity/repair-table.ts';
import { verifyTable } from '../../lib/operations/integrity/verify-table.ts';
import { overviewKey } from '../../lib/operations/overview/count-overview.ts';
import { sequenceKey, totalKey } from '../../lib/table/item-kind.ts';
import { entityKey, type Key } from '../../lib/table/keys.ts';
import {
  openTableScanner,
  scannerClient,
  type TableScanner,
} from '../../lib/table/table-scanner.ts';
import { put, type Write } from '../../lib/table/write.ts';
import { publicKeyItemKey } from '../../lib/tokens/token.ts';
import { emailGuardKey, loginGuardKey, rosterKey } from '../../lib/users/user-items.ts';
import { execute } from '../support/doubles/output.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { INTEGRATION } from '../support/instance/integrations.ts';
import { type Items, itemsOf, restoreItems } from '../support/instance/items.ts';

/* That the real engine accepts each repair. test/unit/findings.test.ts has the findings. */

const gatehouse = await useGatehouse({ breaksData: true });

let client: DynamoDBClient;
let whole: TableScanner;
let intact: Items;
let admin: string;
let verifyDaily: () => Promise<void>;

const { endpoint, region, tableName } = gatehouse.cloud;
const ENVIRONMENT = {
  TABLE_NAME: tableName,
  AWS_ENDPOINT_URL: endpoint,
  AWS_REGION: region,
  AWS_ACCESS_KEY_ID: OPERATOR.accessKeyId,
  AWS_SECRET_ACCESS_KEY: OPERATOR.secretAccessKey,
  AWS_SESSION_TOKEN: 'local',
};
const ALICE = entityKey('USER', 3);
const GATE = entityKey('INTEGRATION', 1);
const ALICES_LOGIN = loginGuardKey('alice');

const send = async (path: string, body: object): Promise<object> => {
  const response = await gatehouse.call('POST', path, { token: admin, body });
  expect(response.status, response.text).toBeLessThan(300);
  return response.body;
};
beforeAll(async () => {
  client = scannerClient({ endpoint, region, credentials: OPERATOR });
  whole = openTableScanner(VERIFIED_ATTRIBUTES, tableName, client);

  admin = await gatehouse.adminToken();
  await gatehouse.makeUser('alice', { email: 'Älice@Example.com', password: undefined });
  const integration = await send('/api/utm-integrations', INTEGRATION);
  const parameter = { integration, confName: 'key', confValue: 'secret' };
  for (let count = 0; count < 2; count++) await send('/api/utm-integration-confs', parameter);
  intact = await itemsOf(gatehouse.cloud);
  // Not within a test, to which the mutants of what it makes when it is loaded would count.
  for (const [name, value] of Object.entries(ENVIRONMENT)) vi.stubEnv(name, value);
  const bundle = join(inject('assembly'), 'bundles/verify-table/index.mjs');
  verifyDaily = (await import(bundle)).handler;
});
afterEach(() => restoreItems(gatehouse.cloud, intact));
afterAll(() => client.destroy());

/** Damage to one item: it gets other attributes or is deleted. */
type Damage = readonly [key: Key, attributes: Record<string, unknown> | 'deleted'];

async function applyDamage(...damages: readonly Damage[]): Promise<void> {
  const writes = damages.map(([key, attributes]): Write => {
    if (attributes === 'deleted') return { act: 'Delete', key };
    const { pk: _pk, sk: _sk, ...before } = intact.get(`${key.pk} ${key.sk}`) ?? key;
    return put(key, { ...before, ...attributes });
  });
  await gatehouse.table.transact(writes, randomUUID());
}

const verify = async () => (await verifyTable(whole)).findings;
const verifyKinds = async () => (await verify()).map(({ kind }) => kind);

describe('a repair', () => {
  /** Damage with one finding, and a change that makes the repair needless. */
  const REPAIRS: [kind: FindingKind, damage: Damage, change?: Damage][] = [
    [
      'login-guard-missing',
      [ALICES_LOGIN, 'deleted'],
      [ALICE, { login: 'elsewhere', version: '9-a' }],
    ],
    ['login-guard-wrong', [ALICES_LOGIN, { id: 2 }], [ALICES_LOGIN, { id: 1 }]],
    ['login-guard-wrong', [ALICES_LOGIN, { id: 999 }]],
    // The guard is keyed by the normalized address, not by the address as written.
    ['email-guard-orphan', [emailGuardKey('Älice@Example.com'), { id: 3 }]],
    [
      'email-guard-missing',
      [emailGuardKey('älice@example.com'), 'deleted'],
      [emailGuardKey('älice@example.com'), { id: 2 }],
    ],
    [
      'credential-orphan',
      [credentialKey('module-1-a1b2c3d4e5f6'), { hash: 'h', expires: 4_102_444_800 }],
      [GATE, { revision: 99 }],
    ],
    ['not-on-roster', [rosterKey, 'deleted']],
    [
      'wrongly-on-roster',
      [rosterKey, { ids: new Set([1, 2]) }],
      [entityKey('USER', 2), { authorities: ['ROLE_ADMIN'], version: '9-a' }],
    ],
    [
      'wrongly-on-roster',
      [rosterKey, { ids: new Set([1, 999]) }],
      [rosterKey, { ids: new Set([999]) }],
    ],
    ['wrong-total', [totalKey('USER'), { n: 2 }], [totalKey('USER'), { n: 2, changes: 99 }]],
    ['wrong-total', [totalKey('CONF'), 'deleted'], [totalKey('CONF'), { n: 0 }]],
    // As versions that did not count changes stored it.
    ['wrong-total', [totalKey('USER'), { n: 2, changes: undefined }]],
    ['sequence-behind', [sequenceKey('USER'), { n: 2 }], [sequenceKey('USER'), { n: 50 }]],
    ['sequence-behind', [sequenceKey('INTEGRATION'), 'deleted']],
    ['wrong-parameter-counters', [GATE, { parameterCount: 3 }], [GATE, { revision: 99 }]],
  ];

  it.each(REPAIRS)('of %s leaves no finding after the damage %j', async (kind, damage) => {
    await applyDamage(damage);

    const found = await verify();
    await repairTable(gatehouse.table, found, () => undefined);

    expect(found.map((finding) => finding.kind)).toEqual([kind]);
    expect(await verify()).toEqual([]);
    // Clients and modules read the new counters.
    const before = intact.get(`${GATE.pk} ${GATE.sk}`);
    const next = (name: string) => ({ [name]: Number(before?.[name]) + 1 });
    if (kind === 'wrong-parameter-counters')
      expect(await gatehouse.table.get(GATE)).toMatchObject({
        ...next('revision'),
        ...next('moduleRevision'),
      });
  });

  it.each(REPAIRS.flatMap(([kind, damage, change]) => (change ? [{ kind, damage, change }] : [])))(
    'of $kind is skipped when its finding no longer holds',
    async ({ damage, change }) => {
      await applyDamage(damage);
      const found = await verify();
      await applyDamage(change);
      const before = await itemsOf(gatehouse.cloud);

      await repairTable(gatehouse.table, found, () => undefined);

      expect(await itemsOf(gatehouse.cloud)).toEqual(before);
    },
  );

  it('is left to the operator where no other item holds what is missing', async () => {
    await applyDamage(
      [{ pk: 'GHOST', sk: 'x' }, {}],
      [ALICE, { email: undefined }],
      [publicKeyItemKey('forged'), { jwk: { kid: 'k', kty: 'EC', crv: 'c', x: 'x', y: 'y' } }],
      [GATE, 'deleted'],
      [totalKey('INTEGRATION'), { n: 0 }],
    );
    const before = await itemsOf(gatehouse.cloud);

    const found = await verify();
    await repairTable(gatehouse.table, found, () => undefined);

    expect(new Set(found.map(({ kind }) => kind))).toEqual(
      new Set([
        'unknown-item',
        'damaged-item',
        'wrong-signing-key',
        'parameter-without-integration',
      ]),
    );
    expect(await itemsOf(gatehouse.cloud)).toEqual(before);
  });

  it('replaces the last entry of the roster only with an actual administrator', async () => {
    await applyDamage([rosterKey, { ids: new Set([999]) }]);

    await repairTable(gatehouse.table, await verify(), () => undefined);

    expect((await gatehouse.table.get(rosterKey))?.ids).toEqual(new Set([1]));
  });

  it('leaves the roster empty without administrators, for first-admin', async () => {
    await applyDamage([entityKey('USER', 1), { activated: false }]);

    await repairTable(gatehouse.table, await verify(), () => undefined);

    expect(await verifyKinds()).toEqual(['nobody-administers']);
    expect((await gatehouse.table.get(rosterKey))?.ids).toBeUndefined();
  });
});

it('a daily verification fails on findings, logs only kinds and numbers, and counts', async () => {
  await applyDamage([ALICES_LOGIN, 'deleted'], [emailGuardKey('someone@example.com'), { id: 3 }]);
  const verification = {
    execute() {
      return verifyDaily().then(
        () => 0,
        (error: Error) => {
          // As Lambda does.
          process.stderr.write(String(error.stack));
          return 1;
        },
      );
    },
  };

  const run = () => execute(verification, [], ENVIRONMENT);
  const { code, stdout, stderr } = await run();

  expect(code).toBe(1);
  expect(await gatehouse.table.get(overviewKey)).toBeDefined();
  expect(JSON.parse(stdout)).toMatchObject({
    // The mail of another test can still be delivered, which adds its reset key.
    verified: expect.any(Number),
    findings: 2,
    'login-guard-missing': 1,
    'email-guard-orphan': 1,
  });
  expect(stdout + stderr).not.toMatch(/alice|someone/);
  await restoreItems(gatehouse.cloud, intact);
  expect(await run()).toMatchObject({ code: 0 });
  // What was counted on request during the verification stays.
  await applyDamage([overviewKey, { countedAt: '9' }]);
  await run();
  expect(await gatehouse.table.get(overviewKey)).toMatchObject({ countedAt: '9' });
});
