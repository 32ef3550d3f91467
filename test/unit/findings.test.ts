import { inspect } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { credentialKey } from '../../lib/integrations/integration-items.ts';
import {
  type Finding,
  type FindingKind,
  keyLabel,
} from '../../lib/operations/integrity/finding.ts';
import { survey } from '../../lib/operations/integrity/survey.ts';
import {
  logVerification,
  requireIntact,
  verifyTable,
} from '../../lib/operations/integrity/verify-table.ts';
import { formatKey, NewerFormat, READABLE_FORMAT } from '../../lib/table/format.ts';
import { sequenceKey, totalKey } from '../../lib/table/item-kind.ts';
import { entityKey, type Key } from '../../lib/table/keys.ts';
import type { Item } from '../../lib/table/table.ts';
import { NotGatehouseTable } from '../../lib/table/wrong-table.ts';
import {
  emailGuardKey,
  identityGuardKey,
  loginGuardKey,
  rosterKey,
} from '../../lib/users/user-items.ts';
import { type InMemoryScanner, inMemoryScanner } from '../support/doubles/memory-table.ts';
import { printedBy } from '../support/doubles/output.ts';
import { INTACT_ITEMS } from '../support/doubles/stored-items.ts';
import { freezeClock } from '../support/doubles/time.ts';

/*
 * Tables that were damaged by hand, and what an operator reads about them.
 * test/api/integrity.test.ts makes the repairs in the real engine.
 */

const ADMIN = entityKey('USER', 1);
const USER = entityKey('USER', 2);
const ALICE = entityKey('USER', 3);
const GATE = entityKey('INTEGRATION', 4);
const GATE_ITEM = INTACT_ITEMS.find(({ pk }) => pk === GATE.pk);
const URL = entityKey('CONF', 4_000_007);
const KEY = entityKey('CONF', 4_000_009);
const GHOST = { pk: 'GHOST', sk: 'x' };
const CLIENT_ID = 'module-4-a1b2c3d4e5f6';
const FORMER = emailGuardKey('former@example.com');
const ALICES_LOGIN = loginGuardKey('alice');
const ALICES_EMAIL = emailGuardKey('älice@example.com');
const IDENTITY = { issuer: 'https://login.example.com', subject: 'a1' };
const IDENTITY_GUARD = identityGuardKey(IDENTITY.issuer, IDENTITY.subject);

type Damage = (table: InMemoryScanner) => void;
const put =
  (key: Key, attributes: Record<string, unknown>): Damage =>
  (table) =>
    table.put(key, attributes);
const removed =
  (key: Key): Damage =>
  (table) =>
    table.remove(key);

const linked = (key: Key) => put(key, { identities: [IDENTITY] });
const listed = (...clientIds: string[]) =>
  put(GATE, {
    credentials: clientIds.map((clientId) => ({ clientId, expires: '2100-01-01T00:00:00.000Z' })),
  });
const credential = (clientId: string, expires = 4_102_444_800): Damage =>
  put(credentialKey(clientId), { hash: 'h', expires });

/** A table with this damage, which changes after the scan, before any item is read again. */
function damaged(damages: readonly Damage[], changes: readonly Damage[] = []): InMemoryScanner {
  const table = inMemoryScanner(INTACT_ITEMS, (_, count, table) => {
    if (count === 1) for (const change of changes) change(table);
  });
  for (const damage of damages) damage(table);
  return table;
}

async function findingsIn(...damage: Parameters<typeof damaged>) {
  const { findings, undecided } = await verifyTable(damaged(...damage));
  expect(undecided).toEqual([]);
  return findings;
}
const kindsOf = (findings: readonly Finding[]) => findings.map(({ kind }) => kind);

const messageOf = ({ keys, message }: Finding) => `${keys.map(keyLabel)}: ${message}`;
const remedyOf = ({ remedy }: Finding) =>
  'advice' in remedy ? `advice: ${remedy.advice}` : `repair: ${remedy.description}`;

