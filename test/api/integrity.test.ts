import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import type { AwsCall } from '../../infra/local/calls/aws-call.ts';
import { OPERATOR } from '../../infra/local/state/operator.ts';
import { verifyParameters, verifyTotal } from '../../lib/integrity/counters.ts';
import type { Finding, FindingKind } from '../../lib/integrity/finding.ts';
import { verifyGuards } from '../../lib/integrity/guards.ts';
import { VERIFIED_ATTRIBUTES } from '../../lib/integrity/item-kinds.ts';
import { repairTable } from '../../lib/integrity/repair-table.ts';
import { survey } from '../../lib/integrity/survey.ts';
import { verifyTable } from '../../lib/integrity/verify-table.ts';
import * as keys from '../../lib/table/keys.ts';
import {
  openTableScanner,
  scannerClient,
  type TableScanner,
} from '../../lib/table/table-scanner.ts';
import { put, type Write } from '../../lib/table/write.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { type Items, itemsOf, restoreItems } from '../support/instance/items.ts';

const {
  entityKey,
  loginGuardKey,
  emailGuardKey,
  rosterKey,
  totalKey,
  sequenceKey,
  publicKeyItemKey,
} = keys;

const calls: AwsCall[] = [];
let conflicts = 0;
/** Runs once, after the next read of a verification. */
let afterNextRead: (() => Promise<unknown>) | undefined;
const READS = new Set(['GetItem', 'TransactGetItems', 'Query']);
const gatehouse = await useGatehouse({
  breaksData: true,
  async intercept(call, forward) {
    if (call.functionName === undefined) calls.push(call);
    if (afterNextRead && READS.has(call.operation) && call.functionName === undefined) {
      const interfere = afterNextRead;
      afterNextRead = undefined;
      const response = await forward();
      await interfere();
      return response;
    }
    if (call.operation !== 'TransactGetItems' || conflicts === 0) return forward();
    conflicts--;
    const CancellationReasons = [{ Code: 'TransactionConflict' }];
    return {
      status: 400,
      body: { __type: 'TransactionCanceledException', message: 'busy', CancellationReasons },
    };
  },
});

let client: DynamoDBClient;
let whole: TableScanner;
let intact: Items;
let admin: string;

/**
 * Items per page of a scan; pages of two make a short scan span many changes, like that of a long
 * table.
 */
let pageSize = 100;

const USER = 2;
const ALICE = 3;
const GATE = 1;
const PARAMETER = keys.parameterId(GATE, 1);

beforeAll(async () => {
  const { endpoint, region, tableName } = gatehouse.cloud;
  client = scannerClient({ endpoint, region, credentials: OPERATOR });
  client.middlewareStack.add(
    (next, { commandName }) =>
      (args) =>
        next(
          commandName === 'ScanCommand'
            ? { ...args, input: { ...args.input, Limit: pageSize } }
            : args,
        ),
    { step: 'initialize' },
  );
  whole = openTableScanner(VERIFIED_ATTRIBUTES, tableName, client);

  admin = await gatehouse.adminToken();
  await gatehouse.makeUser('alice', { email: 'Älice@Example.com', password: undefined });
  const body = { name: 'Gate', shortName: 'gate', integrationType: 'API' };
  await gatehouse.call('POST', '/api/utm-integrations', { token: admin, body });
  for (const confName of ['url', 'key']) {
    const parameter = { integration: { id: GATE }, confName, confValue: 'secret' };
    await gatehouse.call('POST', '/api/utm-integration-confs', { token: admin, body: parameter });
  }
  intact = await itemsOf(gatehouse.cloud);
});
afterEach(async () => {
  afterNextRead = undefined;
  await restoreItems(gatehouse.cloud, intact);
});
afterAll(() => client.destroy());

/** Damage to one item: it gets other attributes or is deleted. */
type Damage = readonly [key: keys.Key, attributes: Record<string, unknown> | 'deleted'];

async function applyDamage(...damages: readonly Damage[]): Promise<void> {
  const writes = damages.map(([key, attributes]): Write => {
    if (attributes === 'deleted') return { act: 'Delete', key };
    const { pk: _pk, sk: _sk, ...before } = intact.get(`${key.pk} ${key.sk}`) ?? key;
    return put(key, { ...before, ...attributes });
  });
  await gatehouse.table.transact(writes, randomUUID());
}

