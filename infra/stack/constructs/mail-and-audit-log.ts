import { Duration, Stack } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { MAIL_PARTITIONS, PARTITION } from '../../../lib/operations/item-kinds.ts';
import { consoleLinks } from '../../settings/mail.ts';
import type { AdministrationTable } from './administration-table.ts';
import { type Deployment, functionLog, GatehouseFunction } from './gatehouse-function.ts';

/** The only function that sends mail: the stream of the table hands it each new one. */
export class Mail extends Construct {
  readonly sender: GatehouseFunction;

  constructor(
    scope: Construct,
    id: string,
    { table, url, deployment }: { table: AdministrationTable; url: string; deployment: Deployment },
  ) {
    super(scope, id);
    const { settings } = deployment;
    const { sender, configurationSet, linkBase, confirmLinkBase, language, resetsPerHour } = {
      ...(settings.console && consoleLinks(url)),
      ...settings.mail,
    };
    if (!linkBase) throw new Error('Without a console, mails require the setting mail.linkBase');
    this.sender = new GatehouseFunction(this, 'Function', deployment, {
      file: 'send-mail',
      log: 'send-mail',
      description: 'sends mail',
      memorySize: 512,
      timeout: Duration.minutes(2),
      variables: {
        MAIL_SENDER: sender,
        MAIL_LINK_BASE: linkBase,
        ...(confirmLinkBase && { MAIL_CONFIRM_LINK_BASE: confirmLinkBase }),
        MAIL_LANGUAGE: language,
        RESETS_PER_HOUR: String(resetsPerHour),
        AUDIT_DAYS: String(settings.auditDays),
        ...(configurationSet && { MAIL_CONFIGURATION_SET: configurationSet }),
      },
    });
    table.grantTo(this.sender, {
      get: [...MAIL_PARTITIONS, PARTITION.mailCount, PARTITION.email, PARTITION.user],
      batchGet: [PARTITION.mailCount],
      put: [PARTITION.mailCount, PARTITION.resetKey, PARTITION.pendingEmail, PARTITION.audit],
      update: MAIL_PARTITIONS,
      delete: MAIL_PARTITIONS,
    });
    table.handOver(MAIL_PARTITIONS, this.sender, {
      batchSize: 10,
      parallelizationFactor: 10,
      maxRecordAge: Duration.hours(6),
    });
    const arn = (resource: string, resourceName: string) =>
      Stack.of(this).formatArn({ service: 'ses', resource, resourceName });
    this.sender.allow(
      ['ses:SendEmail'],
      [
        // SES authorizes against the verified identity: the address or its domain.
        arn('identity', sender),
        arn('identity', sender.slice(sender.indexOf('@') + 1)),
        // SES also requires the permission on the configuration set.
        ...(configurationSet ? [arn('configuration-set', configurationSet)] : []),
      ],
      { StringEquals: { 'ses:FromAddress': sender } },
    );
  }
}

/**
 * Adds an entry to the audit trail for the first use of an API token from a network, because the
 * functions that record uses may not write to the trail. With `auditLogDays`, it also writes each
 * new entry of the trail to a log, from which other systems receive it. With `ssoOnly`, it raises
 * an alarm when the emergency account is armed.
 */
export class AuditLog extends Construct {
  readonly writer: GatehouseFunction;

  constructor(scope: Construct, id: string, table: AdministrationTable, deployment: Deployment) {
    super(scope, id);
    const { auditLogDays, logRetentionDays, ssoOnly } = deployment.settings;
    this.writer = new GatehouseFunction(this, 'Function', deployment, {
      file: 'log-audit',
      log: functionLog(this, 'Log', 'audit', auditLogDays ?? logRetentionDays),
      description: 'audits the use of API tokens, and logs the audit trail',
      memorySize: 512,
      timeout: Duration.minutes(1),
      variables: { AUDIT_DAYS: String(deployment.settings.auditDays) },
    });
    const logged = auditLogDays === undefined ? [] : [PARTITION.audit];
    table.grantTo(this.writer, {
      get: [PARTITION.tokenUse, PARTITION.user],
      ...(logged.length > 0 && { batchGet: logged }),
      put: [PARTITION.audit],
      update: [PARTITION.tokenUse],
    });
    // The item itself, so that it raises the alarm however an operator has written it.
    const watched = ssoOnly ? [PARTITION.arming] : [];
    table.handOver([...logged, PARTITION.tokenUse, ...watched], this.writer, {
      // As many as can be read at once. The entries of a month have one partition key, and their
      // order would not outlast a second batch in work.
      batchSize: 100,
      parallelizationFactor: 1,
      // As long as the stream keeps them.
      maxRecordAge: Duration.hours(24),
    });
  }
}
