import { type fullDiff, ResourceImpact } from '@aws-cdk/cloudformation-diff';

type Difference = ReturnType<typeof fullDiff>;

interface Resource {
  readonly Type: string;
  readonly Properties?: Readonly<Record<string, unknown>>;
  readonly Metadata?: Readonly<Record<string, string>>;
}

export interface StackTemplate {
  readonly Resources: Readonly<Record<string, Resource>>;
}

/** What is lost if another resource takes its place. */
const LASTING = [
  'AWS::DynamoDB::Table',
  'AWS::KMS::Key',
  'AWS::KMS::ReplicaKey',
  'AWS::Backup::BackupVault',
  'AWS::ApiGatewayV2::Api',
  'AWS::ApiGatewayV2::DomainName',
  'AWS::CloudFront::Distribution',
  'AWS::SNS::Topic',
];

/** Losing them only ends tokens in circulation: docs/keys.md replaces a compromised one at once. */
const KEYS_OF_TOKENS = /^(Signing|Module)Key/;

/** The properties whose resource has the name; the same name elsewhere is another one. */
const SCOPES = ['ApiId', 'FunctionName', 'Roles', 'Scope', 'EventSourceArn'];

/**
 * Why a deployment would fail or lose something, one sentence each. CloudFormation creates
 * resources before it deletes others, so a name that moves to another logical id exists already
 * when its new resource is created. `difference` is from `before` to `after`.
 */
export function refusalsOf(
  before: StackTemplate,
  after: StackTemplate,
  difference: Difference,
): string[] {
  const changes = difference.resources.changes;
  const idOf = new Map(
    Object.entries(before.Resources).flatMap(([id, resource]) =>
      identitiesOf(resource).map((identity) => [identity, id]),
    ),
  );
  const moved = Object.entries(after.Resources).flatMap(([id, resource]) =>
    identitiesOf(resource).flatMap((identity) => {
      const former = idOf.get(identity);
      return former === undefined || former === id
        ? []
        : [`${identity} would move from ${former} to ${id}, and exists already`];
    }),
  );
  const lasting = Object.entries(changes).filter(([, { resourceType }]) =>
    LASTING.includes(resourceType as string),
  );
  const replaced = lasting
    .filter(([, { changeImpact }]) =>
      [ResourceImpact.WILL_REPLACE, ResourceImpact.MAY_REPLACE].includes(changeImpact),
    )
    .map(([id, { resourceType }]) => `${id} (${resourceType}) would be replaced`);
  const renamed = lasting
    .filter(
      ([id, { isRemoval, oldResourceType: type }]) =>
        isRemoval &&
        !KEYS_OF_TOKENS.test(id) &&
        lasting.some(([, other]) => other.isAddition && other.newResourceType === type),
    )
    .map(([id, { oldResourceType }]) => `another ${oldResourceType} would take the place of ${id}`);
  return [...moved, ...replaced, ...renamed];
}

/** The names that AWS accepts only once, each with the type of the resource that has it. */
export function identitiesOf({ Type, Properties = {} }: Resource): string[] {
  const type = Type.split('::').at(-1) as string;
  // CloudFront's resources have their properties in an object of one.
  const own: Record<string, unknown> = { ...Properties, ...Object(Properties[`${type}Config`]) };
  const names = [own.RouteKey, own.Name, own.DomainName, own[`${type}Name`], own.Aliases].flat();
  // Two mappings of a stream and a function are rejected, whatever their filters.
  if (type === 'EventSourceMapping') names.push('mapping');
  const scope = SCOPES.flatMap((name) => (own[name] === undefined ? [] : [own[name]]));
  return names
    .filter((name) => name !== undefined)
    .map((name) => [Type, ...[name, ...scope].map(textOf)].join(' '));
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value);
