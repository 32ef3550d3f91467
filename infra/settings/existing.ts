import * as v from 'valibot';
import { matching, setting } from './setting.ts';

/* The table and the keys that a stack adopts. */

export const keyArn = matching(
  /^arn:[\w-]+:kms:[\w-]+:\d{12}:key\/[\w-]+$/,
  'must be the ARN of a KMS key, not of an alias',
);

export const existing = v.optional(
  setting(
    'The table and the keys that the stack [adopts](restore.md#adopting-a-table-and-keys); it ' +
      'creates all others. They must be in the account and the region of the stack.',
    v.strictObject({
      tableStream: v.optional(
        setting(
          'The table, by the ARN of its stream, which `npm run admin -- adopt` prints.',
          matching(
            /^arn:[\w-]+:dynamodb:[\w-]+:\d{12}:table\/[\w.-]{3,255}\/stream\/[\w:.-]+$/,
            'must be the ARN of the stream of a table, which aws dynamodb describe-table ' +
              '--table-name NAME --query Table.LatestStreamArn prints',
          ),
          {
            example:
              'arn:aws:dynamodb:eu-central-1:123456789012:table/Gatehouse-prod-restored' +
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

export const adoptedTable = (settings: {
  readonly existing?: v.InferOutput<typeof existing>;
}): string | undefined => settings.existing?.tableStream?.split('/')[1];
