import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fullDiff } from '@aws-cdk/cloudformation-diff';
import { describe, expect, it } from 'vitest';
import { refusalsOf, type StackTemplate } from '../../infra/commands/deploy/refusals.ts';
import type { Settings } from '../../infra/settings/settings.ts';
import {
  assemblyOf,
  backupTemplateOf,
  propertiesOf,
  resourcesOf,
  templateOf,
} from '../support/stack/stack.ts';

/* What survives the region, and whether it would be of use there. */

const REPLICA = 'arn:aws:kms:eu-central-1:123456789012:key/mrk-1234abcd12ab34cd56ef1234567890ab';
const CHANGES: Partial<Settings> = {
  account: '123456789012',
  backup: { region: 'eu-west-1', days: 47 },
  pepperKeys: ['PepperKey2', 'PepperKey'],
  existing: { keys: { FactorKey: REPLICA } },
};
const main = templateOf('prod', CHANGES);
const backups = backupTemplateOf('prod', CHANGES);
const artifacts = JSON.parse(
  readFileSync(join(assemblyOf('prod', CHANGES), 'manifest.json'), 'utf8'),
).artifacts;

it('without the setting, there is no backup, no output and no second stack', () => {
  const { Resources, Outputs } = templateOf('prod').toJSON();

  expect(JSON.stringify(Resources)).not.toContain('AWS::Backup');
  expect(Object.keys(Outputs).filter((name) => name.endsWith('KeyArn'))).toEqual([]);
  expect(() => backupTemplateOf('prod', {})).toThrow('no such file');
});

describe('the stack in the other region', () => {
  it('is deployed after the one with the primary keys, and protected like it', () => {
    const { environment, dependencies, properties } = artifacts['GatehouseBackup-prod'];

    expect(environment).toBe('aws://123456789012/eu-west-1');
    expect(dependencies).toContain('Gatehouse-prod');
    expect(properties.terminationProtection).toBe(true);
  });

  it('has replicas of all keys that protect passwords, values and second factors', () => {
    const { Outputs } = main.toJSON();
    const ofOutput = (OutputName: string) => ({
      'Fn::GetStackOutput': { StackName: 'Gatehouse-prod', OutputName, Region: 'eu-central-1' },
    });
    const replicas = Object.entries(resourcesOf(backups, 'AWS::KMS::ReplicaKey'));

    expect(
      Object.fromEntries(replicas.map(([id, { Properties }]) => [id, Properties.PrimaryKeyArn])),
    ).toEqual({
      ValuesKey: ofOutput('ValuesKeyArn'),
      FactorKey: REPLICA,
      PepperKey2: ofOutput('PepperKey2Arn'),
      PepperKey: ofOutput('PepperKeyArn'),
    });
    for (const key of ['ValuesKey', 'PepperKey', 'PepperKey2'])
      expect(Outputs[`${key}Arn`].Value).toEqual({ 'Fn::GetAtt': [key, 'Arn'] });
  });

  it('creates the replicas last, so that whatever else fails leaves none', () => {
    const { Resources } = backups.toJSON() as { Resources: Record<string, { Type: string }> };
    const isReplica = (id: string) => Resources[id]?.Type === 'AWS::KMS::ReplicaKey';
    const others = Object.keys(Resources).filter((id) => !isReplica(id));

    expect(others.length).toBeGreaterThan(4);
    for (const replica of Object.values(resourcesOf(backups, 'AWS::KMS::ReplicaKey'))) {
      expect(new Set(replica.DependsOn)).toEqual(new Set(others));
      expect(replica.Properties.PendingWindowInDays).toBe(7);
    }
  });

  it('creates no replica that exists already', () => {
    const backup = { region: 'eu-west-1', days: 47, existingReplicas: ['PepperKey', 'FactorKey'] };
    const template = backupTemplateOf('prod', { ...CHANGES, backup });

    expect(Object.keys(resourcesOf(template, 'AWS::KMS::ReplicaKey'))).toEqual([
      'ValuesKey',
      'PepperKey2',
    ]);
  });

  it('is not deployed if it would get other replicas or another vault', () => {
    const before = backups.toJSON() as StackTemplate;
    const after = JSON.parse(
      JSON.stringify(before).replaceAll(/"(ValuesKey|Vault\w+)"/g, '"$1Moved"'),
    );

    expect(refusalsOf(before, after, fullDiff(before, after))).toEqual([
      expect.stringContaining('AWS::Backup::BackupVault GatehouseBackup-prod would move'),
      expect.stringContaining('another AWS::Backup::BackupVault would take the place'),
      expect.stringContaining('another AWS::KMS::ReplicaKey would take the place of ValuesKey'),
    ]);
  });

  it('keeps replicas and copies when it is deleted', () => {
    const kept = [
      ...Object.values(resourcesOf(backups, 'AWS::KMS::ReplicaKey')),
      ...Object.values(resourcesOf(backups, 'AWS::Backup::BackupVault')),
      ...Object.values(resourcesOf(main, 'AWS::Backup::BackupVault')),
    ];

    expect(kept).toHaveLength(6);
    for (const { DeletionPolicy, UpdateReplacePolicy } of kept)
      expect([DeletionPolicy, UpdateReplacePolicy]).toEqual(['RetainExceptOnCreate', 'Retain']);
  });
});

