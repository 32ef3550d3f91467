import { backupStackName, replicatedKeys } from '../../settings/backup.ts';
import { EDGE_REGION, edgeStackName } from '../../settings/edge.ts';
import { stackName } from '../../settings/environment.ts';
import { keyIds } from '../../settings/keys.ts';
import type { Settings } from '../../settings/settings.ts';
import type { Findings, Target } from './check.ts';
import * as account from './check-account.ts';
import * as deployed from './check-deployed.ts';
import { type DeployedStack, readStack } from './deployed.ts';
import { trail } from './trail.ts';

/** What is checked, the section of `docs/` that explains it, and what is read and found. */
type Check = readonly [about: string, section: string, findings: Findings];

const START = 'deploying.md#the-first-time';
const FAILED = 'deploying.md#if-the-first-deployment-fails';
const CERTIFICATES = 'runbook.md#certificates';
const TRAIL = 'deploying.md#a-trail';
const REPLICAS = 'restore.md#if-a-replica-exists-already';

/** The checks of an environment before its deployment, in their order. */
export function* checksOf(environment: string, settings: Settings): Generator<Check> {
  const { mail, domain, alarms, edge, backup, deployment } = settings;
  const target = (region: string, name: string): Target => {
    let read: Promise<DeployedStack | undefined> | undefined;
    const stack = () => {
      read ??= readStack(region, name);
      return read;
    };
    return { environment, settings, region, name, stack };
  };
  const api = target(settings.region, stackName(environment));
  yield [`CDK bootstrap in ${api.region}`, START, account.bootstrap(api)];
  yield [`stack ${api.name}`, FAILED, deployed.apiStack(api)];
  yield ['table', 'runbook.md#table-changes', deployed.table(api)];
  yield ['stream of the table', 'runbook.md#mail-not-sent', deployed.stream(api)];
  for (const id of keyIds(settings))
    yield [`key ${id}`, 'runbook.md#key-states', deployed.key(api, id)];
  yield ['earlier data', 'restore.md#deploying-it-again', deployed.earlierData(api)];
  yield [`sender ${mail.sender}`, 'deploying.md#dns-records', account.sender(api)];
  yield ['SES account', 'deploying.md#what-takes-days', account.ses(api)];
  yield ['Lambda concurrency', 'runbook.md#concurrency', account.lambdaQuota(api)];
  yield ['API Gateway quota', 'performance.md#throttles', account.gatewayQuota(api)];
  if (domain)
    yield [`certificate for ${domain.name}`, CERTIFICATES, account.certificate(api, domain)];
  if (alarms) {
    yield [`alarms to ${alarms}`, 'deploying.md#try-an-alarm', account.alarmTopic(api, alarms)];
    yield [`CloudTrail in ${api.region}`, TRAIL, trail(api)];
  }
  if (deployment === 'canary')
    yield ['canary', 'deploying-a-change.md#the-canary', deployed.canary(api)];
  if (edge) {
    const front = target(EDGE_REGION, edgeStackName(environment));
    const { hostName: name, certificate, secret } = edge;
    const ofHost = account.certificate(front, { name, certificate });
    yield [`CDK bootstrap in ${front.region}`, START, account.bootstrap(front)];
    yield [`stack ${front.name}`, FAILED, deployed.edgeStack(front)];
    yield [`certificate for ${name}`, CERTIFICATES, ofHost];
    yield [`secret ${secret}`, 'edge.md#replacing-the-secret', account.edgeSecret(front, edge)];
  }
  if (backup) {
    const copies = target(backup.region, backupStackName(environment));
    const section = 'restore.md#backups-in-another-region';
    yield ['AWS Backup', section, account.copiesBackups(api)];
    yield [`CDK bootstrap in ${copies.region}`, START, account.bootstrap(copies)];
    yield [`stack ${copies.name}`, FAILED, deployed.stackState(copies)];
    for (const id of replicatedKeys(settings.pepperKeys))
      yield [`replica of ${id}`, REPLICAS, deployed.replica(copies, api, id)];
    // The events of the second region are recorded and forwarded there.
    if (alarms) yield [`CloudTrail in ${copies.region}`, TRAIL, trail(copies)];
  }
}
