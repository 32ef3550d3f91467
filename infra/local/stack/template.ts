import { readFileSync } from 'node:fs';
import { join, resolve as resolvePath } from 'node:path';

/** The values that `Ref` and `Fn::GetAtt` return for a resource. */
export interface ReturnValues {
  readonly ref: string;
  readonly attributes?: Readonly<Record<string, string>>;
}

export type Template = ReturnType<typeof readTemplate>;

export const ACCOUNT = '000000000000';

export const keyArn = (region: string, id: string): string =>
  `arn:aws:kms:${region}:${ACCOUNT}:key/${id}`;

/** The types that the local cloud runs, and those that have an effect only on AWS. */
const SUPPORTED_TYPES: Readonly<Record<string, readonly string[]>> = {
  ApiGatewayV2: ['Api', 'ApiMapping', 'DomainName', 'Integration', 'Route', 'Stage'],
  Backup: ['BackupPlan', 'BackupSelection', 'BackupVault'],
  Budgets: ['Budget'],
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

interface TemplateFile {
  readonly Resources: Record<string, { Type: string; Properties: Record<string, unknown> }>;
  readonly Outputs?: Record<string, { Value: unknown }>;
}

/** Throws an error that names the first unsupported resource type. */
export function readTemplate(assembly: string) {
  const read = (file: string) => JSON.parse(readFileSync(join(assembly, file), 'utf8'));
  const artifacts = Object.entries<{
    type: string;
    environment?: string;
    properties?: { templateFile?: string };
  }>(read('manifest.json').artifacts);
  // The stacks of the edge and of the backups come after the stack of the API.
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
    ofType: (type: string): [logicalId: string, properties: Record<string, unknown>][] =>
      Object.entries(resources)
        .filter(([, resource]) => resource.Type === type)
        .map(([logicalId, { Properties }]) => [logicalId, Properties]),
    /** The value may contain intrinsic functions. */
    output: (name: string): unknown => outputs[name]?.Value,
    assetFolder(objectKey: string): string {
      const file = files[objectKey.replace(/\.zip$/, '')];
      if (!file) throw new Error(`${assembly} contains no asset ${objectKey}`);
      return resolvePath(assembly, file.source.path);
    },
  };
}

/** Throws an error that names the first unsupported intrinsic function. */
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
  const found = (result: string | undefined, problem: string): string => {
    if (result === undefined) throw new Error(`The local cloud ${problem}`);
    return result;
  };
  const ref = (name: string): string =>
    found(pseudo[name] ?? resources.get(name)?.ref, `cannot resolve a reference to ${name}`);
  const evaluate = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(evaluate);
    if (typeof part !== 'object' || part === null) return part;
    const [name, argument] = Object.entries(part)[0] ?? [];
    if (Object.keys(part).length === 1 && (name === 'Ref' || name?.startsWith('Fn::'))) {
      if (name === 'Ref') return ref(argument);
      if (name === 'Fn::GetAtt') {
        const [id, attribute] = argument;
        const value = resources.get(id)?.attributes?.[attribute];
        return found(value, `does not support ${id}.${attribute}`);
      }
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
