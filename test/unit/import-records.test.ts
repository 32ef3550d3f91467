import { KMSClient } from '@aws-sdk/client-kms';
import { describe, expect, it } from 'vitest';
import { Failure } from '../../lib/contract/failure.ts';
import { emailKey } from '../../lib/mail/address.ts';
import { totalKey } from '../../lib/table/item-kind.ts';
import { entityKey, type Key } from '../../lib/table/keys.ts';
import type { Item, Table } from '../../lib/table/table.ts';
import { EXISTS, set, type Write } from '../../lib/table/write.ts';
import { emailGuardKey, loginGuardKey } from '../../lib/users/user-items.ts';
import { importInto, integrationRecord, userRecord } from '../support/commands/transfer.ts';
import { type MemoryTable, memoryTable, recordsIn } from '../support/doubles/memory-table.ts';
import { scriptedClient } from '../support/doubles/scripted-client.ts';
import { freezeClock } from '../support/doubles/time.ts';

const NO_TIME = 'is not a time that exists, in ISO 8601 with its zone';
const PEPPER_KEY = 'arn:aws:kms:eu-central-1:111122223333:key/current-key';
const argon2Hash = (key: string, cost = 'm=8,t=1') =>
  `$argon2id$v=19$${cost},p=1,keyid=${key}$${'a'.repeat(22)}$${'b'.repeat(43)}`;
const BCRYPT_HASH = `$2b$12$${'a'.repeat(53)}`;

const createdAt = (createdDate: string) => userRecord('ann', { createdDate });
const many = (count: number, record: (name: string) => object) =>
  Array.from({ length: count }, (_, index) => record(`Name-${index}`));

const DATA_KEY = {
  Plaintext: Buffer.alloc(32).toString('base64'),
  CiphertextBlob: Buffer.alloc(9).toString('base64'),
};
const kmsWithDataKeys = () => new KMSClient(scriptedClient(DATA_KEY, DATA_KEY).settings);

const importLines = (
  texts: readonly (object | string | Buffer)[],
  table: Table = memoryTable(),
  kms = new KMSClient({ region: 'eu-central-1' }),
  options: { apply?: boolean; again?: boolean } = {},
) => importInto({ table, pepperKeys: [PEPPER_KEY], valuesKey: 'values-key', kms }, texts, options);

const NOTHING = { imported: 0, present: 0, changed: 0, removed: 0, rejected: 0 };
const storedUser = (table: MemoryTable) => table.find(entityKey('USER', 1001));

