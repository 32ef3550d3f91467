import { describe, expect, it } from 'vitest';
import type { Finding, FindingKind } from '../../lib/integrity/finding.ts';
import { survey } from '../../lib/integrity/survey.ts';
import { countByKind, verifyTable } from '../../lib/integrity/verify-table.ts';
import * as keys from '../../lib/table/keys.ts';
import { NotGatehouseTable } from '../../lib/table/not-gatehouse-table.ts';
import type { Item } from '../../lib/table/table.ts';
import { type InMemoryScanner, inMemoryScanner } from '../support/doubles/in-memory-scanner.ts';
import { INTACT_ITEMS } from '../support/instance/intact-items.ts';

/*
 * The complete findings in tables that were damaged by hand: the sentence, the keys, and each write
 * of the repair with its condition. test/api/integrity.test.ts makes the repairs in the real
 * engine.
 */

const { entityKey, loginGuardKey, emailGuardKey, rosterKey, totalKey, sequenceKey } = keys;
const ADMIN = entityKey('USER', 1);
const USER = entityKey('USER', 2);
const ALICE = entityKey('USER', 3);
const GATE = entityKey('INTEGRATION', 4);
const GATE_ITEM = INTACT_ITEMS.find(({ pk }) => pk === GATE.pk);
const URL = entityKey('CONF', 4_000_007);
const KEY = entityKey('CONF', 4_000_009);

type Damage = (table: InMemoryScanner) => void;

async function findingsIn(...damages: Damage[]): Promise<readonly Finding[]> {
  const table = inMemoryScanner(INTACT_ITEMS);
  for (const damage of damages) damage(table);
  const { findings, undecided } = await verifyTable(table);
  expect(undecided).toEqual([]);
  return findings;
}

const put =
  (key: keys.Key, attributes: Record<string, unknown>): Damage =>
  (table) =>
    table.put(key, attributes);
const removed =
  (key: keys.Key): Damage =>
  (table) =>
    table.remove(key);

/** The user has not changed since it was read. */
const isAs = (id: number, version: unknown = `v${id}`) => ({
  act: 'ConditionCheck',
  key: entityKey('USER', id),
  condition: '#version = :version',
  names: { '#version': 'version' },
  values: { ':version': version },
  onConditionFailed: 'retry',
});
const isAbsent = (id: number) => ({
  act: 'ConditionCheck',
  key: entityKey('USER', id),
  condition: 'attribute_not_exists(pk)',
  onConditionFailed: 'retry',
});
const joins = (id: number) => ({
  act: 'Update',
  key: rosterKey,
  update: 'ADD #ids :set',
  names: { '#ids': 'ids' },
  values: { ':set': new Set([id]) },
});
const leaves = (id: number) => ({
  act: 'Update',
  key: rosterKey,
  update: 'DELETE #ids :set',
  condition: 'contains(#ids, :id) AND size(#ids) > :one',
  names: { '#ids': 'ids' },
  values: { ':set': new Set([id]), ':id': id, ':one': 1 },
  onConditionFailed: 'retry',
});
const leavesEvenLast = (id: number) => ({
  ...leaves(id),
  condition: 'contains(#ids, :id)',
  values: { ':set': new Set([id]), ':id': id },
});
const removesGuard = (key: keys.Key, seen: number) => ({
  act: 'Delete',
  key,
  condition: '#id = :id',
  names: { '#id': 'id' },
  values: { ':id': seen },
  onConditionFailed: 'retry',
});
const renamesGuard = (key: keys.Key, seen: number, id: number) => ({
  act: 'Update',
  key,
  update: 'SET #set0 = :set0',
  condition: '#id = :id',
  names: { '#id': 'id', '#set0': 'id' },
  values: { ':id': seen, ':set0': id },
  onConditionFailed: 'retry',
});
const claims = (key: keys.Key, id: number) => ({
  act: 'Put',
  key,
  attributes: { id },
  condition: 'attribute_not_exists(pk)',
  onConditionFailed: 'retry',
});
const NO_ADMINISTRATOR: Finding = {
  kind: 'nobody-administers',
  keys: [rosterKey],
  message: 'No activated user has ROLE_ADMIN, so no user can grant it.',
  remedy: {
    advice:
      'no item tells which user should be an administrator; create one with `npm run first-admin`',
  },
};
const guardWithout = (key: keys.Key, id: number, why: string, check: object): object => ({
  kind: key.pk.startsWith('LOGIN#') ? 'login-guard-orphan' : 'email-guard-orphan',
  keys: [key],
  message: `${key.pk} / GUARD names user ${id}, who ${why}.`,
  remedy: { description: `removes ${key.pk} / GUARD`, writes: [removesGuard(key, id), check] },
});