const verify = async (): Promise<readonly Finding[]> => (await verifyTable(whole)).findings;
const kindsOf = (findings: readonly Finding[]): FindingKind[] => [
  ...new Set(findings.map(({ kind }) => kind)),
];

/** For each kind of finding, the ways of damage that cause it and whether it can be repaired. */
const SEEDS: Record<FindingKind, { ways: readonly (readonly Damage[])[]; repairable: boolean }> = {
  'unknown-item': {
    ways: [
      [[{ pk: 'GHOST', sk: 'x' }, {}]],
      [[{ pk: 'SEQUENCE', sk: 'CONF' }, { n: 1 }]],
      [[{ pk: 'LOGIN#alice', sk: 'Guard' }, { id: ALICE }]],
    ],
    repairable: false,
  },
  'damaged-item': {
    ways: [
      [[entityKey('USER', ALICE), { email: undefined }]],
      [[entityKey('USER', ALICE), { authorities: 'ROLE_ADMIN' }]],
      [[entityKey('INTEGRATION', GATE), { parameterCount: undefined }]],
      [[loginGuardKey('alice'), { id: '3' }]],
      [[rosterKey, { ids: [1] }]],
      [[totalKey('USER'), { n: undefined }]],
    ],
    repairable: false,
  },
  'wrong-id': {
    ways: [
      [[entityKey('USER', ALICE), { id: USER }]],
      [[entityKey('CONF', PARAMETER), { id: PARAMETER + 1 }]],
    ],
    repairable: false,
  },
  'wrong-signing-key': {
    ways: [
      [
        [
          publicKeyItemKey('forged'),
          { jwk: { kid: 'forged', kty: 'EC', crv: 'P-256', x: 'x', y: 'y' } },
        ],
      ],
    ],
    repairable: false,
  },
  'login-guard-missing': { ways: [[[loginGuardKey('alice'), 'deleted']]], repairable: true },
  'login-guard-wrong': {
    ways: [[[loginGuardKey('alice'), { id: USER }]], [[loginGuardKey('alice'), { id: 999 }]]],
    repairable: true,
  },
  'login-guard-orphan': {
    ways: [[[loginGuardKey('former'), { id: 999 }]], [[loginGuardKey('former'), { id: ALICE }]]],
    repairable: true,
  },
  'login-shared': {
    ways: [
      [
        [entityKey('USER', ALICE), { login: 'user' }],
        [loginGuardKey('alice'), 'deleted'],
      ],
    ],
    repairable: false,
  },
  'email-guard-missing': {
    ways: [[[emailGuardKey('älice@example.com'), 'deleted']]],
    repairable: true,
  },
  'email-guard-wrong': {
    ways: [[[emailGuardKey('älice@example.com'), { id: USER }]]],
    repairable: true,
  },
  'email-guard-orphan': {
    // The guard is keyed by the normalized address, not by the address as written.
    ways: [[[emailGuardKey('Älice@Example.com'), { id: ALICE }]]],
    repairable: true,
  },
  'email-shared': {
    ways: [
      [
        [entityKey('USER', ALICE), { email: 'USER@example.com' }],
        [emailGuardKey('älice@example.com'), 'deleted'],
      ],
    ],
    repairable: false,
  },
  'not-on-roster': {
    ways: [[[entityKey('USER', ALICE), { authorities: ['ROLE_ADMIN'] }]], [[rosterKey, 'deleted']]],
    repairable: true,
  },
  'wrongly-on-roster': {
    ways: [[[rosterKey, { ids: new Set([1, USER]) }]], [[rosterKey, { ids: new Set([1, 999]) }]]],
    repairable: true,
  },
  'nobody-administers': {
    ways: [
      [
        [entityKey('USER', 1), { activated: false }],
        [rosterKey, { ids: undefined }],
      ],
    ],
    repairable: false,
  },
  'wrong-total': {
    ways: [
      [[totalKey('USER'), { n: 2 }]],
      [[totalKey('INTEGRATION'), { n: 2 }]],
      [[totalKey('CONF'), { n: 0 }]],
      [[totalKey('CONF'), 'deleted']],
      // As versions that did not count changes stored it.
      [[totalKey('USER'), { n: 2, changes: undefined }]],
    ],
    repairable: true,
  },
  'sequence-behind': {
    ways: [[[sequenceKey('USER'), { n: 2 }]], [[sequenceKey('INTEGRATION'), 'deleted']]],
    repairable: true,
  },
  'parameter-without-integration': {
    ways: [
      [
        [entityKey('INTEGRATION', GATE), 'deleted'],
        [totalKey('INTEGRATION'), { n: 0 }],
      ],
    ],
    repairable: false,
  },
  'wrong-parameter-counters': {
    ways: [
      [[entityKey('INTEGRATION', GATE), { parameterCount: 3 }]],
      [[entityKey('INTEGRATION', GATE), { parametersEver: 1 }]],
      [[entityKey('INTEGRATION', GATE), { parameterBytes: 1 }]],
      [[entityKey('CONF', GATE * 1_000_000 + 1), { bytes: 1 }]],
    ],
    repairable: true,
  },
};

