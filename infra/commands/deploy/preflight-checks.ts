import { backupStackName, replicatedKeys } from '../../settings/backup.ts';
import { EDGE_REGION, edgeStackName } from '../../settings/edge.ts';
import { stackName } from '../../settings/environment.ts';
import { keyIds } from '../../settings/keys.ts';
import type { Settings } from '../../settings/settings.ts';
import type { Row, Target } from './check.ts';
import * as account from './check-account.ts';
import * as deployed from './check-deployed.ts';
import { readStack } from './deployed.ts';
import { trail } from './trail.ts';

/** What is checked, the section of `docs/` that explains it, and how it is read and judged. */
type Check = readonly [name: string, section: string, rows: () => Promise<readonly Row[]>];

/** The checks of an environment before its deployment, in their order. */
export function checksOf(environment: string, settings: Settings): readonly Check[] {
  const { mail, domain, alarms, edge, backup, deployment } = settings;
  const target = (region: string, name: string): Target => ({
    environment,
    settings,
    region,
    name,
    stack: once(() => readStack(region, name)),
  });
  const api = target(settings.region, stackName(environment));
  const START = 'deploying.md#the-first-time';
  const FAILED = 'deploying.md#if-the-first-deployment-fails';
  const CERTIFICATES = 'runbook.md#certificates';
  const TRAIL = 'deploying.md#a-trail';
  return [
    [`CDK bootstrap in ${api.region}`, START, () => account.bootstrap(api)],
    [`stack ${api.name}`, FAILED, () => deployed.apiStack(api)],
    ['table', 'runbook.md#table-changes', () => deployed.table(api)],
    ['stream of the table', 'runbook.md#mail-not-sent', () => deployed.stream(api)],
    ...keyIds(settings).map(
      (id): Check => [`key ${id}`, 'runbook.md#key-states', () => deployed.key(api, id)],
    ),
    ['earlier data', 'restore.md#deploying-it-again', () => deployed.earlierData(api)],
    [`sender ${mail.sender}`, 'deploying.md#dns-records', () => account.sender(api)],
    ...when(mail.configurationSet, (set) => [
      [`configuration set ${set}`, 'deploying.md#mail', () => account.configurationSet(api, set)],
    ]),
    ['SES account', 'deploying.md#what-takes-days', () => account.ses(api)],
    ['Lambda concurrency', 'runbook.md#concurrency', () => account.lambdaQuota(api)],
    ['API Gateway quota', 'performance.md#throttles', () => account.gatewayQuota(api)],
    ...when(domain, (domain) => [
      [`certificate for ${domain.name}`, CERTIFICATES, () => account.certificate(api, domain)],
    ]),
    ...when(alarms, (alarms) => [
      [`alarms to ${alarms}`, 'deploying.md#try-an-alarm', () => account.alarmTopic(api, alarms)],
      [`CloudTrail in ${api.region}`, TRAIL, () => trail(api)],
    ]),
    ...when(deployment === 'canary', () => [
      ['canary', 'deploying-a-change.md#the-canary', () => deployed.canary(api)],
    ]),
    ...when(edge, (edge) => {
      const front = target(EDGE_REGION, edgeStackName(environment));
      const { hostName: name, certificate, secret } = edge;
      return [
        [`CDK bootstrap in ${front.region}`, START, () => account.bootstrap(front)],
        [`stack ${front.name}`, FAILED, () => deployed.edgeStack(front)],
        [
          `certificate for ${name}`,
          CERTIFICATES,
          () => account.certificate(front, { name, certificate }),
        ],
        [`secret ${secret}`, 'edge.md#replacing-the-secret', () => account.edgeSecret(front, edge)],
      ];
    }),
    ...when(backup, (backup) => {
      const copies = target(backup.region, backupStackName(environment));
      const REPLICAS = 'restore.md#if-a-replica-exists-already';
      return [
        ['AWS Backup', 'restore.md#backups-in-another-region', () => account.copiesBackups(api)],
        [`CDK bootstrap in ${copies.region}`, START, () => account.bootstrap(copies)],
        [`stack ${copies.name}`, FAILED, () => deployed.stackState(copies)],
        ...replicatedKeys(settings.pepperKeys).map(
          (id): Check => [`replica of ${id}`, REPLICAS, () => deployed.replica(copies, api, id)],
        ),
        // The events of the second region are recorded and forwarded there.
        ...when(alarms, () => [[`CloudTrail in ${copies.region}`, TRAIL, () => trail(copies)]]),
      ];
    }),
  ];
}

/** The checks of what the settings may not ask for. */
const when = <T>(
  asked: T | undefined | false,
  checks: (asked: T) => readonly Check[],
): readonly Check[] => (asked ? checks(asked) : []);

/** Reads once what several checks need. */
function once<T>(read: () => Promise<T>): () => Promise<T> {
  let response: Promise<T> | undefined;
  return () => {
    response ??= read();
    return response;
  };
}