const missingFromRoster = (id: number): object => ({
  kind: 'not-on-roster',
  keys: [entityKey('USER', id), rosterKey],
  message: `User ${id} is an administrator, but is not on the roster of administrators.`,
  remedy: { description: `adds user ${id} to the roster`, writes: [joins(id), isAs(id)] },
});
const wronglyOnRoster = (id: number, why: string, writes: object[]): object => ({
  kind: 'wrongly-on-roster',
  keys: [entityKey('USER', id), rosterKey],
  message: `The roster of administrators names user ${id}, who ${why}.`,
  remedy: { description: `removes user ${id} from the roster`, writes },
});
const wrongTotal = (
  kind: 'USER' | 'INTEGRATION' | 'CONF',
  total: number | 'absent',
  count: number,
  condition: string,
  values: object = {},
): object => {
  const amount = total === 'absent' ? count : count - total;
  return {
    kind: 'wrong-total',
    keys: [totalKey(kind)],
    message: `TOTAL / ${kind} is ${total}, but the table holds ${count}.`,
    remedy: {
      description: `adds ${amount} to TOTAL / ${kind}`,
      writes: [
        {
          act: 'Update',
          key: totalKey(kind),
          update: 'ADD #n :amount, #changes :one',
          condition,
          names: { '#n': 'n', '#changes': 'changes' },
          values: { ':amount': amount, ':one': 1, ...values },
          onConditionFailed: 'retry',
        },
      ],
    },
  };
};
const sequenceBehind = (
  kind: 'USER' | 'INTEGRATION',
  last: number | 'absent',
  highest: number,
): object => ({
  kind: 'sequence-behind',
  keys: [sequenceKey(kind)],
  message: `SEQUENCE / ${kind} is ${last}, but id ${highest} exists: ids would be assigned twice.`,
  remedy: {
    description: `sets SEQUENCE / ${kind} to ${highest}`,
    writes: [
      {
        act: 'Update',
        key: sequenceKey(kind),
        update: 'SET #set0 = :set0',
        condition: 'attribute_not_exists(#n) OR #n < :highest',
        names: { '#n': 'n', '#set0': 'n' },
        values: { ':highest': highest, ':set0': highest },
        onConditionFailed: 'retry',
      },
    ],
  },
});

/**
 * An intact table in which these changes are made after the scan, before the first item is read
 * again.
 */
const changedAfterScan = (...changes: Damage[]) =>
  inMemoryScanner(INTACT_ITEMS, (_, count, table) => {
    if (count === 1) for (const change of changes) change(table);
  });

describe('the oldest pending restart', () => {
  const oldestAmong = async (...modules: unknown[]) => {
    const table = inMemoryScanner(INTACT_ITEMS);
    for (const [index, module] of modules.entries()) {
      table.put(entityKey('INTEGRATION', 5 + index), { ...GATE_ITEM, id: 5 + index, module });
    }
    return (await verifyTable(table)).oldestPendingRestart;
  };

  it.each([
    ['the first', [3, 5, 4], { integrationId: 5, since: 3 }],
    ['the last', [5, 4, 3], { integrationId: 7, since: 3 }],
    ['that at the time 0', [1, 0, 1], { integrationId: 6, since: 0 }],
  ])('is that of the earliest time: %s', async (_, times, oldest) => {
    const modules = times.map((needsRestartSince) => ({
      needsRestart: true,
      needsRestartSince,
      changes: 1,
    }));

    expect(await oldestAmong(...modules)).toEqual(oldest);
  });

  it('is unknown without a time or without need of a restart, and if damaged', async () => {
    expect(
      await oldestAmong(
        undefined,
        { needsRestart: true, changes: 1 },
        { needsRestart: false, changes: 1 },
        { needsRestart: false, needsRestartSince: 1, changes: 1 },
        { needsRestart: true, needsRestartSince: 1 },
      ),
    ).toBeUndefined();
  });
});