/** The damage to an intact table, the kinds of all findings, and changes after the scan. */
const CASES: [string, Damage[], FindingKind[], Damage[]?][] = [
  ['a login without its guard', [removed(ALICES_LOGIN)], ['login-guard-missing']],
  ['an email address without its guard', [removed(ALICES_EMAIL)], ['email-guard-missing']],
  ['a login whose guard names another user', [put(ALICES_LOGIN, { id: 2 })], ['login-guard-wrong']],
  [
    'an email address whose guard names a user that does not exist',
    [put(emailGuardKey('user@example.com'), { id: 999 })],
    ['email-guard-wrong'],
  ],
  ['a guard of an unused login', [put(loginGuardKey('former'), { id: 3 })], ['login-guard-orphan']],
  [
    'a guard of an unused email address that names a user that does not exist',
    [put(FORMER, { id: 999 })],
    ['email-guard-orphan'],
  ],
  [
    'a guard by another normalization rule',
    [put(ALICE, { email: 'alice@i\u0307.example' })],
    ['email-guard-missing', 'email-guard-orphan'],
  ],
  [
    'a login shared by two users',
    [put(ALICE, { login: 'user' }), removed(ALICES_LOGIN)],
    ['login-shared'],
  ],
  [
    'an email address shared by two users',
    [put(ALICE, { email: 'USER@example.com' }), removed(ALICES_EMAIL)],
    ['email-shared'],
  ],
  ['an identity without its guard', [linked(ALICE)], ['identity-guard-missing']],
  [
    'an identity whose guard names another user',
    [linked(ALICE), put(IDENTITY_GUARD, { id: 2 })],
    ['identity-guard-wrong'],
  ],
  [
    'a guard of an identity that nobody has',
    [put(IDENTITY_GUARD, { id: 3 })],
    ['identity-guard-orphan'],
  ],
  ['an identity shared by two users', [linked(ALICE), linked(USER)], ['identity-shared']],
  [
    'an administrator missing from the roster',
    [put(ALICE, { authorities: ['ROLE_USER', 'ROLE_ADMIN'] })],
    ['not-on-roster'],
  ],
  ['a missing roster', [removed(rosterKey)], ['not-on-roster']],
  [
    'a roster that names a non-administrator and a user that does not exist',
    [put(rosterKey, { ids: new Set([1, 2, 999]) })],
    ['wrongly-on-roster', 'wrongly-on-roster'],
  ],
  [
    'a roster that names only a deactivated administrator, who can leave it',
    [put(ADMIN, { activated: false })],
    ['wrongly-on-roster', 'nobody-administers'],
  ],
  [
    'a roster that names only a deactivated administrator, when another joins it after the scan',
    [put(ADMIN, { activated: false })],
    ['wrongly-on-roster'],
    [
      put(rosterKey, { ids: new Set([1, 3]) }),
      put(ALICE, { authorities: ['ROLE_ADMIN'], version: 'new' }),
    ],
  ],
  [
    'a roster that names only a non-administrator, where the repair adds before it removes',
    [put(rosterKey, { ids: new Set([2]) })],
    ['not-on-roster', 'wrongly-on-roster'],
  ],
  [
    'the lack of an administrator when the roster is empty',
    [put(ADMIN, { authorities: ['ROLE_USER'] }), put(rosterKey, { ids: undefined })],
    ['nobody-administers'],
  ],
  ['a total that is too low', [put(totalKey('USER'), { n: 1 })], ['wrong-total']],
  [
    'a total that is too high and has no change counter',
    [put(totalKey('INTEGRATION'), { n: 4, changes: undefined })],
    ['wrong-total'],
  ],
  ['a missing total', [removed(totalKey('INTEGRATION'))], ['wrong-total']],
  [
    'a sequence that would reuse ids of USER',
    [put(sequenceKey('USER'), { n: 2 })],
    ['sequence-behind'],
  ],
  ['a missing sequence', [removed(sequenceKey('INTEGRATION'))], ['sequence-behind']],
  ['a credential whose item is missing', [listed(CLIENT_ID)], ['credential-item-missing']],
  [
    'items of credentials that their integrations do not have',
    [
      ...[listed('module-4-0123456789ab'), credential('module-4-0123456789ab')],
      ...[CLIENT_ID, 'module-9-a1b2c3d4e5f6', 'unreadable'].map((id) => credential(id)),
    ],
    ['credential-orphan', 'credential-orphan', 'credential-orphan'],
  ],
  [
    'parameters without their integration',
    [removed(GATE), put(totalKey('INTEGRATION'), { n: 0 })],
    ['parameter-without-integration', 'parameter-without-integration'],
  ],
  ...[
    { parameterCount: 3 },
    { parameterCount: 1 },
    { parameterBytes: 29 },
    { parameterBytes: undefined },
    { parametersEver: 8 },
    { parametersEver: 20, parameterCount: 1 },
  ].map((counters): [string, Damage[], FindingKind[]] => [
    `an integration with the wrong counters ${inspect(counters)}`,
    [put(GATE, counters)],
    ['wrong-parameter-counters'],
  ]),
  [
    'an integration whose parameters are missing',
    [removed(URL), removed(KEY), put(totalKey('CONF'), { n: 0 })],
    ['wrong-parameter-counters'],
  ],
  [
    'an integration that counts fewer parameters ever than the number of its only one',
    [
      removed(URL),
      put(totalKey('CONF'), { n: 1 }),
      put(GATE, { parameterCount: 1, parameterBytes: 20, parametersEver: 8 }),
    ],
    ['wrong-parameter-counters'],
  ],
  [
    'a copy of a parameter under a key of another form, which is not counted',
    [
      put({ pk: 'CONF', sk: `${KEY.sk}-old` }, { id: 4_000_009, bytes: 20 }),
      put(GATE, { parameterCount: 1 }),
      put(totalKey('CONF'), { n: 7 }),
    ],
    ['unknown-item', 'wrong-parameter-counters', 'wrong-total'],
  ],
  [
    'items that the service cannot have created, of which no sequence is behind',
    [
      put({ pk: 'USER', sk: '9000000000' }, {}),
      put({ pk: 'INTEGRATION', sk: '1700000000000' }, {}),
      // New integrations could not own parameters.
      put({ pk: 'INTEGRATION', sk: '0001700000000000' }, {}),
    ],
    ['unknown-item', 'unknown-item', 'damaged-item', 'wrong-total'],
  ],
  [
    'a sequence behind a user whose id no integration with parameters could have',
    [put({ pk: 'USER', sk: '0001700000000000' }, {})],
    ['damaged-item', 'sequence-behind', 'wrong-total'],
  ],
  ['a user whose id differs from its key', [put(ALICE, { id: 30 })], ['wrong-id']],
];