describe('a record is rejected', () => {
  it.each<[string, object | string | Buffer, string]>([
    ['that is not JSON', '{"type":"user"', 'malformed'],
    ['that is not an object', '["user"]', 'malformed'],
    ['that is null', 'null', 'malformed'],
    [
      'that is not in UTF-8',
      Buffer.from(JSON.stringify(userRecord('ann', { firstName: 'Zoë' })), 'latin1'),
      'malformed',
    ],
    [
      'with a key twice',
      JSON.stringify(userRecord('ann')).replace('{', '{"login":"bob",'),
      'malformed',
    ],
    ['without a type', {}, 'type NotNull'],
    ['of an unknown type', { type: 'group' }, 'type Pattern group is not one of user, integration'],
    ['without login and address', { type: 'user' }, 'login NotNull, email NotNull'],
    ['with null as its login', userRecord('ann', { login: null }), 'login NotNull'],
    ['with a password', userRecord('ann', { password: 'pass' }), 'password UnknownField'],
    [
      'with an unknown role',
      userRecord('ann', { authorities: ['ROLE_USER', `ROLE\x07_${'X'.repeat(40)}`] }),
      `authorities.1 Pattern ROLE_${'X'.repeat(35)} is not one of ROLE_ADMIN, ROLE_USER, ` +
        'ROLE_ANALYST',
    ],
    ['with a reserved login', userRecord('authorities'), 'login Pattern'],
    ['with the login of the operator', userRecord('SYSTEM'), 'login login-taken reserved'],
    ['with an unreadable time', createdAt('yesterday'), `createdDate Pattern yesterday ${NO_TIME}`],
    [
      'with an unreadable hash',
      userRecord('ann', { passwordHash: `${BCRYPT_HASH}{bcrypt}` }),
      'passwordHash Pattern',
    ],
    [
      'with a hash under another key',
      userRecord('ann', { passwordHash: argon2Hash('former-key') }),
      'passwordHash other-pepper-key',
    ],
    ['with an empty value', integrationRecord('a', ['a', '']), 'parameters.1.confValue NotBlank'],
    ...[['********'], ['********x', true], ['*****', true], [' ', true]].map(
      ([confValue, secret]): [string, object, string] => [
        `with ${JSON.stringify(confValue)} as ${secret ? 'a secret' : 'a value'}`,
        { ...integrationRecord('a'), parameters: [{ confName: 'a', confValue, secret }] },
        'parameters.0.confValue Pattern',
      ],
    ),
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
  ])('%s', async (_, record, errors) => {
    const table = memoryTable();

    for (const apply of [false, true]) {
      const { tally, rejected } = await importLines([record], table, undefined, { apply });
      expect({ tally, rejected }).toEqual({
        tally: { ...NOTHING, rejected: 1 },
        rejected: [`1 ${errors}`],
      });
    }
    expect(table.changed()).toEqual({});
  });

  it('whose mailbox is held in another spelling', async () => {
    const table = memoryTable([{ ...emailGuardKey(emailKey('b@xn--strae-oqa.example')), id: 9 }]);
    const records = ['a', 'b'].map((name) => userRecord(name, { email: `${name}@straße.example` }));

    const { rejected } = await importLines(records, table, undefined, { apply: false });
    expect(rejected).toEqual(['2 email email-taken taken by user 9']);
    // The guard is read three times: the items can be of different moments.
    expect(table.calls.filter((call) => call === 'getAll 3')).toHaveLength(4);
    expect(table.changed()).toEqual({});
  });

  it.each([
    ['login', { login: 'bob', email: 'ann@old.example' }],
    ['address', { login: 'ann', email: 'ann@new.example' }],
  ])('whose login is held by a user with another %s', async (_, fields) => {
    const user = { ...entityKey('USER', 9), id: 9, ...fields };
    const table = memoryTable([{ ...loginGuardKey('ann'), id: 9 }, user]);

    const { rejected } = await importLines([userRecord('ann')], table, undefined, { apply: false });
    expect(rejected).toEqual(['1 login login-taken taken by user 9']);
  });

  it.each([
    ['the login', { email: 'other@old.example' }, 'login login-taken taken by line 1'],
    [
      'the address',
      { login: 'eve', email: 'ANN@old.example' },
      'email email-taken taken by line 1',
    ],
  ])('with %s of an earlier one of the same file', async (_, fields, error) => {
    const records = [userRecord('ann'), userRecord('ann', fields)];

    const { rejected } = await importLines(records, undefined, undefined, { apply: false });

    expect(rejected).toEqual([`2 ${error}`]);
  });

  it('that follows a rejected record with the same names', async () => {
    const table = memoryTable();
    const valid = integrationRecord('Firewall');
    const invalid = { ...valid, integrationType: '' };
    const other = integrationRecord('Scanner');

    const first = await importLines([invalid, valid, other], table);
    const corrected = await importLines([valid, valid, other], table);

    expect(first.rejected).toEqual([
      expect.stringMatching(/^1 integrationType Pattern .* is not one of COLLECTOR, /),
      '2 name after-rejected',
    ]);
    expect([first.tally, corrected.tally]).toEqual([
      { ...NOTHING, imported: 1, rejected: 2 },
      { ...NOTHING, imported: 2, present: 1 },
    ]);
  });
});

