import { KMSClient } from '@aws-sdk/client-kms';
import { describe, expect, it } from 'vitest';
import { Failure } from '../../lib/contract/failure.ts';
import { emailGuardKey, entityKey, type Key, loginGuardKey } from '../../lib/table/keys.ts';
import type { Item, Table } from '../../lib/table/table.ts';
import { EXISTS, set, type Write } from '../../lib/table/write.ts';
import { importRecords } from '../../lib/transfer/import-records.ts';
import { bcryptHash, integrationRecord, userRecord } from '../support/commands/transfer.ts';
import { cancelledBy } from '../support/doubles/aws-errors.ts';
import { memoryTable } from '../support/doubles/memory-table.ts';
import { waitMicrotasks } from '../support/doubles/microtasks.ts';
import { scriptedClient } from '../support/doubles/scripted-client.ts';

const PEPPER_KEY = 'arn:aws:kms:eu-central-1:111122223333:key/current-key';
const argon2Hash = (key: string) =>
  `$argon2id$v=19$m=8,t=1,p=1,keyid=${key}$${'a'.repeat(22)}$${'b'.repeat(43)}`;

const secondsFromNow = (seconds: number): string =>
  new Date(Date.now() + seconds * 1000).toISOString();

const DATA_KEY = {
  Plaintext: Buffer.alloc(32).toString('base64'),
  CiphertextBlob: Buffer.alloc(9).toString('base64'),
};
const kmsWithDataKeys = () => new KMSClient(scriptedClient(DATA_KEY, DATA_KEY).settings);

async function importLines(
  texts: readonly (object | string | Buffer)[],
  table: Table = memoryTable(),
  kms = new KMSClient({ region: 'eu-central-1' }),
  options: { apply?: boolean; again?: boolean } = {},
) {
  const rejected: string[] = [];
  const skipped: string[] = [];
  const progress: number[] = [];
  /** The number of lines that were read when each record had been carried out. */
  const linesRead: number[] = [];
  let read = 0;
  const lines = (async function* () {
    for (const text of texts) {
      read++;
      if (text instanceof Buffer) yield text;
      else yield Buffer.from(typeof text === 'string' ? text : JSON.stringify(text));
    }
  })();
  const tally = await importRecords(
    {
      table,
      pepperKeys: [PEPPER_KEY],
      valuesKey: 'values-key',
      kms,
    },
    lines,
    {
      apply: true,
      again: false,
      ...options,
      onSkipped: (line, outcome, name) => skipped.push(`${line} ${outcome} ${name}`),
      onRejected: (line, errors) =>
        rejected.push(
          `${line} ${errors.map(({ field, code }) => [field, code].filter(Boolean).join(' ')).join(', ')}`,
        ),
      onProgress: (records) => {
        progress.push(records);
        linesRead.push(read);
      },
    },
  );
  return { tally, rejected, skipped, progress, linesRead };
}

