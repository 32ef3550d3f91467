import { Stack } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { Route } from '../../routes.ts';
import type { Settings } from '../settings.ts';

/** Mail through SES; grants each function that sends mail its sender, link, templates and permission to send. */
export class Mail extends Construct {
  private readonly mail: Settings['mail'];

  constructor(scope: Construct, id: string, { mail }: Settings) {
    super(scope, id);
    this.mail = mail;
  }

  grantTo(fn: LambdaFunction, { permissions }: Route): void {
    if (!permissions.mail) return;
    const { sender, configurationSet, linkBase, templates } = this.mail;
    fn.addEnvironment('MAIL_SENDER', sender);
    fn.addEnvironment('MAIL_LINK_BASE', linkBase);
    fn.addEnvironment('MAIL_TEMPLATES', JSON.stringify(templates));
    if (configurationSet) fn.addEnvironment('MAIL_CONFIGURATION_SET', configurationSet);
    const arn = (resource: string, resourceName: string) =>
      Stack.of(this).formatArn({ service: 'ses', resource, resourceName });
    fn.addToRolePolicy(
      new PolicyStatement({
        actions: ['ses:SendEmail'],
        resources: [
          // The verified identity is either the address or its domain; SES authorizes against the one that exists.
          arn('identity', sender),
          arn('identity', sender.slice(sender.indexOf('@') + 1)),
          // SES requires the permission on the configuration set as well, under the same condition.
          ...(configurationSet ? [arn('configuration-set', configurationSet)] : []),
        ],
        conditions: { StringEquals: { 'ses:FromAddress': sender } },
      }),
    );
  }
}
