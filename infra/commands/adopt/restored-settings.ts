import { isDeepStrictEqual } from 'node:util';
import {
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  type DynamoDBClient,
  ResourceNotFoundException,
  type TableDescription,
  TagResourceCommand,
  UpdateContinuousBackupsCommand,
  UpdateTableCommand,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { CLOCK_DIFFERENCE_SECONDS_MAX } from '../../../lib/restore/adopt-table.ts';
import { NOT_FROM_AWS } from '../../../lib/table/not-from-aws.ts';
import { listTags } from '../table-tags.ts';

/*
 * The settings of a table that a restore from a backup does not copy.
 * infra/stack/constructs/administration-table.ts sets the same on a new table.
 */

/** The stream of a table that triggers the function which sends mails. */
const STREAM = { StreamEnabled: true, StreamViewType: 'KEYS_ONLY' } as const;

/** How long to wait until the stream is enabled. */
const WAIT_SECONDS_MAX = 300;

/** What an operator states about a restored table. */
export interface Wishes {
  /** The table whose tags and maximum throughput are copied. */
  readonly like?: string | undefined;
  /** The tags to set by name; they take precedence over those of `like`. */
  readonly tags: Readonly<Record<string, string>>;
  /** Whether the table is protected against deletion and can be restored to a point in time. */
  readonly isProtected: boolean;
}

const REQUIRED_TAGS = {
  'gatehouse:environment': '--environment NAME',
  'gatehouse:pepper-key': '--pepper-key ARN',
  'gatehouse:values-key': '--values-key ARN',
};

/**
 * Reads what is missing, and changes nothing. Throws a sentence if the table cannot be put into
 * service. Returns a function that changes the settings, which can be repeated, and returns a
 * sentence about each.
 */
export async function planSettings(
  client: DynamoDBClient,
  TableName: string,
  { like, tags: wishedTags, isProtected }: Wishes,
): Promise<() => Promise<string[]>> {
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
  const model = like === undefined ? undefined : await describe(client, like);
  // Functions may use only the key of the original table.
  if (model && keyOf(table) !== keyOf(model))
    throw new Error(
      `${TableName} is encrypted under ${keyOf(table)}, ${like} under ${keyOf(model)}: ` +
        'restore it under that key.',
    );
  const tags = {
    ...(await listTags(client, table.TableArn)),
    ...(model && (await listTags(client, model.TableArn))),
    ...wishedTags,
  };
  for (const [tag, option] of Object.entries(REQUIRED_TAGS))
    if (!tags[tag])
      throw new Error(`${TableName} lacks the tag ${tag}: add --like TABLE or ${option}.`);
  const maximum = model?.OnDemandThroughput ?? table.OnDemandThroughput;

  return async () => {
    const Tags = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
    await client.send(new TagResourceCommand({ ResourceArn: table.TableArn, Tags }));
    const { TimeToLiveDescription } = await client.send(
      new DescribeTimeToLiveCommand({ TableName }),
    );
    // DynamoDB rejects enabling it twice.
    if (!/^ENABL/.test(TimeToLiveDescription?.TimeToLiveStatus ?? '')) {
      const TimeToLiveSpecification = { AttributeName: 'expires', Enabled: true };
      await client.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }));
    }
    if (isProtected) {
      const PointInTimeRecoverySpecification = { PointInTimeRecoveryEnabled: true };
      await client.send(
        new UpdateContinuousBackupsCommand({ TableName, PointInTimeRecoverySpecification }),
      );
    }
    const streamArn = StreamEnabled ? table.LatestStreamArn : await enableStream(client, TableName);
    const update = {
      ...(isProtected && !table.DeletionProtectionEnabled && { DeletionProtectionEnabled: true }),
      ...(!isDeepStrictEqual(maximum, table.OnDemandThroughput) && { OnDemandThroughput: maximum }),
    };
    if (Object.keys(update).length > 0)
      await client.send(new UpdateTableCommand({ TableName, ...update }));
    return [
      `Tags: ${Object.keys(tags).sort().join(', ')}`,
      'Expired items are deleted (time to live on expires)',
      isProtected
        ? 'Deletion protection and point-in-time recovery are enabled'
        : 'The table is not protected',
      maximum
        ? `Maximum: ${maximum.MaxReadRequestUnits} read and ${maximum.MaxWriteRequestUnits} ` +
          'write units a second'
        : 'Maximum: none. The deployment that adopts the table prints the command that sets ' +
          'tableMaximum',
      `Stream, of keys only. The setting of cdk.json: "existing": { "table": "${TableName}", ` +
        `"tableStream": "${streamArn}" }`,
    ];
  };
}

const keyOf = ({ SSEDescription }: TableDescription): string =>
  SSEDescription?.KMSMasterKeyArn ?? 'a key of AWS';

/** Waits until the table accepts other updates. Returns the ARN of the stream. */
async function enableStream(
  client: DynamoDBClient,
  TableName: string,
): Promise<string | undefined> {
  await client.send(new UpdateTableCommand({ TableName, StreamSpecification: STREAM }));
  await waitUntilTableExists(
    { client, maxWaitTime: WAIT_SECONDS_MAX, minDelay: 1, maxDelay: 5 },
    { TableName },
  );
  const { Table } = await client.send(new DescribeTableCommand({ TableName }));
  return Table?.LatestStreamArn;
}

async function describe(client: DynamoDBClient, TableName: string): Promise<TableDescription> {
  const command = new DescribeTableCommand({ TableName });
  command.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      requireRightClock((result.response as { headers: Record<string, string> }).headers.date);
      return result;
    },
    { step: 'deserialize' },
  );
  const { Table } = await client.send(command).catch((error) => {
    throw error instanceof ResourceNotFoundException ? noTable(TableName) : error;
  });
  if (!Table) throw new Error(NOT_FROM_AWS);
  return Table;
}

/** Tells the operator which of two tables is missing. */
export const noTable = (name: string) =>
  new Error(
    `There is no table ${name} in this account and region: check the credentials and AWS_REGION.`,
  );

/**
 * Takes the `Date` header of a response. Without it, as from an engine, there is nothing to
 * compare.
 */
function requireRightClock(date = ''): void {
  const aheadSeconds = Math.round((Date.now() - Date.parse(date)) / 1000);
  if (Number.isNaN(aheadSeconds) || Math.abs(aheadSeconds) <= CLOCK_DIFFERENCE_SECONDS_MAX) return;
  const direction = aheadSeconds > 0 ? 'ahead of' : 'behind';
  throw new Error(
    `The clock of this machine is ${Math.abs(aheadSeconds)} seconds ${direction} that of ` +
      'DynamoDB: correct it.',
  );
}
