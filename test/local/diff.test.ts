import { afterAll, expect, inject, it } from 'vitest';
import { runCommand } from '../support/commands/run-command.ts';
import { type ScriptedResponse, scriptedAws } from '../support/doubles/scripted-aws.ts';

/* `npm run admin -- diff` on a scripted AWS. test/stack/upgrade.test.ts has the rules. */

const stops: (() => void)[] = [];
afterAll(() => {
  for (const stop of stops) stop();
});

/** The response of CloudFormation for a running stack. */
const running = (template: object): ScriptedResponse => ({
  TemplateBody: JSON.stringify(template),
});

const table = (id: string) => ({
  Description: `'A' & <B>`,
  Resources: {
    [id]: {
      Type: 'AWS::DynamoDB::Table',
      Properties: {
        KeySchema: [
          { AttributeName: 'pk', KeyType: 'HASH' },
          { AttributeName: 'sk', KeyType: 'RANGE' },
        ],
      },
      Metadata: { 'aws:cdk:path': 'Gatehouse-dev/Administration/Table/Resource' },
    },
  },
});

it.each<[string, ScriptedResponse, number, RegExp, RegExp]>([
  [
    'there is no stack yet',
    { error: 'ValidationError', message: 'Stack with id Gatehouse-dev does not exist' },
    0,
    /^Gatehouse-dev does not exist: the deployment would create it\n$/,
    /^$/,
  ],
  [
    'the table stays',
    running(table('Table')),
    0,
    /^Changes of Gatehouse-dev\n.*\[\+\] AWS::KMS::Key (?!.*Metadata).*\[~\] AWS::DynamoDB::Table /s,
    /^$/,
  ],
  [
    'another table would take its place',
    running(table('FormerTable')),
    1,
    /\[-\] AWS::DynamoDB::Table /,
    /^REFUSED {2}Gatehouse-dev: another AWS::DynamoDB::Table would take the place of FormerTable\n$/,
  ],
  [
    'the template cannot be read',
    { error: 'AccessDenied', message: 'not authorized to perform cloudformation:GetTemplate' },
    2,
    /^$/,
    /cloudformation:GetTemplate/,
  ],
])('exits with the documented status if %s', async (_, template, status, out, error) => {
  const responses: Record<string, ScriptedResponse> = {
    GetCallerIdentity: { Account: '210987654321' },
    GetTemplate: template,
  };
  const { environment, stop } = await scriptedAws((operation) => responses[operation]);
  stops.push(stop);

  const options = ['--env', 'dev'];
  const run = await runCommand('diff', options, environment, inject('repository'));

  expect([run.code, run.stdout, run.stderr]).toEqual([
    status,
    expect.stringMatching(out),
    expect.stringMatching(error),
  ]);
});
