import { fullDiff } from '@aws-cdk/cloudformation-diff';
import { describe, expect, it } from 'vitest';
import { refusalsOf, type StackTemplate } from '../../infra/commands/deploy/refusals.ts';
import { releasedAssembly, releasedTemplate, WITH_EDGE } from '../support/release/release.ts';
import { edgeTemplateOf, templateOf } from '../support/stack/stack.ts';

/* Whether the stacks of the last release can be updated to the present ones. */

// The account of the examples.
const account = '123456789012';
const withEdge = { account, ...WITH_EDGE };

/** The templates of this source, by the names of their stacks. */
const present: Readonly<Record<string, StackTemplate>> = {
  'Gatehouse-dev': templateOf('dev', { account }).toJSON() as StackTemplate,
  'Gatehouse-staging': templateOf('staging', withEdge).toJSON() as StackTemplate,
  'GatehouseEdge-staging': edgeTemplateOf('staging', withEdge).toJSON() as StackTemplate,
  'Gatehouse-prod': templateOf('prod', { account }).toJSON() as StackTemplate,
};

function refusals(before: StackTemplate, after: StackTemplate): string[] {
  return refusalsOf(before, after, fullDiff(structuredClone(before), structuredClone(after)));
}

it.skipIf(!releasedAssembly('dev')).each([
  ['dev', 'Gatehouse-dev'],
  ['staging', 'Gatehouse-staging'],
  ['staging', 'GatehouseEdge-staging'],
  ['prod', 'Gatehouse-prod'],
] as const)('%s can be updated, and the identities and data of %s stay', (environment, stack) => {
  const released = releasedTemplate(environment, stack);

  expect(refusals(released, present[stack] as StackTemplate)).toEqual([]);
});

it('replaces a compromised key of tokens in one deployment', () => {
  const keys = { signingKeys: ['SigningKey2'], moduleKeys: ['ModuleKey2'] };
  const after = templateOf('prod', { account, ...keys }).toJSON() as StackTemplate;

  expect(refusals(present['Gatehouse-prod'] as StackTemplate, after)).toEqual([]);
});

describe('an update is refused', () => {
  /** The template with a resource under another logical id, also where others refer to it. */
  const renamed = (template: StackTemplate, id: string): StackTemplate =>
    JSON.parse(JSON.stringify(template).replaceAll(`"${id}"`, `"${id}Moved"`));

  it.each([
    ['Gatehouse-prod', ['ApiGatewayV2::Api', 'ApiGatewayV2::Route', 'ApiGatewayV2::Stage']],
    ['Gatehouse-prod', ['CloudWatch::Alarm', 'CloudWatch::Dashboard', 'SNS::Topic']],
    ['Gatehouse-prod', ['DynamoDB::Table', 'KMS::Key', 'Lambda::Alias']],
    ['Gatehouse-prod', ['Lambda::EventSourceMapping', 'Logs::LogGroup', 'Logs::QueryDefinition']],
    ['Gatehouse-staging', ['ApiGatewayV2::ApiMapping', 'ApiGatewayV2::DomainName']],
    ['GatehouseEdge-staging', ['CloudFront::Distribution', 'CloudFront::Function']],
    ['GatehouseEdge-staging', ['CloudFront::OriginRequestPolicy']],
  ])('in %s if another construct gets the identity of one of %j', (stack, types) => {
    const before = present[stack] as StackTemplate;
    for (const type of types) {
      const ids = Object.keys(before.Resources);
      const id = ids.find((each) => before.Resources[each]?.Type === `AWS::${type}`) ?? '';

      const sentences = refusals(before, renamed(before, id));

      expect(
        sentences.filter((sentence) => sentence.includes(id)),
        type,
      ).not.toEqual([]);
    }
  });

  it('if a setting or the code would replace what lasts', () => {
    const before = present['Gatehouse-prod'] as StackTemplate;
    const text = JSON.stringify(before);
    const after = text.replace('"KeySchema"', '"TableName":"Other","KeySchema"');

    expect(after).not.toBe(text);
    expect(refusals(before, JSON.parse(after))).toEqual([
      'Table (AWS::DynamoDB::Table) would be replaced',
    ]);
  });
});
