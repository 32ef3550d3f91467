import type { AwsReader } from '../aws-reader.ts';
import type { Missing } from './deployed.ts';

/** The services whose changes the rules report (infra/stack/constructs/watched-events.ts). */
const WATCHED = ['kms', 'dynamodb', 'backup'].map((service) => `${service}.amazonaws.com`);

/** Finds out whether CloudTrail records what the rules about keys, table and backups report. */
export async function trail(aws: AwsReader): Promise<Missing> {
  const { trailList }: { trailList: { TrailARN: string }[] } = await aws.read(
    'cloudtrail',
    'DescribeTrails',
  );
  const found = await Promise.all(trailList.map(({ TrailARN }) => check(aws, TrailARN)));
  if (found.includes(undefined)) return undefined;
  // One that cannot be read may be complete.
  const missing = found.find((one) => one?.[2] === 'warning') ?? found[0];
  if (missing) return missing;
  return [
    'there is no trail: nobody is told of changes of keys and table',
    aws.cli('cloudtrail create-trail --is-multi-region-trail --name NAME --s3-bucket-name BUCKET') +
      ` && ${aws.cli('cloudtrail start-logging --name NAME')}`,
  ];
}

async function check(aws: AwsReader, TrailARN: string): Promise<Missing> {
  const selectors = aws.cli(`cloudtrail get-event-selectors --trail-name ${TrailARN}`);
  try {
    const { IsLogging } = await aws.read('cloudtrail', 'GetTrailStatus', { Name: TrailARN });
    if (!IsLogging)
      return [`${TrailARN} was stopped`, aws.cli(`cloudtrail start-logging --name ${TrailARN}`)];
    const input = { TrailName: TrailARN };
    if (recordsChanges(await aws.read('cloudtrail', 'GetEventSelectors', input))) return undefined;
    return [
      `${TrailARN} does not record the changes of KMS, DynamoDB and AWS Backup`,
      `let its event selectors include all management events: ${selectors}`,
    ];
  } catch (error) {
    // One of the organization is listed in its accounts, which may not read all of it.
    return [
      `${TrailARN} cannot be read (${(error as Error).name}): its owner knows whether it records ` +
        'the changes of KMS, DynamoDB and AWS Backup',
      selectors,
      'warning',
    ];
  }
}

interface Selectors {
  readonly EventSelectors?: readonly {
    readonly IncludeManagementEvents?: boolean;
    readonly ReadWriteType?: string;
    readonly ExcludeManagementEventSources?: readonly string[];
  }[];
  readonly AdvancedEventSelectors?: readonly {
    readonly FieldSelectors: readonly {
      readonly Field: string;
      readonly Equals?: readonly string[];
      readonly NotEquals?: readonly string[];
    }[];
  }[];
}

/** Whether the selectors of a trail include every change of the services that are watched. */
function recordsChanges({ EventSelectors = [], AdvancedEventSelectors = [] }: Selectors): boolean {
  const isWatched = (source: string) => WATCHED.includes(source);
  return (
    EventSelectors.some(
      ({ IncludeManagementEvents, ReadWriteType, ExcludeManagementEventSources: excluded = [] }) =>
        IncludeManagementEvents && ReadWriteType !== 'ReadOnly' && !excluded.some(isWatched),
    ) ||
    AdvancedEventSelectors.some(({ FieldSelectors }) =>
      FieldSelectors.every(
        ({ Field, Equals = [], NotEquals = [] }) =>
          (Field === 'eventCategory' && Equals.includes('Management')) ||
          (Field === 'readOnly' && Equals.includes('false')) ||
          (Field === 'eventSource' && Equals.length === 0 && !NotEquals.some(isWatched)),
      ),
    )
  );
}