describe('an import', () => {
  it('claims nothing for a record that contradicts the table', async () => {
    const table = memoryTable([{ ...emailGuardKey('taken@old.example'), id: 9 }]);
    const records = [userRecord('ann', { email: 'taken@old.example' }), userRecord('ann')];

    const { tally, rejected } = await importLines(records, table);

    expect([tally.imported, rejected]).toEqual([1, ['1 email email-taken taken by user 9']]);
  });

  it('rejects the repetition of a record of the file, also of an earlier batch', async () => {
    const table = memoryTable();
    const users = many(101, userRecord);
    const records = [...users, ...users.slice(0, 1)];

    for (const outcome of ['imported', 'present'] as const) {
      const { tally, rejected } = await importLines(records, table);
      expect(tally).toEqual({ ...NOTHING, [outcome]: 101, rejected: 1 });
      expect(rejected).toEqual(['102 login login-taken taken by line 1']);
    }
  });

  it('counts blank lines as lines but not as records', async () => {
    const { rejected, progress } = await importLines(['', userRecord('ann'), ' ', 'malformed', '']);

    expect([rejected, progress]).toEqual([['4 malformed'], [1, 2]]);
  });

  const DATE = '2019-03-04T05:06:07.000Z';
  const MODIFIED = '2020-03-04T05:06:07.000Z';
  const BLANK = Object.fromEntries(
    ['firstName', 'langKey', 'imageUrl', 'passwordHash']
      .concat(['createdBy', 'createdDate', 'lastModifiedBy', 'lastModifiedDate'])
      .map((field) => [field, '']),
  );
  const EVE = { createdBy: 'eve' };
  const now = expect.stringMatching(/^20\d\d-.*Z$/);
  it.each<[object, object]>([
    ...[BCRYPT_HASH, ...['m=8,t=1', 'm=262144,t=10'].map((cost) => argon2Hash('current-key', cost))]
      .map((passwordHash) => ({ passwordHash }))
      .map((fields): [object, object] => [fields, fields]),
    [{ passwordHash: `{bcrypt}${BCRYPT_HASH}` }, { passwordHash: BCRYPT_HASH }],
    [{ passwordHash: null }, { passwordHash: undefined }],
    [BLANK, { passwordHash: undefined, firstName: undefined, langKey: 'en' }],
    [{ createdDate: '2019-03-04T06:06:07.000999+0100' }, { createdDate: DATE }],
    [{}, { createdBy: 'system', lastModifiedBy: 'system', lastModifiedDate: now }],
    [EVE, { ...EVE, lastModifiedBy: 'eve', createdDate: now }],
    [{ createdDate: DATE }, { createdDate: DATE, lastModifiedDate: DATE }],
    [
      { createdDate: DATE, lastModifiedDate: MODIFIED },
      { createdDate: DATE, lastModifiedDate: MODIFIED },
    ],
  ])('stores a user with %j as %j', async (fields, stored) => {
    const table = memoryTable();

    const { tally } = await importLines([userRecord('ann', fields)], table);

    expect(tally).toEqual({ ...NOTHING, imported: 1 });
    const absent = { passwordHash: undefined, firstName: undefined };
    expect({ ...absent, ...storedUser(table) }).toMatchObject(stored);
  });

  it.each([
    [60, []],
    [61, ['1 createdDate Pattern']],
  ])('allows for the difference of clocks: a date %d seconds ahead', async (ahead, errors) => {
    const now = Date.parse(DATE);
    freezeClock(now);
    const record = createdAt(new Date(now + ahead * 1000).toISOString());

    expect((await importLines([record])).rejected).toEqual(errors);
  });

  it.each([
    [0, []],
    [1, ['1 parameters parameters-too-large']],
  ])('accepts parameters of 192 KiB in total, but not of %d bytes more', async (more, errors) => {
    // Their names and descriptions have 219 bytes.
    const sizes = [16_377, ...Array(10).fill(16_364), 16_372 + more];
    const record = integrationRecord(
      'a',
      sizes.map((size) => 'a'.repeat(size)),
    );
    delete (record.parameters[0] as { confDescription?: string }).confDescription;

    const { rejected } = await importLines([record], memoryTable(), kmsWithDataKeys());

    expect(rejected).toEqual(errors);
  });

  it('audits each entity that it creates', async () => {
    const table = memoryTable();

    const records = [userRecord('ann'), integrationRecord('Gate', ['a', 'b'])];
    await importLines(records, table, kmsWithDataKeys());

    expect(recordsIn(table)).toEqual([
      'system import user.created user/1001 ann',
      'system import integration.created integration/1002 Gate',
    ]);
    expect(table.calls.filter((call) => call.startsWith('nextId'))).toEqual([
      'nextId USER',
      'nextId INTEGRATION',
    ]);
    const parameters = Object.values(table.changed()).filter((item) => item?.pk === 'CONF');
    const described = [0, 1].map((n) => ({
      confName: `name ${n}`,
      confDescription: `description ${n}`,
      confValue: expect.any(Uint8Array),
    }));
    expect(parameters).toMatchObject(described);
    expect(table.find(entityKey('INTEGRATION', 1002))).toMatchObject({ parameterCount: 2 });
    const totals = (['USER', 'INTEGRATION', 'CONF'] as const).map(totalKey);
    expect((await table.getAll(totals)).map((item) => item?.n)).toEqual([1, 1, 2]);
  });

  it('creates nothing twice beside another import', async () => {
    const table = memoryTable();
    const records = [userRecord('ann'), integrationRecord('Gate')];

    const [one, other] = await Promise.all([
      importLines(records, table),
      importLines(records, table),
    ]);

    expect(one.tally.imported + other.tally.imported).toBe(2);
    expect(one.tally.present + other.tally.present).toBe(2);
  });

  it('carries out 100 records before it reads the next ones', async () => {
    const { linesRead } = await importLines(many(101, userRecord));

    expect([linesRead[0], linesRead[99], linesRead[100]]).toEqual([100, 100, 101]);
  });

  it('reads the integrations of the table once', async () => {
    const table = memoryTable();

    await importLines(many(150, integrationRecord), table);

    expect(table.queries.map(({ pk }) => pk)).toEqual(['INTEGRATION']);
    expect(table.calls.filter((call) => call.startsWith('get '))).toHaveLength(150);
  });

  it.each([new TypeError('a defect'), new Failure('unavailable')])(
    'ends with the error of the table: %s',
    async (error) => {
      const broken: Table = { ...memoryTable(), transact: () => Promise.reject(error) };

      await expect(importLines([userRecord('ann')], broken)).rejects.toBe(error);
    },
  );
});