describe('the verification finds', () => {
  it.each(CASES)('%s', async (_, damages, kinds, changes) => {
    expect(kindsOf(await findingsIn(damages, changes))).toEqual(kinds);
  });

  it('and describes each defect and its remedy in sentences', async () => {
    const found = await Promise.all(CASES.map(([, ...rest]) => findingsIn(rest[0], rest[2])));

    const [messages, remedies] = [found.flat().map(messageOf), found.flat().map(remedyOf)];
    // Messages that differ in numbers and in the kind of an entity only are listed once.
    const shapeOf = (text: string) => text.replaceAll(/\d+|USER|INTEGRATION|CONF/g, '');
    const distinct = new Map(messages.sort().map((message) => [shapeOf(message), message]));
    expect([...distinct.values()]).toMatchSnapshot();
    expect([...new Set(remedies)].sort()).toMatchSnapshot();
  });

  it('all kinds of defects, in the order in which repairs must be made', async () => {
    const findings = await findingsIn([
      put(GHOST, {}),
      removed(ALICES_LOGIN),
      put(FORMER, { id: 999 }),
      put(rosterKey, { ids: new Set([2]) }),
      put(GATE, { parameterCount: 7 }),
      ...(['USER', 'INTEGRATION'] as const).map((kind) => put(sequenceKey(kind), { n: 1 })),
      ...(['USER', 'INTEGRATION', 'CONF'] as const).map((kind) => put(totalKey(kind), { n: 7 })),
    ]);

    expect(findings.map(({ kind, keys }) => `${kind} ${keys.slice(0, 1).map(keyLabel)}`)).toEqual([
      'unknown-item GHOST / x',
      'login-guard-missing LOGIN#alice / GUARD',
      'email-guard-orphan EMAIL#former@example.com / GUARD',
      'not-on-roster USER / 0000000000000001',
      'wrongly-on-roster USER / 0000000000000002',
      'wrong-parameter-counters INTEGRATION / 0000000000000004',
      'sequence-behind SEQUENCE / USER',
      'sequence-behind SEQUENCE / INTEGRATION',
      'wrong-total TOTAL / USER',
      'wrong-total TOTAL / INTEGRATION',
      'wrong-total TOTAL / CONF',
    ]);
  });
});