describe('a record is rejected', () => {
  it.each<[string, object | string | Buffer, string]>([
    ['that is not JSON', '{"type":"user"', 'malformed'],
    [
      'that is not in UTF-8',
      Buffer.from(JSON.stringify(userRecord('ann', { firstName: 'Zoë' })), 'latin1'),
      'malformed',
    ],
    ['that is an array', '[]', 'malformed'],
    ['that is null', 'null', 'malformed'],
    [
      'with a key twice',
      JSON.stringify(userRecord('ann')).replace('{', '{"login":"bob",'),
      'malformed',
    ],
    ['without a type', {}, 'type NotNull'],
    ['of an unknown type', { type: 'group' }, 'type Pattern'],
    ['without login and address', { type: 'user' }, 'login NotNull, email NotNull'],
    ['with null as its login', userRecord('ann', { login: null }), 'login NotNull'],
    ['with an id', userRecord('ann', { id: 7 }), 'id UnknownField'],
    ['with a password', userRecord('ann', { password: 'pass' }), 'password UnknownField'],
    [
      'with an unknown role',
      userRecord('ann', { authorities: ['ROLE_USER', 'ROLE_ROOT'] }),
      'authorities.1 Pattern',
    ],
    ['with a reserved login', userRecord('authorities'), 'login Pattern'],
    ['with the login of the operator', userRecord('SYSTEM'), 'login login-taken'],
    [
      'with a local time',
      userRecord('ann', { createdDate: '2019-03-04T05:06:07' }),
      'createdDate Pattern',
    ],
    [
      'with a day that does not exist',
      userRecord('ann', { createdDate: '2019-02-30T05:06:07Z' }),
      'createdDate Pattern',
    ],
    [
      'with dates outside of the years 0 to 9999',
      userRecord('ann', {
        createdDate: '9999-12-31T23:59:59-14:00',
        lastModifiedDate: '0000-01-01T00:00:00+14:00',
      }),
      'createdDate Pattern, lastModifiedDate Pattern',
    ],
    [
      'with a date that cannot be read',
      userRecord('ann', { createdDate: '2019-03-04T05:06:07+01' }),
      'createdDate Pattern',
    ],
    [
      'with dates in the future',
      userRecord('ann', {
        createdDate: secondsFromNow(90),
        lastModifiedDate: '2999-01-01T00:00:00Z',
      }),
      'createdDate Pattern, lastModifiedDate Pattern',
    ],
    [
      'with an unreadable hash',
      userRecord('ann', { passwordHash: 'secret' }),
      'passwordHash Pattern',
    ],
    [
      'with a bcrypt hash of cost 13',
      userRecord('ann', { passwordHash: bcryptHash('pass').replace('$04$', '$13$') }),
      'passwordHash Pattern',
    ],
    [
      'with a hash under another key',
      userRecord('ann', { passwordHash: argon2Hash('former-key') }),
      'passwordHash other-pepper-key',
    ],
    [
      'with an unknown integration type',
      { ...integrationRecord('a'), integrationType: 'X' },
      'integrationType Pattern',
    ],
    ['with an empty value', integrationRecord('a', ['a', '']), 'parameters.1.confValue NotBlank'],
    [
      'with a parameter that is not an object',
      { ...integrationRecord('a'), parameters: ['a'] },
      'parameters.0 TypeMismatch',
    ],
    [
      'with 91 parameters',
      integrationRecord('a', Array(91).fill('a')),
      'parameters too-many-parameters',
    ],
    [
      'with too large parameters',
      integrationRecord('a', Array(12).fill('a'.repeat(16_384))),
      'parameters parameters-too-large',
    ],
    [
      'with too large descriptions',
      {
        ...integrationRecord('a'),
        parameters: Array(90).fill({
          confName: 'a',
          confValue: 'a',
          confDescription: '😀'.repeat(600),
        }),
      },
      'parameters parameters-too-large',
    ],
  ])('%s', async (_, record, errors) => {
    const table = memoryTable();

    const { tally, rejected } = await importLines([record], table);

    expect(rejected).toEqual([`1 ${errors}`]);
    expect(tally).toEqual({ imported: 0, present: 0, changed: 0, removed: 0, rejected: 1 });
    expect([table.transactions, table.updates]).toEqual([[], []]);
  });

  it('only if its date exceeds the difference of two clocks', async () => {
    const { rejected } = await importLines([
      userRecord('ann', { createdDate: secondsFromNow(30) }),
    ]);

    expect(rejected).toEqual([]);
  });

  it('whose mailbox is held under the former rule', async () => {
    const table = memoryTable([{ ...emailGuardKey('b@xn--strae-oqa.example'), id: 9 }]);

    const { rejected } = await importLines(
      [
        userRecord('ann', { email: 'a@straße.example' }),
        userRecord('bob', { email: 'b@straße.example' }),
      ],
      table,
    );

    expect(rejected).toEqual(['2 email email-taken']);
  });

  it('whose login is held by a user with another login', async () => {
    const user = { ...entityKey('USER', 9), id: 9, login: 'bob', email: 'ann@old.example' };
    const table = memoryTable([{ ...loginGuardKey('ann'), id: 9 }, user]);

    expect((await importLines([userRecord('ann')], table)).rejected).toEqual([
      '1 login login-taken',
    ]);
  });

  it.each([
    ['LOGIN#', 'login login-taken'],
    ['EMAIL#', 'email email-taken'],
  ])('when its %s guard has been claimed since it was looked up', async (pk, errors) => {
    const table = memoryTable();
    const racing: Table = {
      ...table,
      async transact(writes) {
        throw cancelledBy(
          ...writes.map(({ key }) => (key.pk.startsWith(pk) ? 'ConditionalCheckFailed' : 'None')),
        );
      },
    };

    expect((await importLines([userRecord('ann')], racing)).rejected).toEqual([`1 ${errors}`]);
  });
});

