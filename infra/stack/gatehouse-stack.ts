import { CfnOutput, Stack, Tags } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { permissionsOf, routes } from '../../routes.ts';
import { AdministrationTable } from './constructs/administration-table.ts';
import { Alarms } from './constructs/alarms.ts';
import { CanaryDeployments } from './constructs/canary-deployments.ts';
import { DailyVerification } from './constructs/daily-verification.ts';
import { EnvironmentDashboard } from './constructs/dashboard.ts';
import { EndpointFunction } from './constructs/endpoint-function.ts';
import type { Deployment } from './constructs/gatehouse-function.ts';
import { GatehouseHttpApi } from './constructs/http-api.ts';
import { Keys } from './constructs/keys.ts';
import { Mail } from './constructs/mail.ts';
import { metricsOf } from './constructs/metrics.ts';
import { Queries } from './constructs/queries.ts';

/**
 * Gatehouse in one environment: a table, its keys, and one HTTP API with a function for each row of
 * `routes.ts`.
 */
export class GatehouseStack extends Stack {
  constructor(scope: Construct, id: string, deployment: Deployment) {
    const { environment, settings } = deployment;
    const tags = { 'gatehouse:environment': environment };
    super(scope, id, {
      description:
        'Gatehouse: users, roles, passwords and integrations of a security-monitoring platform',
      env: { region: settings.region },
      terminationProtection: settings.keepData && !settings.unprotected,
      // Tags of the stack itself; those of its resources are separate.
      tags,
    });
    for (const [name, value] of Object.entries(tags)) Tags.of(this).add(name, value);

    const keys = new Keys(this, 'Keys', settings);
    const table = new AdministrationTable(this, 'Administration', { ...settings, key: keys.table });
    // The operator's commands read these tags. The ARNs are separated by spaces because a tag
    // cannot contain a comma.
    Tags.of(table).add('gatehouse:pepper-key', keys.pepper.map(({ keyArn }) => keyArn).join(' '));
    Tags.of(table).add('gatehouse:values-key', keys.values.keyArn);
    const mail = new Mail(this, 'Mail', { table, ...deployment });
    // A different id would replace the API, which would change its URL.
    const httpApi = new GatehouseHttpApi(this, 'Entrance', { ...settings, environment });
    const functions: EndpointFunction[] = [];

    for (const route of routes) {
      const fn = new EndpointFunction(this, route.handler, { route, ...deployment });
      table.grantTo(fn, permissionsOf(route));
      keys.grantTo(fn, route);
      httpApi.addRoute(route, fn.live);
      functions.push(fn);
    }

    const verification = settings.dailyVerification
      ? new DailyVerification(this, 'DailyVerification', { table, ...deployment })
      : undefined;

    const metrics = metricsOf({
      environment,
      apiId: httpApi.id,
      tableName: table.name,
      mailFunction: mail.functionName,
    });
    const { alarms: recipient } = settings;
    const alarms = recipient
      ? new Alarms(this, 'Alarms', {
          ...settings,
          recipient,
          metrics,
          keyArns: keys.all.map(({ keyArn }) => keyArn),
        })
      : { all: [], ofDeployments: [] };
    if (settings.deployment === 'canary')
      new CanaryDeployments(this, 'Deployments', { functions, alarms: alarms.ofDeployments });
    new EnvironmentDashboard(this, 'Dashboard', {
      ...settings,
      metrics,
      alarms: alarms.all,
      keyIds: keys.all.map(({ keyId }) => keyId),
    });
    new Queries(this, 'Queries', {
      access: httpApi.accessLogName,
      functions: functions.map(({ logGroup }) => logGroup.logGroupName),
      mail: mail.logGroupName,
      verification: verification?.logGroupName,
      hasEdge: settings.edge !== undefined,
    });

    new CfnOutput(this, 'Url', { value: httpApi.url });
    new CfnOutput(this, 'TableName', { value: table.name });
  }
}