describe('verifyTable', () => {
  it('counts the items of an intact table and finds nothing', async () => {
    expect(await verifyTable(inMemoryScanner(INTACT_ITEMS))).toEqual({
      items: 18,
      users: 3,
      integrations: 1,
      parameters: 2,
      findings: [],
      undecided: [],
    });
  });

  it('reads an intact table once', async () => {
    const table = inMemoryScanner(INTACT_ITEMS);

    await verifyTable(table);

    expect(table.reads).toEqual([
      { keys: [sequenceKey('USER')] },
      { keys: [sequenceKey('INTEGRATION')] },
    ]);
  });

  it('reports that an empty table has no administrator', async () => {
    expect(await verifyTable(inMemoryScanner([]))).toMatchObject({
      items: 0,
      users: 0,
      findings: [NO_ADMINISTRATOR],
    });
  });

  it.each<[string, Record<string, unknown>]>([
    ['no partition key', { sk: 'a' }],
    ['no sort key', { pk: 'a' }],
    ['a numeric partition key', { pk: 1, sk: 'a' }],
    ['a numeric sort key', { pk: 'a', sk: 1 }],
  ])('throws NotGatehouseTable for an item that has %s', async (_, item) => {
    const table = inMemoryScanner([...INTACT_ITEMS, item as Item]);

    await expect(verifyTable(table)).rejects.toThrow(NotGatehouseTable);
  });

  it('reports its progress after each page', async () => {
    const progress: number[] = [];

    await verifyTable(inMemoryScanner(INTACT_ITEMS.slice(0, 7)), (items) => progress.push(items));

    expect(progress).toEqual([3, 6, 7]);
  });
});