describe('an import', () => {
  it('claims nothing for a record that contradicts the table', async () => {
    const table = memoryTable([{ ...emailGuardKey('taken@old.example'), id: 9 }]);

    const { tally, rejected } = await importLines(
      [userRecord('ann', { email: 'taken@old.example' }), userRecord('ann')],
      table,
    );

    expect([tally.imported, rejected]).toEqual([1, ['1 email email-taken']]);
  });

  it('rejects a second record for the mailbox of another one of the same file', async () => {
    const records = ['ann', 'bob'].map((login) => userRecord(login, { email: 'a@old.example' }));

    expect((await importLines(records)).rejected).toEqual(['2 email email-taken']);
  });

  it('rejects a repetition of a record of the same file', async () => {
    const table = memoryTable();
    const records = [...Array(150).keys()].map((index) => userRecord(`user-${index}`));

    const first = await importLines([...records, records[0] as object], table);
    const second = await importLines([...records, records[0] as object], table);

    expect(first.tally).toMatchObject({ imported: 150, present: 0, rejected: 1 });
    expect(second.tally).toMatchObject({ imported: 0, present: 150, rejected: 1 });
    expect([first.rejected, second.rejected]).toEqual([
      ['151 login login-taken'],
      ['151 login login-taken'],
    ]);
  });

  it('counts blank lines as lines but not as records', async () => {
    const { rejected, progress } = await importLines(['', userRecord('ann'), ' ', 'malformed', '']);

    expect([rejected, progress]).toEqual([['4 malformed'], [1, 2]]);
  });

  it('accepts a hash of the same service', async () => {
    const table = memoryTable();

    const { tally } = await importLines(
      [userRecord('ann', { passwordHash: argon2Hash('current-key') })],
      table,
    );

    expect(tally.imported).toBe(1);
    expect(table.find(entityKey('USER', 1001))?.passwordHash).toBe(argon2Hash('current-key'));
  });

  it('stores no hash for a user whose hash is null', async () => {
    const table = memoryTable();

    const { tally } = await importLines([userRecord('ann', { passwordHash: null })], table);

    expect(tally.imported).toBe(1);
    expect(table.find(entityKey('USER', 1001))?.passwordHash).toBeUndefined();
  });

  it.each<[object, object]>([
    [{}, { createdBy: 'system', lastModifiedBy: 'system' }],
    [{ createdBy: 'eve' }, { createdBy: 'eve', lastModifiedBy: 'eve' }],
    [{ lastModifiedBy: 'eve' }, { createdBy: 'system', lastModifiedBy: 'eve' }],
    [
      { createdDate: '2019-03-04T05:06:07.000Z' },
      {
        createdDate: '2019-03-04T05:06:07.000Z',
        lastModifiedDate: '2019-03-04T05:06:07.000Z',
      },
    ],
    [
      { createdDate: '2019-03-04T05:06:07.000Z', lastModifiedDate: '2020-03-04T05:06:07.000Z' },
      {
        createdDate: '2019-03-04T05:06:07.000Z',
        lastModifiedDate: '2020-03-04T05:06:07.000Z',
      },
    ],
  ])('completes the origin %j of a user to %j', async (fields, stored) => {
    const table = memoryTable();

    await importLines([userRecord('ann', fields)], table);

    expect(table.find(entityKey('USER', 1001))).toMatchObject(stored);
  });

  it('audits each created user and integration', async () => {
    const table = memoryTable();

    await importLines([userRecord('ann'), integrationRecord('Firewall')], table);

    const entries = table.transactions.map((writes) => writes.at(-1)?.attributes);
    expect(entries).toMatchObject([
      { action: 'user.created', targetName: 'ann', actor: 'system' },
      { action: 'integration.created', targetName: 'Firewall', actor: 'system' },
    ]);
  });

  it('creates an integration with its parameters and adds them to the totals', async () => {
    const table = memoryTable();

    await importLines([integrationRecord('a', ['x', 'y'])], table, kmsWithDataKeys());

    const [writes = []] = table.transactions;
    const totals = writes.filter(({ key }) => key.pk === 'TOTAL');
    expect(totals.map(({ key, values }) => [key.sk, values?.[':amount']])).toEqual([
      ['INTEGRATION', 1],
      ['CONF', 2],
    ]);
    expect(table.find(entityKey('INTEGRATION', 1001))).toMatchObject({
      name: 'a',
      parameterCount: 2,
    });
    expect(
      [1_001_000_001, 1_001_000_002].map((id) => table.find(entityKey('CONF', id))?.confName),
    ).toEqual(['name 0', 'name 1']);
    const created = writes.filter(({ act, key }) => act === 'Put' && !key.pk.startsWith('AUDIT'));
    expect(new Set(created.map(({ onConditionFailed }) => onConditionFailed))).toEqual(
      new Set(['retry']),
    );
  });

  it.each([
    [0, []],
    [1, ['1 parameters parameters-too-large']],
  ])('accepts parameters of 192 KiB in total, but not of %d bytes more', async (more, errors) => {
    // Their names and descriptions have 232 bytes.
    const sizes = [...Array(11).fill(16_364), 16_372 + more];
    const values = sizes.map((size) => 'a'.repeat(size));

    const { rejected } = await importLines(
      [integrationRecord('a', values)],
      memoryTable(),
      kmsWithDataKeys(),
    );

    expect(rejected).toEqual(errors);
  });

  it('counts no parameters for an integration without any', async () => {
    const table = memoryTable();

    await importLines([integrationRecord('a')], table);

    expect(table.transactions[0]?.map(({ key }) => key.pk)).not.toContain('CONF');
    expect(table.transactions[0]?.filter(({ key }) => key.pk === 'TOTAL')).toHaveLength(1);
  });

  it('carries out 100 records before it reads the next ones', async () => {
    const { linesRead } = await importLines(
      [...Array(101).keys()].map((index) => userRecord(`user-${index}`)),
    );

    expect([linesRead[0], linesRead[99], linesRead[100]]).toEqual([100, 100, 101]);
  });

  it('looks up 16 records at a time', async () => {
    const table = memoryTable();
    let [concurrent, highest] = [0, 0];
    const counting: Table = {
      ...table,
      async getAll(keys) {
        highest = Math.max(highest, ++concurrent);
        await waitMicrotasks();
        concurrent--;
        return table.getAll(keys);
      },
    };

    await importLines(
      [...Array(40).keys()].map((index) => userRecord(`user-${index}`)),
      counting,
    );

    expect(highest).toBe(16);
  });

  it('reads the integrations of the table once', async () => {
    const table = memoryTable();

    await importLines(
      [...Array(150).keys()].map((index) => integrationRecord(`Firewall ${index}`)),
      table,
    );

    expect(table.queries.map(({ pk }) => pk)).toEqual(['INTEGRATION']);
  });

  it.each([
    ['2019-03-04 06:06:07+01', '2019-03-04T05:06:07.000Z'],
    ['2020-02-29T23:30:00.123456-0100', '2020-03-01T00:30:00.123Z'],
    ['0000-01-01T00:00:00Z', '0000-01-01T00:00:00.000Z'],
  ])('keeps the date %s', async (createdDate, stored) => {
    const table = memoryTable();

    await importLines([userRecord('ann', { createdDate })], table);

    expect(table.find(entityKey('USER', 1001))?.createdDate).toBe(stored);
  });

  it.each([new TypeError('a defect'), new Failure('unavailable')])(
    'ends with the error of the table: %s',
    async (error) => {
      const broken: Table = { ...memoryTable(), transact: () => Promise.reject(error) };

      await expect(importLines([userRecord('ann')], broken)).rejects.toBe(error);
    },
  );

  it('finds integrations beyond the first 1,000', async () => {
    const stored = [...Array(1001).keys()].map((index) => ({
      ...entityKey('INTEGRATION', index + 1),
      id: index + 1,
      name: `Firewall ${index}`,
      shortName: 'OLD',
    }));

    const { tally } = await importLines(
      ['Firewall 0', 'Firewall 999', 'Firewall 1000', 'Firewall 1001'].map((name) =>
        integrationRecord(name),
      ),
      memoryTable(stored),
    );

    expect(tally).toMatchObject({ imported: 1, present: 3, rejected: 0 });
  });

  it('compares each record of a repeated name with another integration of the table', async () => {
    const stored = [1, 2].map((id) => ({
      ...entityKey('INTEGRATION', id),
      id,
      name: 'Firewall',
      shortName: 'OLD',
    }));
    const table = memoryTable(stored);
    const records = [1, 2, 3, 4].map(() => integrationRecord('Firewall'));

    const first = await importLines([...records, integrationRecord('Scanner')], table);
    const second = await importLines([...records, integrationRecord('Scanner')], table);

    expect(first).toMatchObject({ tally: { imported: 3, present: 2, rejected: 0 }, rejected: [] });
    expect(second.tally).toMatchObject({ imported: 0, present: 5, rejected: 0 });
  });

  it('rejects what follows a rejected record with the same names', async () => {
    const table = memoryTable();
    const [invalid, valid] = [
      { ...integrationRecord('Firewall'), integrationType: '' },
      integrationRecord('Firewall'),
    ];

    const first = await importLines([invalid, valid, integrationRecord('Scanner')], table);
    const corrected = await importLines([valid, valid, integrationRecord('Scanner')], table);

    expect(first.rejected).toEqual(['1 integrationType Pattern', '2 name after-rejected']);
    expect([first.tally.imported, corrected.tally]).toMatchObject([
      1,
      { imported: 2, present: 1, rejected: 0 },
    ]);
  });
});

