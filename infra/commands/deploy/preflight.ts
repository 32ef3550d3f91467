import { backupStackName, replicatedKeys } from '../../settings/backup.ts';
import { EDGE_REGION, edgeStackName } from '../../settings/edge.ts';
import { stackName } from '../../settings/environment.ts';
import { keyIds } from '../../settings/keys.ts';
import type { Settings } from '../../settings/settings.ts';
import { openEnvironment } from '../account.ts';
import { print } from '../command-line.ts';
import { defineCommand } from '../define-command.ts';
import type { Found, Target } from './check.ts';
import { type DeployedStack, readStack } from './check.ts';
import * as account from './check-account.ts';
import { trail } from './check-account.ts';
import * as deployed from './check-deployed.ts';

type Status = 'ready' | 'missing' | 'failed';

export const command = defineCommand({
  usage: 'npm run admin -- preflight --env NAME',
  help: `Reads, and does not change, what the deployment of an environment needs in its account and
regions, and whether what is deployed has kept its protections; prints a remedy for what is missing.

--env NAME  an environment, which has a file in environments/`,
  options: { env: { type: 'string' } },
  required: ['env'],
  statuses: {
    ready: [0, 'everything is ready, perhaps with warnings'],
    missing: [1, 'something is missing'],
    failed: [2, 'something could not be read, or wrong settings'],
  },
  seeAlso: 'docs/commands.md lists the permissions.',
  async run({ values: { env }, explain }): Promise<Status> {
    // Without valid credentials, every check would fail with the same sentence.
    const { name, settings, account } = await openEnvironment(env);
    print(`Reading what ${name} needs in ${settings.region} of the account ${account}`);
    let status: Status = 'ready';
    for (const [about, section, find] of checksOf(name, settings))
      try {
        const { severity, problem, remedy } = (await find()) ?? {};
        if (!problem) print(`ok       ${about}`);
        else print(`${severity}  ${about}: ${problem}\n  ${remedy}\n  ${section}`);
        if (severity === 'MISSING' && status === 'ready') status = 'missing';
      } catch (error) {
        print(`UNKNOWN  ${about}: ${explain(error)}`);
        status = 'failed';
      }
    // The CDK only warns of an option that it does not know.
    if (status === 'ready')
      print(`Everything is ready. Deploy with -c env=${name}: the CDK ignores --env`);
    return status;
  },
});

/** What is checked, the section of a document that explains it, and what reads and judges it. */
type Check = readonly [about: string, section: string, find: () => Found];

const START = 'docs/deploying.md#the-first-time';
const FAILED = 'docs/deploying.md#if-the-first-deployment-fails';
const CERTIFICATES = 'docs/runbook.md#certificates';
const TRAIL = 'docs/deploying.md#a-trail';
const REPLICAS = 'docs/restore.md#if-a-replica-exists-already';
const BACKUPS = 'docs/restore.md#backups-in-another-region';

export function checksOf(environment: string, settings: Settings): Check[] {
  const { mail, domain, alarms, edge, backup, deployment } = settings;
  const target = (region: string, name: string): Target => {
    let read: Promise<DeployedStack | undefined> | undefined;
    const stack = () => {
      read ??= readStack(region, name);
      return read;
    };
    return { environment, settings, region, name, stack };
  };
  const checks: Check[] = [];
  const check = (...row: Check) => checks.push(row);
  const api = target(settings.region, stackName(environment));
  check(`CDK bootstrap in ${api.region}`, START, () => account.bootstrap(api));
  check(`stack ${api.name}`, FAILED, () => deployed.apiStack(api));
  check('table', 'docs/runbook.md#table-changes', () => deployed.table(api));
  check('stream of the table', 'docs/runbook.md#mail-not-sent', () => deployed.stream(api));
  for (const id of keyIds(settings))
    check(`key ${id}`, 'docs/runbook.md#key-states', () => deployed.key(api, id));
  check('earlier data', 'docs/restore.md#deploying-it-again', () => deployed.earlierData(api));
  check(`sender ${mail.sender}`, 'docs/deploying.md#dns-records', () => account.sender(api));
  check('SES account', 'docs/deploying.md#what-takes-days', () => account.ses(api));
  check('Lambda concurrency', 'docs/runbook.md#concurrency', () => account.lambdaQuota(api));
  check('API Gateway quota', 'docs/performance.md#throttles', () => account.gatewayQuota(api));
  if (domain)
    check(`certificate for ${domain.name}`, CERTIFICATES, () => account.certificate(api, domain));
  if (alarms) {
    check(`alarms to ${alarms}`, 'docs/deploying.md#try-an-alarm', () =>
      account.topic(api, alarms),
    );
    check(`CloudTrail in ${api.region}`, TRAIL, () => trail(api));
  }
  if (deployment === 'canary')
    check('canary', 'docs/deploying-a-change.md#the-canary', () => deployed.canary(api));
  if (edge) {
    const front = target(EDGE_REGION, edgeStackName(environment));
    const { hostName: name, certificate, secret } = edge;
    const host = { name, certificate };
    check(`CDK bootstrap in ${front.region}`, START, () => account.bootstrap(front));
    check(`stack ${front.name}`, FAILED, () => deployed.edgeStack(front));
    check(`certificate for ${name}`, CERTIFICATES, () => account.certificate(front, host));
    check(`secret ${secret}`, 'docs/edge.md#replacing-the-secret', () =>
      account.secret(front, edge),
    );
  }
  if (backup) {
    const copies = target(backup.region, backupStackName(environment));
    check('AWS Backup', BACKUPS, () => account.copiesBackups(api));
    check(`CDK bootstrap in ${copies.region}`, START, () => account.bootstrap(copies));
    check(`stack ${copies.name}`, FAILED, () => deployed.stackState(copies));
    for (const id of replicatedKeys(settings.pepperKeys))
      check(`replica of ${id}`, REPLICAS, () => deployed.replica(copies, api, id));
    // The events of the second region are recorded and forwarded there.
    if (alarms) check(`CloudTrail in ${copies.region}`, TRAIL, () => trail(copies));
  }
  return checks;
}