/** The damage to an intact table, and all findings that it causes. */
const CASES: [string, Damage[], object[]][] = [
  [
    'a login without its guard',
    [removed(loginGuardKey('alice'))],
    [
      {
        kind: 'login-guard-missing',
        keys: [loginGuardKey('alice'), ALICE],
        message: 'User 3 has a login whose guard LOGIN#alice / GUARD does not exist.',
        remedy: {
          description: 'claims LOGIN#alice / GUARD for user 3',
          writes: [claims(loginGuardKey('alice'), 3), isAs(3)],
        },
      },
    ],
  ],
  [
    'an email address without its guard',
    [removed(emailGuardKey('älice@example.com'))],
    [
      {
        kind: 'email-guard-missing',
        keys: [emailGuardKey('älice@example.com'), ALICE],
        message:
          'User 3 has an e-mail address whose guard EMAIL#älice@example.com / GUARD does ' +
          'not exist.',
        remedy: {
          description: 'claims EMAIL#älice@example.com / GUARD for user 3',
          writes: [claims(emailGuardKey('älice@example.com'), 3), isAs(3)],
        },
      },
    ],
  ],
  [
    'a login whose guard names another user',
    [put(loginGuardKey('alice'), { id: 2 })],
    [
      {
        kind: 'login-guard-wrong',
        keys: [loginGuardKey('alice'), ALICE],
        message: 'LOGIN#alice / GUARD names user 2, but should name user 3, whose login it guards.',
        remedy: {
          description: 'sets the user of LOGIN#alice / GUARD to 3',
          writes: [renamesGuard(loginGuardKey('alice'), 2, 3), isAs(3), isAs(2)],
        },
      },
    ],
  ],
  [
    'an email address whose guard names a user that does not exist',
    [put(emailGuardKey('user@example.com'), { id: 999 })],
    [
      {
        kind: 'email-guard-wrong',
        keys: [emailGuardKey('user@example.com'), USER],
        message:
          'EMAIL#user@example.com / GUARD names user 999, but should name user 2, whose ' +
          'e-mail address it guards.',
        remedy: {
          description: 'sets the user of EMAIL#user@example.com / GUARD to 2',
          writes: [renamesGuard(emailGuardKey('user@example.com'), 999, 2), isAs(2), isAbsent(999)],
        },
      },
    ],
  ],
  [
    'a guard of an unused login',
    [put(loginGuardKey('former'), { id: 3 })],
    [guardWithout(loginGuardKey('former'), 3, 'has another login', isAs(3))],
  ],
  [
    'a guard of an unused email address that names a user that does not exist',
    [put(emailGuardKey('former@example.com'), { id: 999 })],
    [guardWithout(emailGuardKey('former@example.com'), 999, 'does not exist', isAbsent(999))],
  ],
  [
    'a guard by another normalization rule',
    [
      put(emailGuardKey('älice@example.com'), { id: 3 }),
      put(ALICE, { email: 'alice@i\u0307.example' }),
    ],
    [
      {
        kind: 'email-guard-missing',
        keys: [emailGuardKey('alice@i.example'), ALICE],
        message: expect.stringContaining('EMAIL#alice@i.example / GUARD does not exist'),
        remedy: expect.anything(),
      },
      guardWithout(emailGuardKey('älice@example.com'), 3, 'has another e-mail address', isAs(3)),
    ],
  ],
  [
    'a login shared by two users',
    [put(ALICE, { login: 'user' }), removed(loginGuardKey('alice'))],
    [
      {
        kind: 'login-shared',
        keys: [loginGuardKey('user'), ALICE],
        message:
          'LOGIN#user / GUARD is the login of the users 3 and 2, but must belong to one ' +
          'of them only.',
        remedy: {
          advice:
            'decide which user keeps it, give each of the others another login in the ' +
            'table, then verify again',
        },
      },
    ],
  ],
  [
    'an email address shared by two users',
    [put(ALICE, { email: 'USER@example.com' }), removed(emailGuardKey('älice@example.com'))],
    [
      {
        kind: 'email-shared',
        keys: [emailGuardKey('user@example.com'), ALICE],
        message:
          'EMAIL#user@example.com / GUARD is the e-mail address of the users 3 and 2, ' +
          'but must belong to one of them only.',
        remedy: {
          advice:
            'decide which user keeps it, give each of the others another e-mail address ' +
            'in the table, then verify again',
        },
      },
    ],
  ],
  [
    'an administrator missing from the roster',
    [put(ALICE, { authorities: ['ROLE_USER', 'ROLE_ADMIN'] })],
    [missingFromRoster(3)],
  ],
  ['a missing roster', [removed(rosterKey)], [missingFromRoster(1)]],
  [
    'a roster that names a non-administrator and a user that does not exist',
    [put(rosterKey, { ids: new Set([1, 2, 999]) })],
    [
      wronglyOnRoster(2, 'is not an administrator', [leaves(2), isAs(2)]),
      wronglyOnRoster(999, 'does not exist', [leaves(999), isAbsent(999)]),
    ],
  ],
  [
    'a roster that names only a deactivated administrator',
    [put(ADMIN, { activated: false })],
    [wronglyOnRoster(1, 'is not an administrator', [leavesEvenLast(1), isAs(1)]), NO_ADMINISTRATOR],
  ],
  [
    'a roster that names only a non-administrator, where the repair adds before it removes',
    [put(rosterKey, { ids: new Set([2]) })],
    [missingFromRoster(1), wronglyOnRoster(2, 'is not an administrator', [leaves(2), isAs(2)])],
  ],
  [
    'a total that is too low',
    [put(totalKey('USER'), { n: 1 })],
    [wrongTotal('USER', 1, 3, '#n = :n AND #changes = :changes', { ':n': 1, ':changes': 3 })],
  ],
  [
    'a total that is too high and has no change counter',
    [put(totalKey('INTEGRATION'), { n: 4, changes: undefined })],
    [wrongTotal('INTEGRATION', 4, 1, '#n = :n AND attribute_not_exists(#changes)', { ':n': 4 })],
  ],
  [
    'a missing total',
    [removed(totalKey('CONF'))],
    [
      wrongTotal(
        'CONF',
        'absent',
        2,
        'attribute_not_exists(#n) AND attribute_not_exists(#changes)',
      ),
    ],
  ],
  [
    'a sequence that would reuse ids of USER',
    [put(sequenceKey('USER'), { n: 2 })],
    [sequenceBehind('USER', 2, 3)],
  ],
  [
    'a sequence that would reuse ids of INTEGRATION',
    [put(sequenceKey('INTEGRATION'), { n: 3 })],
    [sequenceBehind('INTEGRATION', 3, 4)],
  ],
  ['a missing sequence', [removed(sequenceKey('USER'))], [sequenceBehind('USER', 'absent', 3)]],
  [
    'parameters without their integration',
    [removed(GATE), put(totalKey('INTEGRATION'), { n: 0 })],
    [URL, KEY].map((key) => ({
      kind: 'parameter-without-integration',
      keys: [key, GATE],
      message: `Parameter CONF / ${key.sk} belongs to integration 4, which does not exist.`,
      remedy: {
        advice:
          'no other item holds the integration; restore it from a backup, or delete the ' +
          'parameter by hand and repair the total',
      },
    })),
  ],
  ...(
    [
      ['too many parameters', { parameterCount: 3 }, '3 parameters with 30 bytes, 9 ever created'],
      ['too few parameters', { parameterCount: 1 }, '1 parameter with 30 bytes, 9 ever created'],
      ['too few bytes', { parameterBytes: 29 }, '2 parameters with 29 bytes, 9 ever created'],
      ['too many bytes', { parameterBytes: 31 }, '2 parameters with 31 bytes, 9 ever created'],
      ['no bytes', { parameterBytes: undefined }, '2 parameters with 0 bytes, 9 ever created'],
      [
        'fewer than the highest number ever',
        { parametersEver: 8 },
        '2 parameters with 30 bytes, 8 ever created',
      ],
      [
        'more than the highest number ever',
        { parametersEver: 20, parameterCount: 1 },
        '1 parameter with 30 bytes, 20 ever created',
        20,
      ],
    ] as const
  ).map(([counted, attributes, counts, ever = 9]): [string, Damage[], object[]] => [
    `an integration that counts ${counted}`,
    [put(GATE, attributes)],
    [
      {
        kind: 'wrong-parameter-counters',
        keys: [GATE],
        message: `Integration 4 records ${counts}, but has 2 with 30 bytes and the highest number 9.`,
        remedy: {
          description:
            `sets the counters of integration 4 to 2 parameters with 30 bytes, ${ever} ` +
            'ever created',
          writes: [
            {
              act: 'Update',
              key: GATE,
              update: 'SET #set0 = :set0, #set1 = :set1, #set2 = :set2, #set3 = :set3',
              condition: '#revision = :revision',
              names: {
                '#revision': 'revision',
                '#set0': 'parameterCount',
                '#set1': 'parametersEver',
                '#set2': 'parameterBytes',
                '#set3': 'revision',
              },
              values: { ':revision': 6, ':set0': 2, ':set1': ever, ':set2': 30, ':set3': 7 },
              onConditionFailed: 'retry',
            },
          ],
        },
      },
    ],
  ]),
  [
    'an integration whose parameters are missing',
    [removed(URL), removed(KEY), put(totalKey('CONF'), { n: 0 })],
    [
      {
        kind: 'wrong-parameter-counters',
        keys: [GATE],
        message:
          'Integration 4 records 2 parameters with 30 bytes, 9 ever created, but has 0 ' +
          'with 0 bytes and the highest number 0.',
        remedy: {
          description:
            'sets the counters of integration 4 to 0 parameters with 0 bytes, 9 ever created',
          writes: [
            expect.objectContaining({
              values: expect.objectContaining({ ':set0': 0, ':set1': 9, ':set2': 0 }),
            }),
          ],
        },
      },
    ],
  ],
  [
    'an unknown item, and a user whose id differs from its key',
    [put({ pk: 'GHOST', sk: 'x' }, {}), put(ALICE, { id: 30 })],
    [
      {
        kind: 'unknown-item',
        keys: [{ pk: 'GHOST', sk: 'x' }],
        message: expect.any(String),
        remedy: expect.anything(),
      },
      { kind: 'wrong-id', keys: [ALICE], message: expect.any(String), remedy: expect.anything() },
    ],
  ],
];