const CASES = Object.entries(SEEDS).flatMap(([kind, { ways, repairable }]) =>
  ways.map((damages, index) => ({
    kind: kind as FindingKind,
    damages,
    repairable,
    way: index + 1,
  })),
);

describe('a damaged table', () => {
  it.each(CASES.filter(({ repairable }) => repairable))(
    'has its finding $kind (way $way) reported and repaired',
    async ({ kind, damages }) => {
      await applyDamage(...damages);

      const found = await verify();
      await repairTable(gatehouse.table, found, () => undefined);

      expect(kindsOf(found)).toEqual([kind]);
      expect(await verify()).toEqual([]);
    },
  );

  it.each(CASES.filter(({ repairable }) => !repairable))(
    'has its finding $kind (way $way) reported and left to the operator',
    async ({ kind, damages }) => {
      await applyDamage(...damages);
      const before = await itemsOf(gatehouse.cloud);

      const found = await verify();
      await repairTable(gatehouse.table, found, () => undefined);

      expect(kindsOf(found)).toEqual([kind]);
      expect(found[0]?.remedy).toEqual({ advice: expect.any(String) });
      expect(await itemsOf(gatehouse.cloud)).toEqual(before);
    },
  );

  it('has its finding reported with the item, the expected and the actual value', async () => {
    await applyDamage([loginGuardKey('alice'), { id: USER }]);

    expect((await verify()).map(({ message: says }) => says)).toEqual([
      'LOGIN#alice / GUARD names user 2, but should name user 3, whose login it guards.',
    ]);
  });
});

describe('a repair', () => {
  it('replaces the last entry of the roster only with an actual administrator', async () => {
    await applyDamage([rosterKey, { ids: new Set([999]) }]);

    await repairTable(gatehouse.table, await verify(), () => undefined);

    expect((await gatehouse.table.get(rosterKey))?.ids).toEqual(new Set([1]));
  });

  it('leaves the roster empty without administrators, for first-admin', async () => {
    await applyDamage(
      [rosterKey, { ids: new Set([1]) }],
      [entityKey('USER', 1), { activated: false }],
    );

    const found = await verify();
    await repairTable(gatehouse.table, found, () => undefined);

    expect(kindsOf(found)).toEqual(['wrongly-on-roster', 'nobody-administers']);
    expect(kindsOf(await verify())).toEqual(['nobody-administers']);
    expect((await gatehouse.table.get(rosterKey))?.ids).toBeUndefined();
  });

  it.each([
    [
      'a guard',
      [loginGuardKey('alice'), 'deleted'],
      [entityKey('USER', ALICE), { login: 'elsewhere', version: 9 }],
    ],
    [
      'the roster',
      [rosterKey, { ids: new Set([1, USER]) }],
      [entityKey('USER', USER), { authorities: ['ROLE_ADMIN'], version: 9 }],
    ],
    ['a total', [totalKey('USER'), { n: 2 }], [totalKey('USER'), { n: 7 }]],
    [
      'a total that changed and changed back',
      [totalKey('USER'), { n: 2 }],
      [totalKey('USER'), { n: 2, changes: 99 }],
    ],
    ['a total that was absent', [totalKey('CONF'), 'deleted'], [totalKey('CONF'), { n: 0 }]],
    [
      'a counter',
      [entityKey('INTEGRATION', GATE), { parameterCount: 3 }],
      [entityKey('INTEGRATION', GATE), { revision: 99 }],
    ],
    ['a sequence', [sequenceKey('USER'), { n: 2 }], [sequenceKey('USER'), { n: 50 }]],
  ] satisfies [string, Damage, Damage][])(
    'of %s is skipped when its finding no longer holds',
    async (_, damage, change) => {
      await applyDamage(damage);
      const found = await verify();
      await applyDamage(change);
      const before = await itemsOf(gatehouse.cloud);

      await repairTable(gatehouse.table, found, () => undefined);

      expect(found).toHaveLength(1);
      expect(await itemsOf(gatehouse.cloud)).toEqual(before);
    },
  );
});

