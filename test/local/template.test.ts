// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is the syntax of Fn::Sub
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { mappingsOf } from '../../infra/local/aws/event-source-mappings.ts';
import { readTemplate, resolve } from '../../infra/local/stack/template.ts';

let assembly: string;

beforeEach(() => {
  assembly = mkdtempSync(join(tmpdir(), 'gatehouse-template-'));
});
afterEach(() => rmSync(assembly, { recursive: true, force: true }));

/** Writes the cloud assembly that the CDK would synthesize for a stack of these resources. */
function synthesized(resources: Record<string, { Type: string; Properties?: object }>): string {
  const write = (file: string, content: object) =>
    writeFileSync(join(assembly, file), JSON.stringify(content));
  write('manifest.json', {
    artifacts: {
      Tree: { type: 'cdk:tree' },
      House: {
        type: 'aws:cloudformation:stack',
        properties: { templateFile: 'House.template.json' },
      },
    },
  });
  write('House.template.json', { Resources: resources });
  write('House.assets.json', { files: {} });
  return assembly;
}

describe('a template', () => {
  it('is rejected with the name of a resource type that the local cloud does not support', () => {
    const folder = synthesized({ Bell: { Type: 'AWS::SQS::Queue', Properties: {} } });

    expect(() => readTemplate(folder)).toThrow(
      'The local cloud does not support AWS::SQS::Queue, the type of Bell',
    );
  });

  it('is rejected with two event source mappings of one stream and function', () => {
    const mapping = (FunctionName: string, EventSourceArn: string) => ({
      Type: 'AWS::Lambda::EventSourceMapping',
      Properties: { FunctionName, EventSourceArn, FilterCriteria: { Filters: [] } },
    });
    const others = { Other: mapping('f', 'another'), OfAnother: mapping('g', 'stream') };
    const mappings = (resources: Parameters<typeof synthesized>[0]) =>
      mappingsOf(readTemplate(synthesized(resources)), String, String);

    expect(mappings({ First: mapping('f', 'stream'), ...others })).toHaveLength(3);
    expect(() =>
      mappings({ First: mapping('f', 'stream'), ...others, Second: mapping('f', 'stream') }),
    ).toThrow('Second maps a stream to a function that another mapping maps it to');
  });
});

describe('a value in a template', () => {
  const made = new Map([['Table', { ref: 'house-Table', attributes: { Arn: 'arn:table' } }]]);
  const value = (part: unknown) => resolve(part, made, 'eu-north-1');

  it.each([
    [{ 'Fn::ImportValue': 'x' }, 'Fn::ImportValue'],
    [{ 'Fn::Sub': ['${A}', { A: 'x' }] }, 'Fn::Sub'],
    [{ a: [{ 'Fn::If': ['c', 1, 2] }] }, 'Fn::If'],
    [{ Ref: 'Nowhere' }, 'Nowhere'],
    [{ 'Fn::GetAtt': ['Table', 'StreamArn'] }, 'Table.StreamArn'],
    [{ 'Fn::Sub': '${Nowhere}' }, 'Nowhere'],
  ])('%j is rejected with the name of the unknown part', (part, name) => {
    expect(() => value(part)).toThrow(name);
  });
});
