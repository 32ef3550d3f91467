import { Readable } from 'node:stream';
import { KMSClient } from '@aws-sdk/client-kms';
import { toJsonSchema } from '@valibot/to-json-schema';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it, vi } from 'vitest';
import { CONVERSION } from '../../infra/api-document/schemas.ts';
import { jsonLinesIn } from '../../infra/commands/operate/import.ts';
import { pick } from '../../lib/contract/entity-fields.ts';
import { EDITABLE_INTEGRATION_FIELDS } from '../../lib/integrations/integration.ts';
import { openSeal } from '../../lib/integrations/sealed-value.ts';
import { itemsOf } from '../../lib/operations/transfer/entities.ts';
import { exportRecords } from '../../lib/operations/transfer/export-records.ts';
import { importRecord, linesOf, readRecord } from '../../lib/operations/transfer/record.ts';
import { entityKey } from '../../lib/table/keys.ts';
import type { Item } from '../../lib/table/table.ts';
import type { User } from '../../lib/users/user.ts';
import { bcryptHash, integrationRecord, userRecord } from '../support/commands/transfer.ts';
import { awsError } from '../support/doubles/aws-calls.ts';
import { memoryTable } from '../support/doubles/memory-table.ts';
import { type ScriptedResponse, scriptedClient } from '../support/doubles/scripted-client.ts';
import {
  GATE,
  gate,
  INTACT_ITEMS,
  parameter,
  storedUser,
} from '../support/doubles/stored-items.ts';
import { useNoDataKeys } from '../support/doubles/worker-state.ts';

useNoDataKeys();

const DATA_KEY = {
  Plaintext: Buffer.alloc(32).toString('base64'),
  CiphertextBlob: Buffer.alloc(9).toString('base64'),
};

const kmsReceiving = (...responses: ScriptedResponse[]) =>
  new KMSClient(scriptedClient(...responses).settings);

/** Exports the intact items, of which the first one of a kind has these attributes. */
async function exportWith(kind: string, attributes: object, kms = kmsReceiving()): Promise<void> {
  const first = INTACT_ITEMS.find(({ pk }) => pk === kind);
  const items = INTACT_ITEMS.map((item) =>
    item === first ? ({ ...item, ...attributes } as Item) : item,
  );
  for await (const _ of exportRecords(memoryTable(items), 'values-key', kms));
}

it.each([
  ['USER', { id: 999 }, 'USER / 0000000000000001 has the id 999.'],
  [
    'INTEGRATION',
    { active: 1 },
    'INTEGRATION / 0000000000000004 has missing or invalid attributes: active.',
  ],
  ['CONF', { id: 4_000_009 }, 'CONF / 0000000004000007 has the id 4000009.'],
])('names a damaged item by its key: %s %o', async (kind, damage, message) => {
  await expect(exportWith(kind, damage)).rejects.toThrow(
    new Error(`${message} \`npm run admin -- verify\` lists everything that is damaged.`),
  );
});

it('an export leaves out secrets and second factors', async () => {
  const seal = await openSeal(5, 'values-key', kmsReceiving(DATA_KEY));
  const secondFactor = { nonce: 'n', key: 'k', lastStep: 5, recoveryNonce: 'r', recoveryCodes: 7 };
  const users = [storedUser(1, 'ann', { secondFactor }), storedUser(2, 'bob')];
  const table = memoryTable([
    ...users.map((user): Item => ({ ...entityKey('USER', user.id), ...user })),
    gate(),
    parameter({ id: 5_000_001, confName: 'url', confValue: await seal('tcp://a', 5_000_001) }),
    parameter({ secret: true }),
  ]);
  let factors = 0;

  const exported = exportRecords(table, 'values-key', kmsReceiving(DATA_KEY), () => factors++);

  const recordOf = ({ id: _, secondFactor: _f, ...user }: User) => {
    const { version, incarnation, securityStamp, passwordChanges, ...fields } = user;
    return { type: 'user', ...fields };
  };
  const confDescription = 'Of the gate';
  expect(await Readable.from(exported).toArray()).toEqual([
    ...users.map(recordOf),
    {
      type: 'integration',
      ...pick(GATE, EDITABLE_INTEGRATION_FIELDS),
      parameters: [
        { confName: 'url', confDescription, confValue: 'tcp://a' },
        { confName: 'key', confDescription, confValue: '********', secret: true },
      ],
    },
  ]);
  expect(factors).toBe(1);
});

describe('a value', () => {
  const sealedFor = async (id: number) =>
    (await openSeal(4, 'values-key', kmsReceiving(DATA_KEY)))('secret', id);

  it.each<[string, () => Promise<Uint8Array | undefined>, ScriptedResponse[]]>([
    ['that is missing', async () => undefined, []],
    ['that is copied from another parameter', () => sealedFor(4_000_009), [DATA_KEY]],
    [
      'that is copied from another integration',
      () => sealedFor(4_000_007),
      [{ error: 'InvalidCiphertextException' }],
    ],
    ['under another key', () => sealedFor(4_000_007), [{ error: 'IncorrectKeyException' }]],
  ])('%s is named by the key of its item', async (_, confValue, responses) => {
    const exported = exportWith(
      'CONF',
      { confValue: await confValue() },
      kmsReceiving(...responses),
    );

    await expect(exported).rejects.toThrow(
      new Error(
        'The value of CONF / 0000000004000007 cannot be decrypted: ' +
          'set it again with PUT /api/utm-integration-confs, or delete the parameter.',
      ),
    );
  });

  it.each<[string, ScriptedResponse]>([
    ['AccessDeniedException', { error: 'AccessDeniedException' }],
    ['CredentialsProviderError', awsError('CredentialsProviderError')],
  ])('is not blamed for the error %s of KMS', async (name, response) => {
    const exported = exportWith(
      'CONF',
      { confValue: await sealedFor(4_000_007) },
      kmsReceiving(response),
    );

    await expect(exported).rejects.toMatchObject({ name });
  });
});