describe('a verification', () => {
  it('only reads, and never a password, a parameter value or a whole item', async () => {
    await applyDamage(
      [rosterKey, 'deleted'],
      [loginGuardKey('alice'), 'deleted'],
      [totalKey('CONF'), { n: 0 }],
    );
    calls.length = 0;

    await verify();

    expect([...new Set(calls.map(({ operation }) => operation))].sort()).toEqual([
      'GetItem',
      'Query',
      'Scan',
      'TransactGetItems',
    ]);
    const reads = calls.flatMap(({ input }) =>
      input.TransactItems
        ? (input.TransactItems as { Get: AwsCall['input'] }[]).map(({ Get }) => Get)
        : [input],
    );
    for (const read of reads) {
      expect(read.ProjectionExpression).toMatch(/^#/);
      expect(JSON.stringify(read)).not.toMatch(/passwordHash|confValue|tokenExcepted/);
    }
  });

  it('retries after conflicts with transactions', async () => {
    await applyDamage([loginGuardKey('alice'), 'deleted']);
    conflicts = 3;

    expect(kindsOf(await verify())).toEqual(['login-guard-missing']);
    expect(conflicts).toBe(0);
  });

  it('reads a guard and its user in one snapshot', async () => {
    const seen = await survey(whole, () => undefined);
    seen.guards.delete(loginGuardKey('alice').pk);
    const { body: user } = await gatehouse.call('GET', '/api/users/alice', { token: admin });
    const body = { ...user, login: 'alice-renamed' };
    afterNextRead = () => gatehouse.call('PUT', '/api/users', { token: admin, body });

    expect(await verifyGuards(whole, seen)).toEqual([]);
    expect(afterNextRead).toBeUndefined();
  });

  it('counts parameters again when one is created during the count', async () => {
    const seen = await survey(whole, () => undefined);
    seen.parameters.set(GATE, { count: 1, highest: 1, bytes: 0 });
    const body = { integration: { id: GATE }, confName: 'late', confValue: 'secret' };
    const create = () =>
      gatehouse.call('POST', '/api/utm-integration-confs', { token: admin, body });
    // The first read is of the integration; the second one is the count.
    afterNextRead = async () => {
      afterNextRead = create;
    };

    expect(await verifyParameters(whole, seen)).toEqual({ findings: [] });
    expect(afterNextRead).toBeUndefined();
  });

  it('reports a total that keeps changing as undecided', async () => {
    const seen = await survey(whole, () => undefined);
    seen.totals.USER = 99;
    let reads = 0;
    // The total differs before and after each count, by the same values every time.
    const move = async () => {
      reads++;
      if (reads % 3 !== 1) await applyDamage([totalKey('USER'), { n: reads % 3 === 2 ? 4 : 3 }]);
      afterNextRead = move;
    };
    afterNextRead = move;

    const verdict = await verifyTotal(whole, seen, 'USER');
    afterNextRead = undefined;

    expect(verdict).toEqual({ findings: [], undecided: expect.stringContaining('TOTAL / USER') });
  });

  describe('of a total', () => {
    const path = '/api/utm-integrations';
    const body = { name: 'Passing', shortName: 'passing', integrationType: 'API' };
    const create = async (): Promise<number> =>
      (await gatehouse.call('POST', path, { token: admin, body })).body.id;
    const remove = (id: number) => gatehouse.call('DELETE', `${path}/${id}`, { token: admin });

    /**
     * Deletes one integration before the query of each of the next counts, and creates another one
     * after it.
     */
    async function replaceDuring(counts: number): Promise<void> {
      let id = await create();
      let reads = 0;
      const replace = async () => {
        reads++;
        if (reads % 3 === 1) await remove(id);
        if (reads % 3 === 2) id = await create();
        if (reads < 3 * counts) afterNextRead = replace;
      };
      afterNextRead = replace;
    }

    it('finds nothing when one entity is deleted and another made during the count', async () => {
      const seen = await survey(whole, () => undefined);
      seen.totals.INTEGRATION = 99;
      await replaceDuring(5);

      const verdict = await verifyTotal(whole, seen, 'INTEGRATION');

      expect(verdict).toEqual({ findings: [] });
      expect(afterNextRead).toBeUndefined();
    });

    it('is undecided when one entity is deleted and another made during every count', async () => {
      const seen = await survey(whole, () => undefined);
      seen.totals.INTEGRATION = 99;
      await replaceDuring(20);

      const verdict = await verifyTotal(whole, seen, 'INTEGRATION');

      expect(verdict).toEqual({
        findings: [],
        undecided: expect.stringContaining('TOTAL / INTEGRATION'),
      });
    });

    it('finds and repairs a wrong total even while entities are created and deleted', async () => {
      await applyDamage([totalKey('INTEGRATION'), { n: 6 }]);
      const seen = await survey(whole, () => undefined);
      await replaceDuring(5);

      const { findings } = await verifyTotal(whole, seen, 'INTEGRATION');
      await repairTable(gatehouse.table, findings, () => undefined);

      expect(findings.map(({ message: says }) => says)).toEqual([
        'TOTAL / INTEGRATION is 7, but the table holds 2.',
      ]);
      expect(await gatehouse.table.get(totalKey('INTEGRATION'))).toMatchObject({ n: 2 });
      expect(await verify()).toEqual([]);
    });

    /**
     * A table whose total stays at 3 and whose successive queries return these numbers of items,
     * then 3.
     */
    function tableThatCounts(...counts: number[]): TableScanner {
      const total = { ...totalKey('INTEGRATION'), n: 3, changes: 7 };
      return {
        snapshot: async () => [total],
        range: async () =>
          Array.from({ length: counts.shift() ?? 3 }, (_, index) => ({
            pk: 'USER',
            sk: keys.idText(index + 1),
          })),
        scan: whole.scan,
      };
    }

    it.each([
      ['a wrong count that is not repeated', [4], 0],
      ['wrong counts that differ', [4, 5, 4, 2], 0],
      ['the same wrong count twice in a row', [4, 5, 5], 1],
    ])(
      'finds a wrong total only when two counts in a row return the same wrong number: %s',
      async (_, counts, findings) => {
        const seen = await survey(whole, () => undefined);
        seen.totals.INTEGRATION = 99;

        const verdict = await verifyTotal(tableThatCounts(...counts), seen, 'INTEGRATION');

        expect(verdict.findings).toHaveLength(findings);
      },
    );

    it('can rely on every creation and deletion to count as one change of its kind', async () => {
      const changesOf = async () => {
        const items = await Promise.all(
          (['USER', 'INTEGRATION', 'CONF'] as const).map((kind) =>
            gatehouse.table.get(totalKey(kind)),
          ),
        );
        return items.map((item) => (item?.changes as number | undefined) ?? 0);
      };
      const parameters = '/api/utm-integration-confs';
      let id = 0;
      const conf = () => ({ integration: { id }, confName: 'name', confValue: 'value' });
      const steps: [kinds: number[], make: () => Promise<unknown>][] = [
        [[1, 0, 0], () => gatehouse.makeUser('passing')],
        [[1, 0, 0], () => gatehouse.call('DELETE', '/api/users/passing', { token: admin })],
        [[0, 1, 0], async () => (id = await create())],
        [[0, 0, 1], () => gatehouse.call('POST', parameters, { token: admin, body: conf() })],
        [[0, 0, 1], () => gatehouse.call('POST', parameters, { token: admin, body: conf() })],
        [
          [0, 0, 1],
          () => gatehouse.call('DELETE', `${parameters}/${id * 1_000_000 + 1}`, { token: admin }),
        ],
        [[0, 1, 1], () => remove(id)],
      ];

      for (const [expected, make] of steps) {
        const before = await changesOf();
        await make();
        const after = await changesOf();
        expect(after.map((changes, index) => changes - (before[index] ?? 0))).toEqual(expected);
      }
    });
  });

  it('finds nothing in an intact table under concurrent changes', { timeout: 30_000 }, async () => {
    let over = false;
    let changes = 0;
    const busy = [users(0), users(1), integrations(0), integrations(1)];
    const found: unknown[] = [];
    const giveUpAt = Date.now() + 20_000;
    pageSize = 2;
    for (
      let verifications = 0;
      (verifications < 2 || changes < 30) && Date.now() < giveUpAt;
      verifications++
    ) {
      const { findings, undecided } = await verifyTable(whole);
      found.push(...findings.map(({ message: says }) => says), ...undecided);
    }
    pageSize = 100;
    over = true;
    await Promise.all(busy);

    expect(found).toEqual([]);
    expect(changes).toBeGreaterThanOrEqual(30);

    async function send(method: string, path: string, body?: object): Promise<{ id: number }> {
      const response = await gatehouse.call(method, path, { token: admin, body });
      expect(response.status, response.text).toBeLessThan(300);
      changes++;
      return response.body;
    }

    /** Creates, renames, moves, promotes, deactivates and deletes one user after the other. */
    async function users(worker: number): Promise<void> {
      for (let round = 0; !over; round++) {
        const login = `busy-${worker}-${round}`;
        const made = await send('POST', '/api/users', { login, email: `${login}@example.com` });
        const renamed = { ...made, login: `${login}-renamed` };
        await send('PUT', '/api/users', renamed);
        const promoted = {
          ...renamed,
          email: `${login}@elsewhere.com`,
          authorities: ['ROLE_ADMIN'],
        };
        await send('PUT', '/api/users', promoted);
        await send('PUT', '/api/users', { ...promoted, activated: false });
        await send('DELETE', `/api/users/${renamed.login}`);
      }
    }

    async function integrations(worker: number): Promise<void> {
      while (!over) {
        const body = { name: `busy ${worker}`, shortName: 'busy', integrationType: 'API' };
        const { id } = await send('POST', '/api/utm-integrations', body);
        const parameter = { integration: { id }, confName: 'name', confValue: 'value' };
        const { id: first } = await send('POST', '/api/utm-integration-confs', parameter);
        await send('POST', '/api/utm-integration-confs', parameter);
        await send('DELETE', `/api/utm-integration-confs/${first}`);
        await send('DELETE', `/api/utm-integrations/${id}`);
      }
    }
  });
});

describe('the daily verification', () => {
  async function runDaily(): Promise<{ code: number; stdout: string; stderr: string }> {
    const { endpoint, region, tableName } = gatehouse.cloud;
    const bundle = pathToFileURL(join(inject('assembly'), 'bundles/verify-table/index.mjs')).href;
    const script = `const { handler } = await import('${bundle}'); await handler({});`;
    const env = {
      ...process.env,
      TABLE_NAME: tableName,
      AWS_ENDPOINT_URL: endpoint,
      AWS_REGION: region,
      AWS_ACCESS_KEY_ID: OPERATOR.accessKeyId,
      AWS_SECRET_ACCESS_KEY: OPERATOR.secretAccessKey,
      AWS_SESSION_TOKEN: 'local',
    };
    return promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { env })
      .then((output) => ({ code: 0, ...output }))
      .catch((error) => error);
  }

  it('logs how many items it has verified', async () => {
    const { code, stdout } = await runDaily();

    expect({ code, ...JSON.parse(stdout) }).toEqual({
      code: 0,
      verified: intact.size,
      findings: 0,
      undecided: 0,
      oldestPendingRestartSeconds: 0,
    });
  });

  it('logs which restart has been pending longest', async () => {
    const module = { needsRestart: true, needsRestartSince: Date.now() - 90_000, changes: 1 };
    await applyDamage([entityKey('INTEGRATION', GATE), { module }]);

    const { code, stdout } = await runDaily();

    const { oldestPendingRestartId, oldestPendingRestartSeconds } = JSON.parse(stdout);
    expect([code, oldestPendingRestartId]).toEqual([0, GATE]);
    expect(oldestPendingRestartSeconds).toBeGreaterThanOrEqual(90);
    expect(oldestPendingRestartSeconds).toBeLessThan(120);
  });

  it('fails on findings, and logs only their kinds and numbers', async () => {
    await applyDamage(
      [loginGuardKey('alice'), 'deleted'],
      [emailGuardKey('someone@example.com'), { id: ALICE }],
    );

    const { code, stdout, stderr } = await runDaily();

    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      findings: 2,
      'login-guard-missing': 1,
      'email-guard-orphan': 1,
    });
    expect(stdout + stderr).not.toMatch(/alice|someone/);
  });
});