describe('a repeated import', () => {
  const ANN = userRecord('ann');
  const GATE = integrationRecord('Gate');
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
    const marker = Object.values(table.changed()).find((item) => item?.pk.startsWith('IMPORTED#'));
    return {
      tally,
      skipped: skipped.map((text) => text.replace(String(entity.id), 'ID')),
      marksNext: (marker?.id as number) - (entity.id as number),
      made: table.transactions.slice(transactions).map(([mark]) => mark?.condition),
    };
  }
  const kept = () => [];
  const renamed = ({ pk, sk }: Key): Write[] => [
    set({ pk, sk }, { login: 'eve', name: 'Other' }, EXISTS),
  ];
  const deleted = ({ pk, sk }: Key): Write[] => [
    { act: 'Delete', key: { pk, sk } },
    { act: 'Delete', key: loginGuardKey('ann') },
    { act: 'Delete', key: emailGuardKey('ann@old.example') },
  ];

  it.each([
    ['user', ANN],
    ['integration', GATE],
  ])('creates nothing twice, unless it was deleted and is asked for: %s', async (kind, record) => {
    const skipped = (outcome: 'present' | 'changed' | 'removed', ...lines: string[]) => ({
      marksNext: 0,
      made: [],
      tally: { ...NOTHING, [outcome]: 1 },
      skipped: lines,
    });
    expect(await repeat(record, kept)).toEqual(skipped('present'));
    expect(await repeat(record, renamed)).toEqual(skipped('changed', `1 changed ${kind} ID`));
    expect(await repeat(record, deleted)).toEqual(skipped('removed', `1 removed ${kind} ID`));
    expect(await repeat(record, deleted, { again: true })).toEqual({
      marksNext: 1,
      made: ['#id = :id'],
      tally: { ...NOTHING, imported: 1 },
      skipped: [],
    });
  });

  it('marks entities that the table has had before, in the order of their ids', async () => {
    const table = memoryTable([
      { ...entityKey('USER', 5), id: 5, login: 'ann', email: 'ANN@old.example' },
      { ...loginGuardKey('ann'), id: 5 },
      { ...emailGuardKey(emailKey('ann@old.example')), id: 5 },
      ...[7, 8].map((id) => ({ ...entityKey('INTEGRATION', id), ...GATE, id })),
    ]);
    const records = [ANN, GATE, GATE, GATE, GATE];

    await importLines([GATE], table);
    const first = await importLines(records, table, kmsWithDataKeys());
    const second = await importLines(records, table);

    expect([first.tally, second.tally]).toEqual([
      { ...NOTHING, imported: 2, present: 3 },
      { ...NOTHING, present: 5 },
    ]);
    expect(table.calls).toContain('nextId INTEGRATION');
    // The keys must never change: markers of earlier imports would be ignored.
    const marked = Object.entries(table.changed()).filter(([name]) => name.startsWith('IMPORTED#'));
    expect(Object.fromEntries(marked.map(([name, item]) => [name, item?.id]))).toEqual({
      'IMPORTED#302969d788c63d26f4088915d89e77fc818e01ed41551513cca858a2f6b156f9 USER': 5,
      'IMPORTED#59248712d6d47922a053cfd70df4afa87db654e2eb54e5aecdeed4f037629901 INTEGRATION': 8,
      'IMPORTED#6f8e0dea1e89e6a8358a3c27bbef9453fe576eb2e1766a355a98708c13ef0244 INTEGRATION': 1001,
      'IMPORTED#89c2067e757169aa81a201267df69358f4b000acee1601ddb9b7a89c6dec646c INTEGRATION': 7,
      'IMPORTED#ba1b71bbba867e16a9ab7e7a44a24c6b5e30394aeb51859fde6d6d597f71d68c INTEGRATION': 1002,
    });
  });
});