describe('the verification finds', () => {
  it.each(CASES)('%s', async (_, damages, findings) => {
    expect(await findingsIn(...damages)).toEqual(findings);
  });

  it('the lack of an administrator when the roster is empty', async () => {
    const findings = await findingsIn(
      put(ADMIN, { authorities: ['ROLE_USER'] }),
      put(rosterKey, { ids: undefined }),
    );

    expect(findings).toEqual([NO_ADMINISTRATOR]);
  });

  it('all kinds of defects, in the order in which repairs must be made', async () => {
    const findings = await findingsIn(
      put({ pk: 'GHOST', sk: 'x' }, {}),
      removed(loginGuardKey('alice')),
      put(emailGuardKey('former@example.com'), { id: 999 }),
      put(rosterKey, { ids: new Set([2]) }),
      put(GATE, { parameterCount: 7 }),
      put(sequenceKey('USER'), { n: 1 }),
      put(sequenceKey('INTEGRATION'), { n: 1 }),
      put(totalKey('USER'), { n: 7 }),
      put(totalKey('INTEGRATION'), { n: 7 }),
      put(totalKey('CONF'), { n: 7 }),
    );

    expect(findings.map(({ kind, keys: [key] }) => `${kind} ${key?.pk}/${key?.sk}`)).toEqual([
      'unknown-item GHOST/x',
      'login-guard-missing LOGIN#alice/GUARD',
      'email-guard-orphan EMAIL#former@example.com/GUARD',
      'not-on-roster USER/0000000000000001',
      'wrongly-on-roster USER/0000000000000002',
      'wrong-parameter-counters INTEGRATION/0000000000000004',
      'sequence-behind SEQUENCE/USER',
      'sequence-behind SEQUENCE/INTEGRATION',
      'wrong-total TOTAL/USER',
      'wrong-total TOTAL/INTEGRATION',
      'wrong-total TOTAL/CONF',
    ]);
  });
});

it('a missing total is a finding even with a single item', async () => {
  const findings = await findingsIn(removed(totalKey('INTEGRATION')));

  expect(findings.map(({ message }) => message)).toEqual([
    'TOTAL / INTEGRATION is absent, but the table holds 1.',
  ]);
});

it.each([
  ['USER', '9000000000', ['unknown-item']],
  ['INTEGRATION', '1700000000000', ['unknown-item']],
  ['CONF', `${KEY.sk}-old`, ['unknown-item']],
  // New integrations could not own parameters.
  ['INTEGRATION', '0001700000000000', ['damaged-item', 'wrong-total']],
])(
  'the sequence is not behind an item %s / %s that the service cannot have created',
  async (pk, sk, kinds) => {
    const findings = await findingsIn(put({ pk, sk }, {}));

    expect(findings.map(({ kind }) => kind)).toEqual(kinds);
  },
);

