import { isDeepStrictEqual } from 'node:util';
import {
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  type DynamoDBClient,
  type TableDescription,
  TagResourceCommand,
  UpdateContinuousBackupsCommand,
  UpdateTableCommand,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { CLOCK_DIFFERENCE_SECONDS_MAX } from '../../../lib/operations/restore/adopt-table.ts';
import { NOT_FROM_AWS } from '../../../lib/table/wrong-table.ts';
import { print } from '../command-line.ts';
import { namingTable } from '../explain-error.ts';
import type { TableConnection } from '../tables.ts';
import { listTags } from '../tables.ts';

/* What a restore does not copy. administration-table.ts sets the same on a new table. */

const STREAM = { StreamEnabled: true, StreamViewType: 'KEYS_ONLY' } as const;
const STREAM_WAIT_SECONDS_MAX = 300;

/** The options that set a tag of their name, such as `gatehouse:environment`. */
const TAG_OPTIONS = ['environment', 'pepper-key', 'values-key'] as const;

/** The options that say what the settings are; the help of the command explains them. */
type SettingsOptions = { readonly [tag in (typeof TAG_OPTIONS)[number]]?: string } & {
  readonly like?: string;
  readonly unprotected: boolean;
};

/**
 * Reads what is missing, and changes nothing. Throws a sentence if the table cannot be put into
 * service. Returns a function that changes the settings and prints them. It can be repeated.
 */
export async function planSettings(
  { client, tableName: TableName }: TableConnection,
  { like, unprotected, ...values }: SettingsOptions,
): Promise<() => Promise<void>> {
  const table = await describe(client, TableName);
  if (table.TableStatus !== 'ACTIVE')
    throw new Error(
      `${TableName} is ${table.TableStatus}: run the command again when it is ACTIVE.`,
    );
  const { StreamEnabled, StreamViewType } = table.StreamSpecification ?? {};
  // DynamoDB cannot change what an enabled stream contains.
  if (StreamEnabled && StreamViewType !== STREAM.StreamViewType)
    throw new Error(
      `${TableName} has a stream of ${StreamViewType} instead of ${STREAM.StreamViewType}: ` +
        `disable it with aws dynamodb update-table --table-name ${TableName} ` +
        '--stream-specification StreamEnabled=false.',
    );
  const model = like ? await describe(client, like) : table;
  // Functions may use only the key of the original table.
  if (keyOf(table) !== keyOf(model))
    throw new Error(
      `${TableName} is encrypted under ${keyOf(table)}, ${like} under ${keyOf(model)}: ` +
        'restore it under that key.',
    );
  const tags = await listTags(client, table);
  if (like) Object.assign(tags, await listTags(client, model));
  for (const option of TAG_OPTIONS) {
    const tag = `gatehouse:${option}`;
    if (values[option]) tags[tag] = values[option];
    if (!tags[tag])
      throw new Error(`${TableName} lacks the tag ${tag}: add --like TABLE or --${option}.`);
  }
  const maximum = model.OnDemandThroughput ?? table.OnDemandThroughput;

  return async () => {
    const Tags = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
    await client.send(new TagResourceCommand({ ResourceArn: table.TableArn, Tags }));
    print(`Tags: ${Object.keys(tags).sort().join(', ')}`);
    await expireItems(client, TableName);
    print('Expired items are deleted (time to live on expires)');
    if (!unprotected) {
      const PointInTimeRecoverySpecification = { PointInTimeRecoveryEnabled: true };
      await client.send(
        new UpdateContinuousBackupsCommand({ TableName, PointInTimeRecoverySpecification }),
      );
    }
    const streamArn = StreamEnabled ? table.LatestStreamArn : await enableStream(client, TableName);
    const update = {
      ...(!unprotected && !table.DeletionProtectionEnabled && { DeletionProtectionEnabled: true }),
      ...(!isDeepStrictEqual(maximum, table.OnDemandThroughput) && { OnDemandThroughput: maximum }),
    };
    if (Object.keys(update).length > 0)
      await client.send(new UpdateTableCommand({ TableName, ...update }));
    const { MaxReadRequestUnits: reads, MaxWriteRequestUnits: writes } = maximum ?? {};
    print(`Maximum: ${maximum ? `${reads} read and ${writes} write units a second` : 'none'}`);
    print(
      unprotected
        ? 'The table is not protected'
        : 'Deletion protection and point-in-time recovery are enabled',
    );
    print(`For the settings: "existing": { "tableStream": "${streamArn}" }`);
  };
}

const keyOf = ({ SSEDescription }: TableDescription): string =>
  SSEDescription?.KMSMasterKeyArn ?? 'a key of AWS';

async function expireItems(client: DynamoDBClient, TableName: string): Promise<void> {
  const { TimeToLiveDescription } = await client.send(new DescribeTimeToLiveCommand({ TableName }));
  // DynamoDB rejects enabling it twice.
  if (/^ENABL/.test(TimeToLiveDescription?.TimeToLiveStatus ?? '')) return;
  const TimeToLiveSpecification = { AttributeName: 'expires', Enabled: true };
  await client.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }));
}

/** Waits until the table accepts other updates. */
async function enableStream(client: DynamoDBClient, TableName: string) {
  await client.send(new UpdateTableCommand({ TableName, StreamSpecification: STREAM }));
  const waiting = { client, maxWaitTime: STREAM_WAIT_SECONDS_MAX, minDelay: 1, maxDelay: 5 };
  await waitUntilTableExists(waiting, { TableName });
  return (await describe(client, TableName)).LatestStreamArn;
}

/** Describes a table, and fails if the clock of this machine differs from DynamoDB's. */
async function describe(client: DynamoDBClient, TableName: string): Promise<TableDescription> {
  const command = new DescribeTableCommand({ TableName });
  command.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const { headers } = result.response as { headers: { date?: string } };
      // An engine sends no date.
      const aheadSeconds = Math.round((Date.now() - Date.parse(headers.date ?? '')) / 1000);
      if (Math.abs(aheadSeconds) > CLOCK_DIFFERENCE_SECONDS_MAX)
        throw new Error(
          `The clock of this machine is ${Math.abs(aheadSeconds)} seconds ` +
            `${aheadSeconds > 0 ? 'ahead of' : 'behind'} DynamoDB's clock: correct it.`,
        );
      return result;
    },
    { step: 'deserialize' },
  );
  const { Table } = await client.send(command).catch(namingTable(TableName));
  if (!Table) throw new Error(NOT_FROM_AWS);
  return Table;
}