it('the other region locks its copies only if the settings say so', () => {
  const lockedDays = 21;
  const locked = {
    ...CHANGES,
    backup: { region: 'eu-west-1', days: 47, lockedDays },
  };
  const lockOf = (template: typeof main) =>
    propertiesOf(template, 'AWS::Backup::BackupVault').map(
      ({ LockConfiguration }) => LockConfiguration,
    );

  expect(lockOf(backupTemplateOf('prod', locked))).toEqual([
    { MinRetentionDays: 21, ChangeableForDays: 3 },
  ]);
  expect(lockOf(backups)).toEqual([undefined]);
  // Those in the region of the environment stay for a week only.
  expect(lockOf(templateOf('prod', locked))).toEqual([undefined]);
});

it('changes of replicas and copies are forwarded to the alarms', () => {
  const rules = propertiesOf(backups, 'AWS::Events::Rule');
  const joined = (text: string) => ({
    'Fn::Join': ['', ['arn:', { Ref: 'AWS::Partition' }, text]],
  });

  expect(rules.map(({ EventPattern }) => EventPattern.detail)).toMatchObject([
    {
      resources: { ARN: [{ prefix: joined(':kms:eu-west-1:123456789012:key/mrk-') }] },
    },
    { requestParameters: { backupVaultName: ['GatehouseBackup-prod'] } },
  ]);
  for (const { Targets } of rules)
    expect(JSON.stringify(Targets)).toMatch(/:events:eu-central-1:.*:event-bus\/default/);
  const silent = backupTemplateOf('prod', {
    ...CHANGES,
    deployment: 'all-at-once',
    alarms: undefined,
  });
  expect(propertiesOf(silent, 'AWS::Events::Rule')).toEqual([]);
});

it('the service control policy denies to all but one role what deletes backups', () => {
  const file = join(import.meta.dirname, '../../examples/service-control-policy.json');
  const [statement, exception] = JSON.parse(readFileSync(file, 'utf8')).Statement;
  const rule = propertiesOf(main, 'AWS::Events::Rule').find(({ EventPattern }) =>
    EventPattern?.detail.eventSource?.includes('backup.amazonaws.com'),
  );
  const [ofVaults] = rule?.EventPattern.detail.$or ?? [];
  const reported: string[] = ofVaults.eventName;

  expect(reported).toContain('DeleteRecoveryPoint');
  expect(statement.Action).toEqual(
    expect.arrayContaining(reported.map((name) => `backup:${name}`)),
  );
  expect([statement.Effect, exception.Effect]).toEqual(['Deny', 'Deny']);
  expect(statement.Condition).toEqual({ ArnNotLike: { 'aws:PrincipalArn': exception.Resource } });
});

describe('the plan', () => {
  it('copies every backup to the vault of the other region, where it stays for longer', () => {
    const [vault] = propertiesOf(backups, 'AWS::Backup::BackupVault');
    const [plan] = propertiesOf(main, 'AWS::Backup::BackupPlan');
    const [rule, ...others] = plan?.BackupPlan.BackupPlanRule ?? [];

    expect(others).toEqual([]);
    expect(rule).toMatchObject({
      ScheduleExpression: 'cron(0 2 * * ? *)',
      Lifecycle: { DeleteAfterDays: 7 },
      CopyActions: [{ Lifecycle: { DeleteAfterDays: 47 } }],
    });
    expect(JSON.stringify(rule.CopyActions)).toContain(
      `:backup:eu-west-1:123456789012:backup-vault:${vault?.BackupVaultName}"`,
    );
  });

  it('is for the table alone, also for one that the stack adopts', () => {
    const selected = (template = main) =>
      propertiesOf(template, 'AWS::Backup::BackupSelection').map(
        ({ BackupSelection }) => BackupSelection.Resources,
      );
    const tableStream =
      'arn:aws:dynamodb:eu-central-1:123456789012:table/restored/stream/2030-01-01T00:00:00.000';
    const adopted = templateOf('prod', {
      ...CHANGES,
      existing: { tableStream },
    });

    expect(selected()).toEqual([[{ 'Fn::GetAtt': ['Table', 'Arn'] }]]);
    expect(JSON.stringify(selected(adopted))).toContain('table/restored');
  });
});