it('a copy of a parameter under a key of another form is not counted', async () => {
  const findings = await findingsIn(
    put(
      { pk: 'CONF', sk: `${KEY.sk}-old` },
      { id: 4_000_009, confName: 'key', version: 'q', bytes: 20 },
    ),
    put(GATE, { parameterCount: 1 }),
    put(totalKey('CONF'), { n: 7 }),
  );

  expect(findings.map(({ message }) => message)).toEqual([
    'CONF / 0000000004000009-old is of a kind that this version does not know.',
    'Integration 4 records 1 parameter with 30 bytes, 9 ever created, but has 2 with 30 ' +
      'bytes and the highest number 9.',
    'TOTAL / CONF is 7, but the table holds 2.',
  ]);
});

it('a missing sequence is a finding even with a single user', async () => {
  const first = INTACT_ITEMS.filter(
    ({ pk, sk, id }) => sk === 'ROSTER' || (id === 1 && /^(USER|LOGIN|EMAIL)/.test(pk)),
  );
  const table = inMemoryScanner([...first, { ...totalKey('USER'), n: 1 }]);

  expect((await verifyTable(table)).findings.map(({ message }) => message)).toEqual([
    'SEQUENCE / USER is absent, but id 1 exists: ids would be assigned twice.',
  ]);
});

describe('the verification finds nothing wrong with', () => {
  it.each([
    ['a sequence that is ahead', [put(sequenceKey('USER'), { n: 4 })]],
    ['an integration that has had more parameters', [put(GATE, { parametersEver: 10 })]],
    [
      'parameters without a recorded size',
      [
        put(URL, { bytes: undefined }),
        put(KEY, { bytes: undefined }),
        put(GATE, { parameterBytes: undefined }),
      ],
    ],
    [
      'a missing total where there is nothing to count',
      [
        ...[URL, KEY, totalKey('CONF')].map(removed),
        put(GATE, { parameterCount: 0, parameterBytes: 0 }),
      ],
    ],
    [
      'an integration whose id is too large to have parameters',
      [
        put(entityKey('INTEGRATION', 9_007_199_255), {
          id: 9_007_199_255,
          name: 'Far',
          shortName: 'far',
          integrationType: 'API',
          active: true,
          parameterCount: 0,
          parametersEver: 0,
          version: 'f',
          revision: 0,
        }),
        put(sequenceKey('INTEGRATION'), { n: 9_007_199_255 }),
        put(totalKey('INTEGRATION'), { n: 2 }),
      ],
    ],
    [
      'a guard by the former normalization rule for a user claimed under it',
      [
        put(ALICE, { email: 'alice@I\u0307.example', emailKeyRule: undefined }),
        removed(emailGuardKey('älice@example.com')),
        put(emailGuardKey('alice@i\u0307.example'), { id: 3 }),
      ],
    ],
  ] as [string, Damage[]][])('%s', async (_, damages) => {
    expect(await findingsIn(...damages)).toEqual([]);
  });
});

