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

/** The settings that a table is to have. */
interface Plan extends Pick<Wishes, 'isProtected'> {
  readonly table: TableDescription;
  readonly tags: Readonly<Record<string, string>>;
  readonly maximum: TableDescription['OnDemandThroughput'];
}

const REQUIRED_TAGS = {
  'gatehouse:environment': '--environment NAME',
  'gatehouse:pepper-key': '--pepper-key ARN',
  'gatehouse:values-key': '--values-key ARN',
};

/**
 * Reads what is missing, and changes nothing. Throws a sentence if the table cannot be put into
 * service.
 */
export async function planSettings(
  client: DynamoDBClient,
  name: string,
  wishes: Wishes,
): Promise<Plan> {
  const table = await describe(client, name);
  if (table.TableStatus !== 'ACTIVE')
    throw new Error(`${name} is ${table.TableStatus}: run the command again when it is ACTIVE.`);
  requireUsableStream(table);
  const model = wishes.like === undefined ? undefined : await describe(client, wishes.like);
  if (model) requireSameKey(table, model);
  const tags = {
    ...(await listTags(client, table.TableArn)),
    ...(model && (await listTags(client, model.TableArn))),
    ...wishes.tags,
  };
  for (const [tag, option] of Object.entries(REQUIRED_TAGS))
    if (!tags[tag]) throw new Error(`${name} lacks the tag ${tag}: add --like TABLE or ${option}.`);
  return {
    table,
    tags,
    maximum: model?.OnDemandThroughput ?? table.OnDemandThroughput,
    isProtected: wishes.isProtected,
  };
}

/** Changes the settings to the planned ones. Can be repeated. Returns a sentence about each. */
export async function applySettings(client: DynamoDBClient, plan: Plan): Promise<string[]> {
  const { table, tags, maximum, isProtected } = plan;
  const { TableName, TableArn, DeletionProtectionEnabled = false } = table;
  const Tags = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
  await client.send(new TagResourceCommand({ ResourceArn: TableArn, Tags }));
  const { TimeToLiveDescription } = await client.send(new DescribeTimeToLiveCommand({ TableName }));
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
  const streamArn = await enableStream(client, table);
  const update = {
    ...(isProtected && !DeletionProtectionEnabled && { DeletionProtectionEnabled: true }),
    ...(!isSameMaximum(maximum, table.OnDemandThroughput) && { OnDemandThroughput: maximum }),
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
        `write units a second`
      : 'Maximum: none. The deployment that adopts the table prints the command that sets ' +
        'tableMaximum',
    `Stream, of keys only. The setting of cdk.json: "existing": { "table": "${TableName}", ` +
      `"tableStream": "${streamArn}" }`,
  ];
}

/** DynamoDB cannot change what an enabled stream contains. */
function requireUsableStream({ TableName, StreamSpecification }: TableDescription): void {
  if (
    !StreamSpecification?.StreamEnabled ||
    StreamSpecification.StreamViewType === STREAM.StreamViewType
  )
    return;
  throw new Error(
    `${TableName} has a stream of ${StreamSpecification.StreamViewType} instead of ` +
      `${STREAM.StreamViewType}: disable it ` +
      `with aws dynamodb update-table --table-name ${TableName} --stream-specification ` +
      `StreamEnabled=false.`,
  );
}

/**
 * Enables the stream unless it is enabled, and waits until the table accepts other updates. Returns
 * its ARN.
 */
async function enableStream(
  client: DynamoDBClient,
  table: TableDescription,
): Promise<string | undefined> {
  const { TableName, StreamSpecification, LatestStreamArn } = table;
  if (StreamSpecification?.StreamEnabled) return LatestStreamArn;
  await client.send(new UpdateTableCommand({ TableName, StreamSpecification: STREAM }));
  await waitUntilTableExists(
    { client, maxWaitTime: WAIT_SECONDS_MAX, minDelay: 1, maxDelay: 5 },
    { TableName },
  );
  const { Table } = await client.send(new DescribeTableCommand({ TableName }));
  return Table?.LatestStreamArn;
}

async function describe(client: DynamoDBClient, TableName: string): Promise<TableDescription> {
  try {
    const command = new DescribeTableCommand({ TableName });
    command.middlewareStack.add(
      (next) => async (args) => {
        const result = await next(args);
        requireRightClock((result.response as { headers: Record<string, string> }).headers.date);
        return result;
      },
      { step: 'deserialize' },
    );
    const { Table } = await client.send(command);
    if (!Table) throw new Error(NOT_FROM_AWS);
    return Table;
  } catch (error) {
    if (!(error instanceof ResourceNotFoundException)) throw error;
    throw new Error(
      `There is no table ${TableName} in this account and region: check the credentials and ` +
        `AWS_REGION.`,
    );
  }
}

/**
 * Takes the `Date` header of a response. Without it, as from an engine, there is nothing to
 * compare.
 */
function requireRightClock(date = ''): void {
  const aheadSeconds = Math.round((Date.now() - Date.parse(date)) / 1000);
  if (Number.isNaN(aheadSeconds) || Math.abs(aheadSeconds) <= CLOCK_DIFFERENCE_SECONDS_MAX) return;
  const difference =
    `${Math.abs(aheadSeconds)} seconds ` + `${aheadSeconds > 0 ? 'ahead of' : 'behind'}`;
  throw new Error(`The clock of this machine is ${difference} that of DynamoDB: correct it.`);
}

/** Functions may use only the key of the original table. */
function requireSameKey(table: TableDescription, model: TableDescription): void {
  const [own, expected] = [table, model].map(
    ({ SSEDescription }) => SSEDescription?.KMSMasterKeyArn ?? 'a key of AWS',
  );
  if (own !== expected)
    throw new Error(
      `${table.TableName} is encrypted under ${own}, ${model.TableName} under ${expected}: ` +
        `restore it under that key.`,
    );
}

const isSameMaximum = (one: Plan['maximum'], other: Plan['maximum']): boolean =>
  one?.MaxReadRequestUnits === other?.MaxReadRequestUnits &&
  one?.MaxWriteRequestUnits === other?.MaxWriteRequestUnits;
