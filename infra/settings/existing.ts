import * as v from 'valibot';
import { matching, setting } from './setting.ts';

/* The table and the keys that a stack adopts. */

export const keyArn = matching(
  /^arn:[\w-]+:kms:[\w-]+:\d{12}:key\/[\w-]+$/,
  'must be the ARN of a KMS key, not of an alias',
);

const EXAMPLE_TABLE = 'Gatehouse-prod-restored';

export const existing = v.optional(
  setting(
    'The table and the keys that the stack [adopts](restore.md#adopting-a-table-and-keys); it ' +
      'creates all others. They must be in the account and the region of the stack.',
    v.strictObject({
      table: v.optional(
        setting(
          'The name of the table, which `npm run admin -- adopt` has prepared.',
          matching(/^[\w.-]{3,255}$/, 'must be the name of a DynamoDB table'),
          { example: EXAMPLE_TABLE },
        ),
      ),
      tableStream: v.optional(
        setting(
          'The ARN of the stream of the table, which `npm run admin -- adopt` prints. ' +
            'Required with `table`.',
          matching(
            /^arn:[\w-]+:dynamodb:[\w-]+:\d{12}:table\/[\w.-]+\/stream\/[\w:.-]+$/,
            'must be the ARN of a stream',
          ),
          {
            example:
              `arn:aws:dynamodb:eu-central-1:123456789012:table/${EXAMPLE_TABLE}` +
              '/stream/2030-01-01T00:00:00.000',
          },
        ),
      ),
      keys: v.optional(
        setting(
          'The ARNs of keys by their logical ids: `TableKey`, `ValuesKey`, `FactorKey` and the ' +
            'keys in `pepperKeys`, `signingKeys` and `moduleKeys`.',
          v.record(v.string(), keyArn),
          {
            example: {
              ValuesKey:
                'arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab',
            },
          },
        ),
      ),
    }),
  ),
);
