import { Duration, Stack, Validations } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { MAIL_PARTITIONS, PARTITION } from '../../../lib/table/keys.ts';
import type { Permissions } from '../../../routes.ts';
import type { AdministrationTable } from './administration-table.ts';
import { type Deployment, GatehouseFunction } from './gatehouse-function.ts';

interface Props extends Deployment {
  readonly table: AdministrationTable;
}

/** What the function does with items of the table, as documented in lib/table/keys.ts. */
const PERMISSIONS: Permissions = {
  get: [...MAIL_PARTITIONS, PARTITION.mailCount, PARTITION.email, PARTITION.user],
  batchGet: [PARTITION.mailCount],
  put: [PARTITION.mailCount, PARTITION.resetKey],
  update: MAIL_PARTITIONS,
  delete: MAIL_PARTITIONS,
};

/**
 * The only function that sends mail. The stream of the table hands it each mail that a transaction
 * has created.
 */
export class Mail extends Construct {
  readonly functionName: string;
  readonly logGroupName: string;

  constructor(scope: Construct, id: string, { table, ...deployment }: Props) {
    super(scope, id);
    const { sender, configurationSet, linkBase, templates, resetsPerHour } =
      deployment.settings.mail;
    const fn = new GatehouseFunction(this, 'Function', {
      ...deployment,
      file: 'send-mail',
      description: 'sends mail',
      memorySize: 512,
      timeout: Duration.minutes(2),
      variables: {
        MAIL_SENDER: sender,
        MAIL_LINK_BASE: linkBase,
        MAIL_TEMPLATES: JSON.stringify(templates),
        RESETS_PER_HOUR: String(resetsPerHour),
        ...(configurationSet && { MAIL_CONFIGURATION_SET: configurationSet }),
      },
    });
    table.grantTo(fn, PERMISSIONS);
    table.handOver(MAIL_PARTITIONS, fn);
    const arn = (resource: string, resourceName: string) =>
      Stack.of(this).formatArn({ service: 'ses', resource, resourceName });
    fn.addToRolePolicy(
      new PolicyStatement({
        actions: ['ses:SendEmail'],
        resources: [
          // The verified identity is either the address or its domain; SES authorizes against the
          // one that exists.
          arn('identity', sender),
          arn('identity', sender.slice(sender.indexOf('@') + 1)),
          // SES requires the permission on the configuration set as well, under the same condition.
          ...(configurationSet ? [arn('configuration-set', configurationSet)] : []),
        ],
        conditions: { StringEquals: { 'ses:FromAddress': sender } },
      }),
    );
    Validations.of(this).acknowledge({
      id: 'AwsSolutions::AwsSolutions-IAM5[Resource::*]',
      reason: 'dynamodb:ListStreams supports no resource',
    });
    this.functionName = fn.functionName;
    this.logGroupName = fn.logGroup.logGroupName;
  }
}
