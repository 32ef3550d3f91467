import { PARTITION } from '../../../lib/operations/item-kinds.ts';
import { actionsOf } from '../calls/actions.ts';
import type { AwsCall } from '../calls/aws-call.ts';
import { ACCOUNT, keyArn, type Template } from '../stack/template.ts';
import {
  type AccessRequest,
  ATTRIBUTES,
  type Grant,
  LEADING_KEYS,
  type PolicyDocument,
  readPolicy,
} from './policy.ts';

type Call = Pick<AwsCall, 'service' | 'operation' | 'input'>;

interface StackIdentifiers {
  readonly region: string;
  /** The ARN of the table's KMS key; DynamoDB calls KMS with the permissions of its own caller. */
  readonly tableKey: string | undefined;
  nameOf(arn: string): string;
}

/** `grants` is keyed by function name. */
export function openAuthorization(
  grants: ReadonlyMap<string, readonly Grant[]>,
  stack: StackIdentifiers,
) {
  const used = new Set<Grant>();
  const describe = ({ action, resource }: Grant | AccessRequest, leadingKey: unknown) =>
    `${action} on ${stack.nameOf(resource)}${leadingKey === undefined ? '' : ` for ${leadingKey}`}`;
  return {
    /** Names the first permission that the function lacks for this call. */
    denialReason(functionName: string, call: Call): string | undefined {
      const requests = accessRequestsOf(call, stack);
      if (requests.length === 0)
        return (
          `${functionName} is not authorized to call ${call.operation}, which the local cloud ` +
          'does not support'
        );
      for (const request of requests) {
        const grant = grants.get(functionName)?.find(({ covers }) => covers(request));
        if (!grant)
          return (
            `${functionName} is not authorized to perform ` +
            describe(request, request.context[LEADING_KEYS]) +
            attributesOf(request)
          );
        if (!isUnbounded(grant)) used.add(grant);
      }
      return undefined;
    },
    /** One sentence for each grant that no call has used, except those that need no test. */
    unused: (): string[] =>
      [...grants].flatMap(([functionName, granted]) =>
        granted
          .filter((grant) => !(used.has(grant) || needsNoTest(grant)))
          .map((grant) => `${functionName} does not use ${describe(grant, grant.leadingKey)}`),
      ),
  };
}

/** What an update names besides the key: its permission can be limited to some attributes. */
function attributesOf({ action, context }: AccessRequest): string {
  const named = [context[ATTRIBUTES] ?? []].flat().filter((name) => name !== 'pk' && name !== 'sk');
  return action === 'dynamodb:UpdateItem' && named.length > 0 ? ` with ${named.join(', ')}` : '';
}

/** To write logs, and to read the stream of an event source mapping. */
const USED_BY_LAMBDA =
  /^(logs:.*|dynamodb:(DescribeStream|GetRecords|GetShardIterator|ListStreams))$/;

/**
 * Lambda itself uses some. The update of the format happens once per format in the life of a table,
 * by whichever function is the first to write.
 */
const needsNoTest = ({ action, leadingKey }: Grant): boolean =>
  USED_BY_LAMBDA.test(action) ||
  (action === 'dynamodb:UpdateItem' && leadingKey === PARTITION.format);

/** Never counts as used. `LOGIN#*` is bounded, because it covers one kind of item. */
function isUnbounded({ action, resource, leadingKey }: Grant): boolean {
  const anyKey =
    leadingKey === undefined ? action.startsWith('dynamodb:') : !/^[A-Z-]+(#\*)?$/.test(leadingKey);
  return resource === '*' || anyKey;
}

function accessRequestsOf(
  { service, operation, input }: Call,
  { region, tableKey }: StackIdentifiers,
): AccessRequest[] {
  const arn = (name: string) => `arn:aws:${service.toLowerCase()}:${region}:${ACCOUNT}:${name}`;
  switch (service) {
    case 'DynamoDB': {
      const enclosing = operation.startsWith('Transact') && {
        'dynamodb:EnclosingOperation': operation,
      };
      const requests: AccessRequest[] = actionsOf({ operation, input }).map(
        ({ action, table, pk, attributes }) => ({
          action,
          resource: arn(`table/${table}`),
          context: { [LEADING_KEYS]: pk, [ATTRIBUTES]: attributes, ...enclosing },
        }),
      );
      if (operation === 'Scan')
        requests.push({
          action: 'dynamodb:Scan',
          resource: arn(`table/${input.TableName}`),
          context: {},
        });
      const viaTable = { 'kms:ViaService': `dynamodb.${region}.amazonaws.com` };
      if (requests.length > 0 && tableKey)
        requests.push({ action: 'kms:Decrypt', resource: tableKey, context: viaTable });
      return requests;
    }
    case 'KMS': {
      const id = String(input.KeyId);
      const context = Object.entries((input.EncryptionContext ?? {}) as Record<string, string>);
      return [
        {
          action: `kms:${operation}`,
          resource: id.startsWith('arn:') ? id : keyArn(region, id),
          context: Object.fromEntries(
            context.map(([key, value]) => [`kms:EncryptionContext:${key}`, value]),
          ),
        },
      ];
    }
    case 'SES': {
      // The verified identity may be the address or its domain, so both must be allowed.
      const sender = String(input.FromEmailAddress);
      const resources = [`identity/${sender}`, `identity/${sender.slice(sender.indexOf('@') + 1)}`];
      if (input.ConfigurationSetName)
        resources.push(`configuration-set/${input.ConfigurationSetName}`);
      return resources.map((resource) => ({
        action: 'ses:SendEmail',
        resource: arn(resource),
        context: { 'ses:FromAddress': sender },
      }));
    }
  }
}

/** The grants of each function by its description, from inline and attached policies only. */
export function readPolicies(
  template: Template,
  evaluate: <T>(value: unknown) => T,
): Map<string, Grant[]> {
  const roles = new Map(template.ofType('AWS::IAM::Role'));
  const attached = template.ofType('AWS::IAM::Policy');
  const policies = new Map<string, Grant[]>();
  for (const [logicalId, { Description, Role }] of template.ofType('AWS::Lambda::Function')) {
    const name = evaluate<string>(Role).split('/').at(-1) as string;
    const role = roles.get(name);
    if (!role) throw new Error(`The function ${logicalId} has no role of its own`);
    // A second function with the same role fails.
    roles.delete(name);
    const ofRole = attached.flatMap(([, policy]) =>
      evaluate<string[]>(policy.Roles ?? []).includes(name) ? [policy] : [],
    );
    for (const { ManagedPolicyArns, PermissionsBoundary, Users, Groups } of [role, ...ofRole])
      if (ManagedPolicyArns || PermissionsBoundary || Users || Groups)
        throw new Error(
          'The local cloud does not support managed policies, permissions boundaries, users or ' +
            `groups, which ${name} or its policies name`,
        );
    const own = [...((role.Policies ?? []) as object[]), ...ofRole];
    const documents = evaluate<{ PolicyDocument: PolicyDocument }[]>(own);
    policies.set(String(Description), readPolicy(documents.map((each) => each.PolicyDocument)));
  }
  return policies;
}
