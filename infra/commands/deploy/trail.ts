import { CloudTrail, type GetEventSelectorsResponse, type Trail } from '@aws-sdk/client-cloudtrail';
import { inRegion } from '../aws-clients.ts';
import { type Finding, type Found, missing, type Target, warning } from './check.ts';

/** The services whose changes the rules report (infra/stack/constructs/watched-events.ts). */
const WATCHED = ['kms', 'dynamodb', 'backup'].map((service) => `${service}.amazonaws.com`);

/** One trail must record what the rules about keys, table and backups report. */
export async function trail({ region }: Target): Found {
  const cloudTrail = new CloudTrail(inRegion(region));
  const { trailList = [] } = await cloudTrail.describeTrails({});
  const findings: Finding[] = [];
  for (const trail of trailList) {
    const finding = await check(cloudTrail, trail);
    if (!finding) return;
    findings.push(finding);
  }
  const update = 'aws cloudtrail update-trail --is-multi-region-trail --name ARN';
  const none = missing`there is no trail in ${region}: nobody is told of changes of keys and table
    create one of all regions, or let one of another region be of all: ${update}`;
  // A trail that cannot be read may be complete.
  return findings.find(({ severity }) => severity === 'WARNING') ?? findings[0] ?? none;
}

async function check(cloudTrail: CloudTrail, trail: Trail): Found {
  const { TrailARN: arn, HomeRegion, IsOrganizationTrail } = trail;
  const ofArn = `${arn} --region ${HomeRegion}`;
  try {
    const { IsLogging } = await cloudTrail.getTrailStatus({ Name: arn });
    if (!IsLogging)
      return missing`${arn} does not log: nobody is told of changes of keys and table
        aws cloudtrail start-logging --name ${ofArn}`;
    const read = `aws cloudtrail get-event-selectors --trail-name ${ofArn}`;
    const selectors = await cloudTrail.getEventSelectors({ TrailName: arn });
    if (!recordsChanges(selectors))
      return missing`${arn} does not record the changes of KMS, DynamoDB and AWS Backup: nobody is
        told of them
        let its event selectors include all management events: ${read}`;
  } catch (error) {
    // It is listed in the accounts of the organization, which may not read all of it.
    if (!IsOrganizationTrail) throw error;
    return warning`${arn} belongs to the organization, and cannot be read from here
      ask its owner whether it records all changes of KMS, DynamoDB and AWS Backup`;
  }
}

/** Whether the selectors of a trail include every change of the services that are watched. */
function recordsChanges(selectors: GetEventSelectorsResponse): boolean {
  const { EventSelectors = [], AdvancedEventSelectors = [] } = selectors;
  const includesWatched = (sources: readonly string[] = []) =>
    sources.some((source) => WATCHED.includes(source));
  return (
    EventSelectors.some(
      ({ IncludeManagementEvents, ReadWriteType, ExcludeManagementEventSources: excluded }) =>
        IncludeManagementEvents && ReadWriteType !== 'ReadOnly' && !includesWatched(excluded),
    ) ||
    AdvancedEventSelectors.some(({ FieldSelectors = [] }) =>
      FieldSelectors.every(
        ({ Field, Equals = [], NotEquals }) =>
          (Field === 'eventCategory' && Equals.includes('Management')) ||
          (Field === 'readOnly' && Equals.includes('false')) ||
          (Field === 'eventSource' && Equals.length === 0 && !includesWatched(NotEquals)),
      ),
    )
  );
}
