import { readFileSync } from 'node:fs';
import { join, resolve as resolvePath } from 'node:path';

/** A resource of a CloudFormation template. */
export interface Resource {
  readonly Type: string;
  readonly Properties: Record<string, unknown>;
}

/** What `Ref` and `Fn::GetAtt` mean for a resource that the local cloud has made. */
export interface Made {
  readonly ref: string;
  readonly attributes?: Readonly<Record<string, string>>;
}

/** A template as it was synthesized, and where the code of its functions lies. */
export interface Template {
  readonly stack: string;
  readonly region: string;
  /** All resources of a type, by logical id. */
  ofType(type: string): [logicalId: string, properties: Record<string, unknown>][];
  /** The folder that the asset with this object key is made from. */
  assetFolder(objectKey: string): string;
}

export const ACCOUNT = '000000000000';

/** The ARN of a key. */
export const keyArn = (region: string, id: string): string => `arn:aws:kms:${region}:${ACCOUNT}:key/${id}`;

/** The types that the local cloud runs, and those that only mean something on AWS. */
const KNOWN_TYPES = new Set([
  'AWS::ApiGatewayV2::Api',
  'AWS::ApiGatewayV2::Integration',
  'AWS::ApiGatewayV2::Route',
  'AWS::ApiGatewayV2::Stage',
  'AWS::CloudWatch::Alarm',
  'AWS::DynamoDB::Table',
  'AWS::Events::Rule',
  'AWS::IAM::Policy',
  'AWS::IAM::Role',
  'AWS::KMS::Key',
  'AWS::Lambda::EventInvokeConfig',
  'AWS::Lambda::Function',
  'AWS::Lambda::Permission',
  'AWS::Logs::LogGroup',
]);

interface Artifact {
  readonly type: string;
  readonly environment?: string;
  readonly properties?: { templateFile?: string };
}

/** Reads what the CDK has synthesized; a resource type that the local cloud does not know stops it here, by name. */
export function readTemplate(assembly: string): Template {
  const read = (file: string) => JSON.parse(readFileSync(join(assembly, file), 'utf8'));
  const artifacts: [string, Artifact][] = Object.entries(read('manifest.json').artifacts);
  const [stack, artifact] = artifacts.find(([, { type }]) => type === 'aws:cloudformation:stack') ?? [];
  if (!stack || !artifact?.properties?.templateFile) throw new Error(`${assembly} holds no stack`);

  const resources: Record<string, Resource> = read(artifact.properties.templateFile).Resources;
  for (const [logicalId, { Type }] of Object.entries(resources)) {
    if (!KNOWN_TYPES.has(Type)) throw new Error(`The local cloud does not know ${Type}, which ${logicalId} is`);
  }
  const files: Record<string, { source: { path: string } }> = read(`${stack}.assets.json`).files;

  return {
    stack,
    region: artifact.environment?.split('/').at(-1) ?? 'us-east-1',
    ofType: (type) =>
      Object.entries(resources)
        .filter(([, resource]) => resource.Type === type)
        .map(([logicalId, { Properties }]) => [logicalId, Properties]),
    assetFolder(objectKey) {
      const file = files[objectKey.replace(/\.zip$/, '')];
      if (!file) throw new Error(`${assembly} holds no asset ${objectKey}`);
      return resolvePath(assembly, file.source.path);
    },
  };
}

/** Evaluates the intrinsic functions in a value; one that the local cloud does not know stops it, by name. */
export function resolve<T = unknown>(value: unknown, made: ReadonlyMap<string, Made>, region: string): T {
  const pseudo: Record<string, string> = {
    'AWS::Region': region,
    'AWS::AccountId': ACCOUNT,
    'AWS::Partition': 'aws',
    'AWS::URLSuffix': 'amazonaws.com',
  };
  const ref = (name: string): string => {
    const found = pseudo[name] ?? made.get(name)?.ref;
    if (found === undefined) throw new Error(`The local cloud does not know what ${name} refers to`);
    return found;
  };
  const attribute = (logicalId: string, name: string): string => {
    const found = made.get(logicalId)?.attributes?.[name];
    if (found === undefined) throw new Error(`The local cloud does not know ${logicalId}.${name}`);
    return found;
  };
  const evaluate = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(evaluate);
    if (typeof part !== 'object' || part === null) return part;
    const [name, argument] = Object.entries(part)[0] ?? [];
    if (Object.keys(part).length === 1 && (name === 'Ref' || name?.startsWith('Fn::'))) {
      if (name === 'Ref') return ref(argument);
      if (name === 'Fn::GetAtt') return attribute(...(argument as [string, string]));
      if (name === 'Fn::Join') return (evaluate(argument[1]) as string[]).join(argument[0]);
      if (name === 'Fn::Sub' && typeof argument === 'string') {
        return argument.replace(/\$\{([^}]+)\}/g, (_, inner: string) => ref(inner));
      }
      throw new Error(`The local cloud does not know ${name} in this form: ${JSON.stringify(part)}`);
    }
    return Object.fromEntries(Object.entries(part).map(([key, inner]) => [key, evaluate(inner)]));
  };
  return evaluate(value) as T;
}