describe('the verification finds nothing wrong with', () => {
  it.each<[string, Damage[], Damage[]?]>([
    [
      'a total that has become right since',
      [put(totalKey('USER'), { n: 4 })],
      [put(totalKey('USER'), { n: 3 })],
    ],
    ['a sequence that is ahead', [put(sequenceKey('USER'), { n: 4 })]],
    ['an integration that has had more parameters', [put(GATE, { parametersEver: 10 })]],
    [
      'parameters without a recorded size',
      [
        ...[URL, KEY].map((key) => put(key, { bytes: undefined })),
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
      'an item that was only damaged during the scan',
      [put(ALICE, { version: null })],
      [put(ALICE, { version: 'v3' })],
    ],
    ['an identity with its guard', [linked(ALICE), put(IDENTITY_GUARD, { id: 3 })]],
    ['a credential with its item', [listed(CLIENT_ID), credential(CLIENT_ID)]],
    ['a credential that was created since', [credential(CLIENT_ID)], [listed(CLIENT_ID)]],
    ['a credential that was deleted since', [listed(CLIENT_ID)], [listed()]],
    ['an expired item of a credential', [credential(CLIENT_ID, 1_000_000_000)]],
    [
      'an expired credential whose item is gone',
      [put(GATE, { credentials: [{ clientId: CLIENT_ID, expires: '2001-01-01' }] })],
    ],
    ['an unknown item that was deleted since', [put(GHOST, {})], [removed(GHOST)]],
    [
      'a guard whose user was damaged since',
      [removed(ALICES_LOGIN)],
      [put(ALICE, { version: null })],
    ],
    ['a guard that was claimed since', [removed(ALICES_LOGIN)], [put(ALICES_LOGIN, { id: 3 })]],
    ['a guard that was deleted since', [put(FORMER, { id: 3 })], [removed(FORMER)]],
    [
      'an administrator who joined the roster since',
      [put(ALICE, { authorities: ['ROLE_ADMIN'] })],
      [put(rosterKey, { ids: new Set([1, 3]) })],
    ],
    [
      'a non-administrator who left the roster since',
      [put(rosterKey, { ids: new Set([1, 2]) })],
      [put(rosterKey, { ids: new Set([1]) })],
    ],
    [
      'a sequence that has advanced since',
      [put(sequenceKey('USER'), { n: 1 })],
      [put(sequenceKey('USER'), { n: 7 })],
    ],
  ])('%s', async (_, damages, changes) => {
    expect(await findingsIn(damages, changes)).toEqual([]);
  });
});

describe('a damaged item', () => {
  const BROKEN = { version: null };
  it.each<[string, Damage[], FindingKind?]>([
    ['a user without a guard', [put(ALICE, BROKEN), removed(ALICES_LOGIN)]],
    ['the login of a user with guards', [put(ALICE, { login: null })]],
    ['a guard', [put(ALICES_LOGIN, { id: 'x' })]],
    ['a user that a guard names wrongly', [put(ALICES_LOGIN, { id: 2 }), put(USER, BROKEN)]],
    ['the roster', [put(rosterKey, { ids: 'x' })]],
    [
      'the roster of a table without an administrator',
      [put(rosterKey, { ids: 'x' }), put(ADMIN, { activated: false })],
    ],
    ['a user on the roster', [put(rosterKey, { ids: new Set([1, 2]) }), put(USER, BROKEN)]],
    ['a total', [put(totalKey('USER'), { n: 'x' })]],
    ['the changes of a wrong total', [put(totalKey('USER'), { n: 9, changes: 'x' })]],
    ['a sequence', [put(sequenceKey('USER'), { n: 'x' })]],
    ['an integration', [put(GATE, { ...BROKEN, parameterCount: 9 })]],
    ['an integration with credentials', [put(GATE, BROKEN), credential(CLIENT_ID)]],
    ['a credential', [listed(CLIENT_ID), put(credentialKey(CLIENT_ID), { hash: 1 })]],
    // Its bytes still count, so that the counters of its integration are right.
    ['a parameter', [put(URL, { confName: null })]],
    ['the only administrator', [put(ADMIN, BROKEN)], 'nobody-administers'],
  ])('causes no misleading findings elsewhere: %s', async (_, damages, ...more) => {
    expect(kindsOf(await findingsIn(damages))).toEqual(['damaged-item', ...more]);
  });
});

describe('verifyTable', () => {
  it.each<[string, Damage[]]>([
    ['intact', []],
    [
      'damaged',
      [put(ALICE, { version: null }), put(URL, { confName: null }), put(GATE, { name: null })],
    ],
  ])('counts the items of a table: %s', async (_, damages) => {
    const counts = { items: 18, users: 3, integrations: 1, parameters: 2 };
    expect(await verifyTable(damaged(damages))).toMatchObject(counts);
  });

  it.each<[string, () => InMemoryScanner, FindingKind[], Key[]]>([
    ['an intact table', () => damaged([listed(CLIENT_ID), credential(CLIENT_ID)]), [], []],
    ['an empty table', () => inMemoryScanner([]), ['nobody-administers'], [rosterKey]],
  ])('reads again only the sequences of %s, and what it reports', async (...row) => {
    const [, open, kinds, reported] = row;
    const table = open();

    const { findings, undecided } = await verifyTable(table);

    expect([kindsOf(findings), undecided]).toEqual([kinds, []]);
    const read = [...reported, sequenceKey('USER'), sequenceKey('INTEGRATION')];
    expect(table.reads).toEqual(read.map((key) => ({ keys: [key] })));
  });

  it.each<[string, Record<string, unknown>, typeof NotGatehouseTable | typeof NewerFormat]>([
    ['without a partition key', { sk: 'a' }, NotGatehouseTable],
    ['with a numeric sort key', { pk: 'a', sk: 1 }, NotGatehouseTable],
    ['of a newer format', { ...formatKey, format: READABLE_FORMAT + 1 }, NewerFormat],
  ])('verifies no table that has an item %s', async (_, item, error) => {
    const table = inMemoryScanner([...INTACT_ITEMS, item as Item]);

    await expect(verifyTable(table)).rejects.toThrow(error);
  });

  it('reports its progress after each page', async () => {
    const progress: number[] = [];

    await verifyTable(inMemoryScanner(INTACT_ITEMS.slice(0, 7)), (items) => progress.push(items));

    expect(progress).toEqual([3, 6, 7]);
  });

  it('reads no parameters of an integration whose id is too large to have any', async () => {
    const id = 9_007_199_255;
    const table = damaged([
      put(entityKey('INTEGRATION', id), { ...GATE_ITEM, id, parametersEver: 0 }),
      put(sequenceKey('INTEGRATION'), { n: id }),
      put(totalKey('INTEGRATION'), { n: 2 }),
    ]);

    const { findings } = await verifyTable(table);

    expect(findings.map(({ message }) => message)).toEqual([
      `Integration ${id} records 2 parameters with 30 bytes, 0 ever created, but has 0 with ` +
        '0 bytes and the highest number 0.',
    ]);
    expect(table.reads.filter((read) => 'pk' in read)).toEqual([]);
  });

  it('reads a guard together with at most 50 of the users that claim it', async () => {
    const users = Array.from({ length: 60 }, (_, index) => 100 + index);
    const table = inMemoryScanner(INTACT_ITEMS);
    for (const id of users) {
      const email = `u${id}@example.com`;
      table.put(entityKey('USER', id), { ...table.find(USER), id, login: 'same', email });
      table.put(emailGuardKey(email), { id });
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
    expect(kindsOf(findings)).toEqual(['login-shared']);
    expect(findings[0]?.message).toContain(`the users ${users.slice(0, 50).join(' and ')},`);
  });
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
    ['the one at the time 0', [1, 0, 1], { integrationId: 6, since: 0 }],
  ])('has waited the longest: %s', async (_, times, oldest) => {
    const modules = times.map((needsRestartSince) => ({
      needsRestart: true,
      needsRestartSince,
      changes: 1,
    }));

    expect(await oldestAmong(...modules)).toEqual(oldest);
  });

  it('is unknown without a time or without need of a restart, and if damaged', async () => {
    const modules = [
      undefined,
      { needsRestart: true, changes: 1 },
      { needsRestart: false, needsRestartSince: 1, changes: 1 },
      { needsRestart: true, needsRestartSince: 1 },
    ];

    expect(await oldestAmong(...modules)).toBeUndefined();
  });
});