describe('a damaged item', () => {
  const BROKEN = { version: null };
  it.each<[string, Damage[], FindingKind[]]>([
    [
      'a user without a guard',
      [put(ALICE, BROKEN), removed(loginGuardKey('alice'))],
      ['damaged-item'],
    ],
    ['a user with guards', [put(ALICE, BROKEN)], ['damaged-item']],
    ['the login of a user with guards', [put(ALICE, { login: null })], ['damaged-item']],
    ['the email address of a user with guards', [put(ALICE, { email: null })], ['damaged-item']],
    ['a guard', [put(loginGuardKey('alice'), { id: 'x' })], ['damaged-item']],
    [
      'a user that a guard names wrongly',
      [put(loginGuardKey('alice'), { id: 2 }), put(USER, BROKEN)],
      ['damaged-item'],
    ],
    ['the roster', [put(rosterKey, { ids: 'x' })], ['damaged-item']],
    [
      'the roster of a table without an administrator',
      [put(rosterKey, { ids: 'x' }), put(ADMIN, { activated: false })],
      ['damaged-item'],
    ],
    [
      'a user on the roster',
      [put(rosterKey, { ids: new Set([1, 2]) }), put(USER, BROKEN)],
      ['damaged-item'],
    ],
    ['a total', [put(totalKey('USER'), { n: 'x' })], ['damaged-item']],
    [
      'the changes of a wrong total',
      [put(totalKey('USER'), { n: 9, changes: 'x' })],
      ['damaged-item'],
    ],
    ['a sequence', [put(sequenceKey('USER'), { n: 'x' })], ['damaged-item']],
    ['an integration', [put(GATE, { ...BROKEN, parameterCount: 9 })], ['damaged-item']],
    // Its bytes still count, so that the counters of its integration are right.
    ['a parameter', [put(URL, { confName: null })], ['damaged-item']],
    ['the only administrator', [put(ADMIN, BROKEN)], ['damaged-item', 'nobody-administers']],
  ])('causes no misleading findings elsewhere: %s', async (_, damages, kinds) => {
    expect((await findingsIn(...damages)).map(({ kind }) => kind)).toEqual(kinds);
  });

  it('is still counted', async () => {
    const table = inMemoryScanner(INTACT_ITEMS);
    table.put(ALICE, { version: null });
    table.put(URL, { confName: null });
    table.put(GATE, { name: null });

    const { items, users, integrations, parameters } = await verifyTable(table);

    expect({ items, users, integrations, parameters }).toEqual({
      items: 18,
      users: 3,
      integrations: 1,
      parameters: 2,
    });
  });

  it('is read again, so that a transient state is not reported', async () => {
    const table = changedAfterScan(put(ALICE, { version: 'v3' }));
    table.put(ALICE, { version: null });
    const removedSince = inMemoryScanner(
      [...INTACT_ITEMS, { pk: 'GHOST', sk: 'x' }],
      (_, count, table) => {
        if (count === 1) table.remove({ pk: 'GHOST', sk: 'x' });
      },
    );

    expect((await verifyTable(table)).findings).toEqual([]);
    expect((await verifyTable(removedSince)).findings).toEqual([]);
  });
});

describe('survey', () => {
  it('returns zeros and empty collections for an empty table', async () => {
    const none = { USER: 0, INTEGRATION: 0, CONF: 0 };

    expect(await survey(inMemoryScanner([]), () => undefined)).toEqual({
      items: 0,
      counts: none,
      highestIds: none,
      totals: none,
      defective: [],
      users: new Map(),
      guards: new Map(),
      integrations: new Map(),
      roster: new Set(),
      parameters: new Map(),
    });
  });

  it('finds the highest ids in any order of items', async () => {
    const { highestIds } = await survey(
      inMemoryScanner([...INTACT_ITEMS].reverse()),
      () => undefined,
    );

    expect(highestIds).toEqual({ USER: 3, INTEGRATION: 4, CONF: 4_000_009 });
  });

  it('keeps only the attributes that the rules compare', async () => {
    const table = inMemoryScanner(INTACT_ITEMS);
    table.put(ALICE, { passwordHash: 'secret', firstName: 'Alice' });
    table.put({ pk: 'USER', sk: 'x' }, {});
    table.put({ pk: 'USER', sk: '9007199254740993' }, {});

    const seen = await survey(table, () => undefined);

    const user = (id: number, login: string, email: string, ...authorities: string[]) => [
      id,
      { id, login, email, authorities, emailKeyRule: 'UTS46', activated: true, version: `v${id}` },
    ];
    expect(seen).toEqual({
      items: 20,
      counts: { USER: 3, INTEGRATION: 1, CONF: 2 },
      highestIds: { USER: 3, INTEGRATION: 4, CONF: 4_000_009 },
      totals: { USER: 3, INTEGRATION: 1, CONF: 2 },
      defective: [
        { pk: 'USER', sk: 'x' },
        { pk: 'USER', sk: '9007199254740993' },
      ],
      users: new Map([
        user(1, 'admin', 'admin@example.com', 'ROLE_ADMIN', 'ROLE_USER'),
        user(2, 'user', 'user@example.com', 'ROLE_USER'),
        user(3, 'alice', 'Älice@Example.com', 'ROLE_USER'),
      ] as [number, object][]),
      guards: new Map([
        ['LOGIN#admin', 1],
        ['LOGIN#user', 2],
        ['LOGIN#alice', 3],
        ['EMAIL#admin@example.com', 1],
        ['EMAIL#user@example.com', 2],
        ['EMAIL#älice@example.com', 3],
      ]),
      integrations: new Map([[4, { parameterCount: 2, parametersEver: 9, parameterBytes: 30 }]]),
      roster: new Set([1]),
      parameters: new Map([[4, { count: 2, highest: 9, bytes: 30 }]]),
    });
  });

  it('does not depend on the order of the items', async () => {
    const [forwards, backwards] = await Promise.all(
      [INTACT_ITEMS, INTACT_ITEMS.toReversed()].map((items) =>
        survey(inMemoryScanner(items), () => undefined),
      ),
    );

    expect(backwards?.highestIds).toEqual({ USER: 3, INTEGRATION: 4, CONF: 4_000_009 });
    expect(backwards).toEqual(forwards);
  });
});