describe('a repeated import', () => {
  const ANN = userRecord('ann');
  const GATE = integrationRecord('Gate');
  const AGAIN = { again: true };
  const nothing = { imported: 0, present: 0, changed: 0, removed: 0, rejected: 0 };
  /** Imports a record, lets a change of its entity follow, and imports it again. */
  async function repeat(record: object, change: (key: Key) => Write[], options = {}) {
    const table = memoryTable();
    await importLines([record], table, kmsWithDataKeys());
    const [pk] = 'login' in record ? ['USER'] : ['INTEGRATION'];
    const entity = (await table.query(pk as string))[0] as Item;
    const changes = change(entity);
    if (changes.length > 0) await table.transact(changes, 'token');
    const transactions = table.transactions.length;
    const { tally, skipped } = await importLines([record], table, kmsWithDataKeys(), options);
    const [[name, marker] = [], ...others] = Object.entries(table.changed()).filter(([name]) =>
      name.startsWith('IMPORTED#'),
    );
    expect(others).toEqual([]);
    expect(name).toMatch(/^IMPORTED#[\da-f]{64} (USER|INTEGRATION)$/);
    return {
      tally,
      skipped,
      first: entity.id,
      marked: marker?.id,
      made: table.transactions.length - transactions,
    };
  }
  const kept = () => [];
  const renamed = ({ pk, sk }: Key): Write[] => [
    set({ pk, sk }, { login: 'eve', name: 'Other' }, EXISTS),
  ];
  const deleted = ({ pk, sk }: Key): Write[] => [{ act: 'Delete', key: { pk, sk } }];
  const withoutGuards = (key: Key): Write[] => [
    ...deleted(key),
    { act: 'Delete', key: loginGuardKey('ann') },
    { act: 'Delete', key: emailGuardKey('ann@old.example') },
  ];

  it.each([
    ['a user', ANN],
    ['an integration', GATE],
  ])('creates nothing twice: %s', async (name, record) => {
    const kind = name.split(' ')[1];
    const present = await repeat(record, kept);
    const changed = await repeat(record, renamed);
    const removed = await repeat(record, deleted);

    expect([present.tally, present.skipped]).toEqual([{ ...nothing, present: 1 }, []]);
    expect([changed.tally, removed.tally]).toEqual([
      { ...nothing, changed: 1 },
      { ...nothing, removed: 1 },
    ]);
    expect(changed.skipped).toEqual([`1 changed ${kind} ${changed.first}`]);
    expect(removed.skipped).toEqual([`1 removed ${kind} ${removed.first}`]);
    for (const { made, first, marked } of [present, changed, removed])
      expect([made, marked]).toEqual([0, first]);
  });

  it.each([
    ['a user', ANN, withoutGuards],
    ['an integration', GATE, deleted],
  ])('creates what was deleted again if asked: %s', async (_, record, change) => {
    const { tally, first, marked, made } = await repeat(record, change, AGAIN);

    expect([tally, made]).toEqual([{ ...nothing, imported: 1 }, 1]);
    expect(marked).toBe((first as number) + 1);
  });

  it('writes nothing without apply', async () => {
    const table = memoryTable();

    const { tally } = await importLines([ANN], table, undefined, { apply: false });

    expect([tally, table.changed()]).toEqual([{ ...nothing, imported: 1 }, {}]);
  });

  it('marks entities that the table has had before, in the order of their ids', async () => {
    const ids = [7, 8];
    const stored = [
      { ...entityKey('USER', 5), id: 5, login: 'ann', email: 'ANN@old.example' },
      { ...loginGuardKey('ann'), id: 5 },
      ...ids.map((id) => ({ ...entityKey('INTEGRATION', id), ...GATE, id })),
    ];
    const table = memoryTable(stored);

    const { tally } = await importLines([ANN, GATE, GATE, GATE], table, kmsWithDataKeys());

    expect(tally).toEqual({ ...nothing, imported: 1, present: 3 });
    const marked = Object.entries(table.changed()).flatMap(([name, item]) =>
      name.startsWith('IMPORTED#') ? [item?.id] : [],
    );
    expect(marked.sort()).toEqual([1001, 5, 7, 8]);
  });

  it.each([
    ['the login', { login: 'ann', email: 'other@old.example' }, 'login login-taken'],
    ['the address', { login: 'eve', email: 'ANN@old.example' }, 'email email-taken'],
  ])('rejects another record of the file with %s of an earlier one', async (_, fields, error) => {
    const { rejected } = await importLines([ANN, { ...ANN, ...fields }]);

    expect(rejected).toEqual([`2 ${error}`]);
  });
});