it('a survey does not depend on the order of the items', async () => {
  const [forwards, backwards] = await Promise.all(
    [INTACT_ITEMS, INTACT_ITEMS.toReversed()].map((items) =>
      survey(inMemoryScanner(items), () => undefined),
    ),
  );

  expect(backwards?.highestIds).toEqual({ USER: 3, INTEGRATION: 4, CONF: 4_000_009 });
  const { counts } = forwards?.overview ?? {};
  expect(counts).toMatchObject({ users: 3, usersNeverLoggedIn: 3 });
  expect(backwards).toEqual({
    ...forwards,
    overview: { ...forwards?.overview, countedAt: backwards?.overview.countedAt },
  });
});

describe('the log line of a verification', () => {
  const NOW = Date.UTC(2026, 10, 22);
  const logged = async (damages: readonly Damage[] = [], undecided: string[] = []) => {
    freezeClock(NOW);
    const verification = await verifyTable(damaged(damages));
    const [line = ''] = await printedBy(() => logVerification({ ...verification, undecided }));
    return JSON.parse(line);
  };
  const INTACT = {
    verified: 18,
    findings: 0,
    undecided: 0,
    oldestPendingRestartSeconds: 0,
    modulesToWatch: 0,
    mailsNotSent: 0,
  };

  it('of an intact table has zeros, except for what was undecided', async () => {
    expect(await logged([], ['a total', 'another'])).toEqual({ ...INTACT, undecided: 2 });
  });

  it('is all that follows from what was undecided; a finding is an error', async () => {
    const undecided = ['a total'];
    const intact = { ...(await verifyTable(damaged([]))), undecided };
    const defective = await verifyTable(damaged([removed(ALICES_LOGIN)]));

    expect(() => requireIntact(intact)).not.toThrow();
    expect(() => requireIntact(defective)).toThrow('The table is not intact');
  });

  it('counts findings by kind, and has metrics for alarms', async () => {
    vi.stubEnv('METRICS_NAMESPACE', 'Gatehouse/test');
    const module = { needsRestart: true, needsRestartSince: NOW - 7_200_400, changes: 1 };

    const line = await logged([
      ...[ALICES_LOGIN, loginGuardKey('user'), emailGuardKey('user@example.com')].map(removed),
      put(GATE, { module, seen: new Date(NOW).toISOString() }),
    ]);

    const metricOf = (Name: string, Unit = 'Count') => ({
      Namespace: 'Gatehouse/test',
      Dimensions: [[]],
      Metrics: [{ Name, Unit }],
    });
    expect(line).toEqual({
      ...INTACT,
      verified: 15,
      findings: 3,
      'login-guard-missing': 2,
      'email-guard-missing': 1,
      oldestPendingRestartSeconds: 7200,
      oldestPendingRestartId: 4,
      modulesToWatch: 1,
      moduleToWatchId: 4,
      _aws: {
        Timestamp: NOW,
        CloudWatchMetrics: [
          metricOf('findings'),
          metricOf('oldestPendingRestartSeconds', 'Seconds'),
          metricOf('modulesToWatch'),
          metricOf('mailsNotSent'),
        ],
      },
    });
  });

  it.each([
    ['for more than an hour', 3_600_001, {}, 1],
    ['for an hour', 3_600_000, {}, 0],
    ['after an attempt to send it', 7_200_000, { counted: true }, 0],
    ['until it has expired', 7_200_000, { expires: NOW / 1000 }, 0],
  ])('counts a mail that waits %s as not sent: %d ms, %j', async (_, waited, changes, expected) => {
    const mail = put(
      { pk: 'MAIL#0000000000000004', sk: `${new Date(NOW - waited).toISOString()}#a1` },
      { occasion: 'invitation', expires: NOW / 1000 + 60, userId: 4, ...changes },
    );

    expect(await logged([mail])).toMatchObject({ findings: 0, mailsNotSent: expected });
  });
});