it('parameters are not read for an integration whose id is too large to have any', async () => {
  const key = entityKey('INTEGRATION', 9_007_199_255);
  const table = inMemoryScanner(INTACT_ITEMS);
  table.put(key, {
    ...table.find(GATE),
    id: 9_007_199_255,
    parameterCount: 1,
    parametersEver: 0,
    parameterBytes: 0,
  });
  table.put(sequenceKey('INTEGRATION'), { n: 9_007_199_255 });
  table.put(totalKey('INTEGRATION'), { n: 2 });

  const { findings } = await verifyTable(table);

  expect(findings.map(({ message }) => message)).toEqual([
    'Integration 9007199255 records 1 parameter with 0 bytes, 0 ever created, but has 0 ' +
      'with 0 bytes and the highest number 0.',
  ]);
  expect(table.reads.filter((read) => 'pk' in read)).toEqual([]);
});

describe('a guard', () => {
  it('is not reported when its user was damaged after the scan', async () => {
    const table = changedAfterScan(put(ALICE, { version: null }));
    table.remove(loginGuardKey('alice'));

    expect((await verifyTable(table)).findings).toEqual([]);
  });

  it('is read together with at most 50 of the users that claim it', async () => {
    const users = Array.from({ length: 60 }, (_, index) => 100 + index);
    const table = inMemoryScanner(INTACT_ITEMS);
    for (const id of users) {
      table.put(entityKey('USER', id), {
        ...table.find(USER),
        id,
        login: 'same',
        email: `u${id}@example.com`,
      });
      table.put(emailGuardKey(`u${id}@example.com`), { id });
    }
    table.put(loginGuardKey('same'), { id: 2 });
    table.put(totalKey('USER'), { n: 63 });
    table.put(sequenceKey('USER'), { n: 200 });

    const { findings } = await verifyTable(table);

    const together = table.reads.flatMap((read) =>
      'keys' in read && read.keys.length > 1 ? [read.keys] : [],
    );
    const first = users.slice(0, 50).map((id) => entityKey('USER', id));
    // The second read includes the user that the guard names.
    expect(together).toEqual([
      [loginGuardKey('same'), ...first],
      [loginGuardKey('same'), ...first, USER],
    ]);
    expect(findings.map(({ kind }) => kind)).toEqual(['login-shared']);
    expect(findings[0]?.message).toContain(`the users ${users.slice(0, 50).join(' and ')},`);
  });

  it('is not reported when a read together with its user finds it correct', async () => {
    const table = changedAfterScan(put(loginGuardKey('alice'), { id: 3 }));
    table.remove(loginGuardKey('alice'));

    expect((await verifyTable(table)).findings).toEqual([]);
  });

  it('is not reported when it was deleted after the scan', async () => {
    const table = changedAfterScan(removed(loginGuardKey('former')));
    table.put(loginGuardKey('former'), { id: 3 });

    expect((await verifyTable(table)).findings).toEqual([]);
  });
});

describe('the roster', () => {
  it('is not reported when a read together with its user finds it correct', async () => {
    const joined = changedAfterScan(put(rosterKey, { ids: new Set([1, 3]) }));
    joined.put(ALICE, { authorities: ['ROLE_ADMIN'] });
    const left = changedAfterScan(put(rosterKey, { ids: new Set([1]) }));
    left.put(rosterKey, { ids: new Set([1, 2]) });

    expect((await verifyTable(joined)).findings).toEqual([]);
    expect((await verifyTable(left)).findings).toEqual([]);
  });

  it('counts an administrator who was added after the scan', async () => {
    const table = changedAfterScan(
      put(rosterKey, { ids: new Set([1, 3]) }),
      put(ALICE, { authorities: ['ROLE_ADMIN'], version: 'new' }),
    );
    table.put(ADMIN, { activated: false });

    const { findings } = await verifyTable(table);

    expect(findings.map(({ kind, remedy }) => [kind, remedy])).toEqual([
      [
        'wrongly-on-roster',
        { description: 'removes user 1 from the roster', writes: [leaves(1), isAs(1)] },
      ],
    ]);
  });
});

describe('findings', () => {
  it('are counted by kind', async () => {
    const findings = await findingsIn(
      ...[loginGuardKey('alice'), loginGuardKey('user'), emailGuardKey('user@example.com')].map(
        removed,
      ),
    );

    expect(countByKind(findings)).toEqual({ 'login-guard-missing': 2, 'email-guard-missing': 1 });
    expect(countByKind([])).toEqual({});
  });
});
