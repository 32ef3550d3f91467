import { readFileSync } from 'node:fs';
import { join, resolve as resolvePath } from 'node:path';

interface Resource {
  readonly Type: string;
  readonly Properties: Record<string, unknown>;
}

export interface ReturnValues {
  readonly ref: string;
  readonly attributes?: Readonly<Record<string, string>>;
}

export interface Template {
  readonly stack: string;
  readonly region: string;
  ofType(type: string): [logicalId: string, properties: Record<string, unknown>][];
  /**
   * The value of an output, which may contain intrinsic functions; undefined if there is no such
   * output.
   */
  output(name: string): unknown;
  assetFolder(objectKey: string): string;
}

export const ACCOUNT = '000000000000';

export const keyArn = (region: string, id: string): string =>
  `arn:aws:kms:${region}:${ACCOUNT}:key/${id}`;

/**
 * The types that the local cloud runs, and those that it can ignore because they have an effect
 * only on AWS.
 */
const SUPPORTED_TYPES: Readonly<Record<string, readonly string[]>> = {
  ApiGatewayV2: ['Api', 'ApiMapping', 'DomainName', 'Integration', 'Route', 'Stage'],
  CloudWatch: ['Alarm', 'Dashboard'],
  CodeDeploy: ['Application', 'DeploymentGroup'],
  DynamoDB: ['Table'],
  Events: ['Rule'],
  IAM: ['Policy', 'Role'],
  KMS: ['Key'],
  Lambda: ['Alias', 'EventInvokeConfig', 'EventSourceMapping', 'Function', 'Permission', 'Version'],
  Logs: ['LogGroup', 'MetricFilter', 'QueryDefinition'],
  SNS: ['Subscription', 'Topic', 'TopicPolicy'],
};

interface Artifact {
  readonly type: string;
  readonly environment?: string;
  readonly properties?: { templateFile?: string };
}

interface TemplateFile {
  readonly Resources: Record<string, Resource>;
  readonly Outputs?: Record<string, { Value: unknown }>;
}

export function readTemplate(assembly: string): Template {
  const read = (file: string) => JSON.parse(readFileSync(join(assembly, file), 'utf8'));
  const artifacts: [string, Artifact][] = Object.entries(read('manifest.json').artifacts);
  // Without the edge, whose stack comes after that of the API.
  const [stack, artifact] =
    artifacts.find(([, { type }]) => type === 'aws:cloudformation:stack') ?? [];
  if (!stack || !artifact?.properties?.templateFile)
    throw new Error(`${assembly} contains no stack`);

  const { Resources: resources, Outputs: outputs = {} }: TemplateFile = read(
    artifact.properties.templateFile,
  );
  for (const [logicalId, { Type }] of Object.entries(resources)) {
    const [, service = '', type = ''] = Type.split('::');
    if (!SUPPORTED_TYPES[service]?.includes(type))
      throw new Error(`The local cloud does not support ${Type}, the type of ${logicalId}`);
  }
  const files: Record<string, { source: { path: string } }> = read(`${stack}.assets.json`).files;

  return {
    stack,
    region: artifact.environment?.split('/').at(-1) ?? 'us-east-1',
    ofType: (type) =>
      Object.entries(resources)
        .filter(([, resource]) => resource.Type === type)
        .map(([logicalId, { Properties }]) => [logicalId, Properties]),
    output: (name) => outputs[name]?.Value,
    assetFolder(objectKey) {
      const file = files[objectKey.replace(/\.zip$/, '')];
      if (!file) throw new Error(`${assembly} contains no asset ${objectKey}`);
      return resolvePath(assembly, file.source.path);
    },
  };
}

export function resolve<T = unknown>(
  value: unknown,
  resources: ReadonlyMap<string, ReturnValues>,
  region: string,
): T {
  const pseudo: Record<string, string> = {
    'AWS::Region': region,
    'AWS::AccountId': ACCOUNT,
    'AWS::Partition': 'aws',
    'AWS::URLSuffix': 'amazonaws.com',
  };
  const ref = (name: string): string => {
    const found = pseudo[name] ?? resources.get(name)?.ref;
    if (found === undefined)
      throw new Error(`The local cloud cannot resolve a reference to ${name}`);
    return found;
  };
  const attribute = (logicalId: string, name: string): string => {
    const found = resources.get(logicalId)?.attributes?.[name];
    if (found === undefined)
      throw new Error(`The local cloud does not support ${logicalId}.${name}`);
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
      throw new Error(
        `The local cloud does not support ${name} in this form: ${JSON.stringify(part)}`,
      );
    }
    return Object.fromEntries(Object.entries(part).map(([key, inner]) => [key, evaluate(inner)]));
  };
  return evaluate(value) as T;
}
