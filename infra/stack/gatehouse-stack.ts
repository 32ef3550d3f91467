import { CfnOutput, RemovalPolicies, RemovalPolicy, Tags } from 'aws-cdk-lib';
import type { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { consoleRoutes, deployedRow, permissionsOf, type Route, routes } from '../../routes.ts';
import type { Settings } from '../settings/settings.ts';
import { AdministrationTable } from './constructs/administration-table.ts';
import { Alarms } from './constructs/alarms.ts';
import { Backup } from './constructs/backup.ts';
import { CanaryDeployments } from './constructs/canary-deployments.ts';
import { DailyVerification } from './constructs/daily-verification.ts';
import { EnvironmentDashboard } from './constructs/dashboard.ts';
import { EndpointFunction } from './constructs/endpoint-function.ts';
import { awsEnvironment, EnvironmentStack } from './constructs/environment-stack.ts';
import { type Deployment, functionLog } from './constructs/gatehouse-function.ts';
import { GatehouseHttpApi } from './constructs/http-api.ts';
import { IssuerKeys } from './constructs/issuer-keys.ts';
import { Keys } from './constructs/keys.ts';
import { AuditLog, Mail } from './constructs/mail-and-audit-log.ts';
import { metricsOf } from './constructs/metrics.ts';
import { MonthlyBudget } from './constructs/monthly-budget.ts';
import { Queries } from './constructs/queries.ts';

/** Resources that outlive a stack that keeps its data. */
const WITH_DATA = [
  'AWS::Backup::BackupVault',
  'AWS::DynamoDB::Table',
  'AWS::KMS::Key',
  'AWS::Logs::LogGroup',
];

interface Parts {
  readonly httpApi: GatehouseHttpApi;
  readonly table: AdministrationTable;
  readonly keys: Keys;
  readonly log: LogGroup;
  readonly functions: readonly EndpointFunction[];
  readonly mail: Mail;
  readonly auditLog: AuditLog;
  readonly verification: DailyVerification | undefined;
  readonly issuerKeys: IssuerKeys | undefined;
  readonly backup: Backup | undefined;
}

/** A table, its keys, and one HTTP API with a function for each handler that `routes.ts` names. */
export class GatehouseStack extends EnvironmentStack {
  constructor(scope: Construct, id: string, deployment: Deployment) {
    const { settings } = deployment;
    super(scope, id, deployment, {
      description:
        'Gatehouse: users, roles, passwords and integrations of a security-monitoring platform',
      env: awsEnvironment(settings, settings.region),
    });
    RemovalPolicies.of(this).apply(
      settings.keepData ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
      { applyToResourceTypes: WITH_DATA },
    );

    const keys = new Keys(this, 'Keys', settings);
    const table = new AdministrationTable(this, 'Administration', keys.table, settings);
    // The operator's commands read these tags. The ARNs are separated by spaces because a tag
    // cannot contain a comma.
    Tags.of(table).add('gatehouse:pepper-key', keys.pepper.map(({ keyArn }) => keyArn).join(' '));
    Tags.of(table).add('gatehouse:values-key', keys.values.keyArn);
    // A different id would replace the API, which would change its URL.
    const httpApi = new GatehouseHttpApi(this, 'Entrance', deployment);
    const mail = new Mail(this, 'Mail', { table, url: httpApi.url, deployment });
    // One for all: a saved query may name 50 log groups, and a stack may have 500 resources.
    const log = functionLog(this, 'EndpointLog', 'endpoints', settings.logRetentionDays);
    const functions = deployedRoutes(settings).map(([route, ...others]) => {
      const fn = new EndpointFunction(this, route, deployment, log);
      table.grantTo(fn, permissionsOf(route));
      keys.grantTo(fn, route);
      httpApi.addRoutes([route, ...others], fn.live ?? fn);
      return fn;
    });
    const auditLog = new AuditLog(this, 'AuditLog', table, deployment);
    const verification = settings.dailyVerification
      ? new DailyVerification(this, 'DailyVerification', table, deployment)
      : undefined;
    const issuerKeys =
      settings.issuers.length + settings.moduleIssuers.length > 0
        ? new IssuerKeys(this, 'IssuerKeys', table, deployment)
        : undefined;
    const backup = settings.backup
      ? new Backup(this, 'Backup', { ...deployment, backup: settings.backup, table, keys })
      : undefined;
    const parts = {
      httpApi,
      table,
      keys,
      log,
      functions,
      mail,
      auditLog,
      verification,
      issuerKeys,
      backup,
    };
    this.watch(deployment, parts);

    new CfnOutput(this, 'Url', { value: httpApi.url });
    new CfnOutput(this, 'TableName', { value: table.name });
  }

  /** Alarms, the deployments that they stop, the dashboard and the saved queries. */
  private watch(deployment: Deployment, parts: Parts): void {
    const { settings } = deployment;
    const { httpApi, table, keys, log, functions, mail, auditLog, verification, backup } = parts;
    const metrics = metricsOf({
      ...deployment,
      apiId: httpApi.id,
      tableName: table.name,
      mailFunction: mail.sender.functionName,
      auditFunction: auditLog.writer.functionName,
    });
    const { alarms: recipient, monthlyBudget: usDollars } = settings;
    const alarms = recipient
      ? new Alarms(this, 'Alarms', recipient, { ...deployment, metrics, keys, table, backup })
      : { all: [], ofDeployments: [] };
    if (recipient && usDollars)
      new MonthlyBudget(this, 'Budget', { ...deployment, usDollars, recipient });
    if (settings.deployment === 'canary')
      new CanaryDeployments(this, 'Deployments', { functions, alarms: alarms.ofDeployments });
    new EnvironmentDashboard(this, 'Dashboard', { settings, metrics, alarms: alarms.all, keys });
    new Queries(this, 'Queries', {
      access: httpApi.accessLogName,
      functions: log.logGroupName,
      mail: mail.sender.logGroup.logGroupName,
      audit: auditLog.writer.logGroup.logGroupName,
      verification: verification?.verifier.logGroup.logGroupName,
      issuerKeys: parts.issuerKeys?.fetcher.logGroup.logGroupName,
      hasEdge: settings.edge !== undefined,
      hasEmergencyAccount: settings.ssoOnly !== undefined,
    });
  }
}

/** The rows of each function, which has the permissions of the first. */
function deployedRoutes({ console, issuers, moduleIssuers }: Settings): [Route, ...Route[]][] {
  const rows = (console ? [...routes, ...consoleRoutes] : routes).map((row) =>
    deployedRow(row, {
      issuers: issuers.length > 0,
      moduleIssuers: moduleIssuers.length > 0,
    }),
  );
  return [...Map.groupBy(rows, ({ handler }) => handler).values()] as [Route, ...Route[]][];
}