it.each([
  ['the last one', 5998],
  ['after the last one', 5999],
])('reads each item of a kind once if a copy made by hand is %s of a page', async (_, copied) => {
  const items = Array.from(
    { length: 1500 },
    (_, index): Item => ({ ...entityKey('USER', 5000 + index) }),
  );
  items.push({ pk: 'USER', sk: `${entityKey('USER', copied).sk}-copy` });
  const table = memoryTable(items);

  const read: string[] = [];
  for await (const { sk } of itemsOf(table, 'USER')) if (read.push(sk) > items.length) break;

  expect(read).toEqual(items.map(({ sk }) => sk).sort());
  expect(table.queries.map(({ range }) => range.limit)).toEqual([1000, 1000]);
});

/** The lines of a text that is read in chunks of this size; files are read in chunks of 64 KiB. */
function linesIn(text: string, chunkBytes = 65_536): Promise<Buffer[]> {
  const bytes = Buffer.from(text);
  const chunks = Array.from({ length: Math.ceil(bytes.length / chunkBytes) }, (_, n) =>
    bytes.subarray(n * chunkBytes, (n + 1) * chunkBytes),
  );
  return Readable.from(linesOf(Readable.from(chunks))).toArray();
}

describe('the lines of a file', () => {
  it.each([1, 2, 3, 4, 100])('end at each newline, in chunks of %d bytes', async (chunkBytes) => {
    const lines = await linesIn('ab\nc\n\nd\u2028é', chunkBytes);

    expect(lines.map(String)).toEqual(['ab', 'c', '', 'd\u2028é']);
  });

  it('are each put together once, when they end', async () => {
    const concat = vi.spyOn(Buffer, 'concat');

    const lines = await linesIn(`${'a'.repeat(1_000_000)}\nb`);

    expect(lines.map(({ length }) => length)).toEqual([1_000_000, 1]);
    expect(concat).toHaveBeenCalledTimes(2);
  });

  it('are cut off, and then malformed, if they are longer than any record', async () => {
    const tooLong = JSON.stringify(userRecord('ann', { firstName: 'a'.repeat(6_000_000) }));

    const [first, second] = await linesIn(`${tooLong}\n${JSON.stringify(userRecord('bob'))}`);

    expect(first).toHaveLength(4 * 1024 * 1024);
    expect(readRecord(first as Buffer)).toEqual([{ code: 'malformed' }]);
    expect(readRecord(second as Buffer)).toMatchObject({ login: 'bob' });
  });

  it('contain the longest record, every character of whose values is escaped', async () => {
    const record = integrationRecord('a', Array(12).fill('\u0001'.repeat(16_350)));

    const [line] = await linesIn(JSON.stringify(record));

    expect(line?.length).toBeGreaterThan(1_170_000);
    expect(readRecord(line as Buffer)).toMatchObject({ name: 'a' });
  });
});

async function* chunksOf(content: Buffer): AsyncGenerator<Buffer> {
  yield content;
  yield Buffer.from('\n{');
}
const read = (content: string | Buffer) =>
  Readable.from(jsonLinesIn('users', chunksOf(Buffer.from(content as string)))).toArray();

it.each([
  ['in UTF-16', Buffer.from('\ufeff{"type":"user"}', 'utf16le')],
  ['a JSON array', '\n [{"type":"user"}]'],
  ['JSON that continues on the next line', '{\r\n  "type": "user"'],
  ['JSON that continues on the next line', '{"type": "user"},\n{"type": "user"}'],
  ['binary', Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0x2c, 0x3b])],
  ['binary', 'PK\x03\x04,;'],
  ['CSV', '\ufefflogin,email\nann,a@b.example'],
  ['not JSON', 'INSERT INTO users'],
])('a file that is %s is refused in one sentence', async (kind, content) => {
  await expect(read(content)).rejects.toThrow(
    `users is ${kind}: an import needs JSON Lines, one JSON object per line in UTF-8.`,
  );
});

it.each(['', '\n', '{"type":"user"}', '\ufeff \n{"type":', '{"authorities":['])(
  'a file may begin with %j',
  async (content) => {
    expect(await read(content)).toHaveLength(2);
  },
);

/** What a schema cannot express, such as the lengths in bytes, is left to the import. */
const schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title:
    'A line of a file that `npm run admin -- import` reads and `npm run admin -- export` writes',
  ...toJsonSchema(importRecord, CONVERSION),
};

// After an intended change, update the file with `npx vitest run test/unit/transfer.test.ts -u`.
it('docs/import.schema.json describes the records', async () => {
  await expect(`${JSON.stringify(schema, undefined, 2)}\n`).toMatchFileSnapshot(
    '../../docs/import.schema.json',
  );
});

it('the schema accepts records of both types and rejects others', () => {
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
  const user = userRecord('ann', {
    passwordHash: bcryptHash('pass'),
    createdDate: '2019-03-04T05:06:07Z',
  });

  expect(
    [user, userRecord('ann'), integrationRecord('Firewall', ['a'])].map((record) =>
      validate(record),
    ),
  ).toEqual([true, true, true]);
  expect(
    [{}, { ...user, type: 'group' }, { ...user, email: undefined }, { ...user, nickname: 'a' }].map(
      (record) => validate(JSON.parse(JSON.stringify(record))),
    ),
  ).toEqual([false, false, false, false]);
});
