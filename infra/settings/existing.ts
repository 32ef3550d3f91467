import * as v from 'valibot';

/* The table and the keys that a stack adopts. */

const existingTableAndKeys = v.strictObject({
  table: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^[\w.-]{3,255}$/, 'must be the name of a DynamoDB table'),
      v.description('The name of the table, which `npm run adopt` has prepared.'),
      v.metadata({ example: 'Gatehouse-prod-restored' }),
    ),
  ),
  tableStream: v.optional(
    v.pipe(
      v.string(),
      v.regex(
        /^arn:[\w-]+:dynamodb:[\w-]+:\d{12}:table\/[\w.-]+\/stream\/[\w:.-]+$/,
        'must be the ARN of a stream',
      ),
      v.description(
        'The ARN of the stream of the table, which `npm run adopt` prints. Required with `table`.',
      ),
      v.metadata({
        example:
          'arn:aws:dynamodb:eu-central-1:123456789012:table/Gatehouse-prod-restored' +
          '/stream/2030-01-01T00:00:00.000',
      }),
    ),
  ),
  keys: v.optional(
    v.pipe(
      v.record(
        v.string(),
        v.pipe(
          v.string(),
          v.regex(
            /^arn:[\w-]+:kms:[\w-]+:\d{12}:key\/[\w-]+$/,
            'must be the ARN of a KMS key, not of an alias',
          ),
          v.description('The ARN of the key with this logical id.'),
        ),
      ),
      v.description(
        'The ARNs of keys by their logical ids: `TableKey`, `ValuesKey` and the keys in ' +
          '`pepperKeys` and `signingKeys`.',
      ),
      v.metadata({
        key: 'KEY',
        example: {
          ValuesKey:
            'arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab',
        },
      }),
    ),
  ),
});

export const existing = v.optional(
  v.pipe(
    existingTableAndKeys,
    v.description(
      'The table and the keys that the stack ' +
        '[adopts](restore.md#adopting-a-table-and-keys); it creates all others. They must be ' +
        'in the account and the region of the stack.',
    ),
  ),
);

interface KeySettings {
  readonly pepperKeys: readonly string[];
  readonly signingKeys: readonly string[];
  readonly existing?: { readonly keys?: object | undefined } | undefined;
}

/** The logical ids in `existing.keys` that no key has. */
export function unknownKeys({
  pepperKeys,
  signingKeys,
  existing: { keys = {} } = {},
}: KeySettings): string[] {
  const known = ['TableKey', 'ValuesKey', ...pepperKeys, ...signingKeys];
  return Object.keys(keys).filter((id) => !known.includes(id));
}
