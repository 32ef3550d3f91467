import { actionsOf } from '../calls/actions.ts';
import type { AwsCall } from '../calls/aws-call.ts';
import { ACCOUNT, keyArn, type Template } from '../stack/template.ts';
import { type AccessRequest, type Grant, type Policy, type PolicyDocument, readPolicy } from './policy.ts';

/* Who may do what, by the synthesized policies alone, and which of it was ever done. */

/** What the template says about the rights of its functions. */
export interface Authorization {
  /** What the function lacks for this call, in one sentence; undefined when it may do all of it. */
  refuses(by: string, call: Pick<AwsCall, 'service' | 'operation' | 'input'>): string | undefined;
  /** The rights that no call has needed so far, one sentence for each. Those to write logs are used by AWS itself. */
  unused(): string[];
}

/** What stands in the calls' ARNs, and the key of the table: DynamoDB asks for it in the caller's name. */
export interface Place {
  readonly region: string;
  readonly tableKey: string | undefined;
  /** The name by which the template knows an ARN. */
  nameOf(arn: string): string;
}

/** By the policies of each function. */
export function openAuthorization(policies: ReadonlyMap<string, Policy>, place: Place): Authorization {
  const used = new Set<Grant>();
  const say = (by: string, may: string, { action, resource }: Grant | AccessRequest, key?: string) =>
    `${by} ${may} ${action} on ${place.nameOf(resource)}${key === undefined ? '' : ` for ${key}`}`;
  return {
    refuses(by, call) {
      const asks = asksOf(call, place);
      if (!asks) return `${by} may not call ${call.operation}: the local cloud does not know which rights it needs`;
      for (const ask of asks) {
        const rights = policies.get(by)?.allows(ask);
        if (!rights) return say(by, 'may not', ask, ask.context[LEADING_KEYS]?.[0]);
        for (const right of rights) if (!isBoundless(right)) used.add(right);
      }
      return undefined;
    },
    unused: () =>
      [...policies].flatMap(([by, { rights }]) =>
        rights
          .filter((right) => !used.has(right) && !right.action.startsWith('logs:'))
          .map((right) => say(by, 'may', right, right.leadingKey)),
      ),
  };
}

const LEADING_KEYS = 'dynamodb:LeadingKeys';

/** No request uses up such a right: it allows more kinds of things than one. `LOGIN#*` is one kind of item. */
function isBoundless({ action, resource, leadingKey }: Grant): boolean {
  const anyKey = leadingKey === undefined ? action.startsWith('dynamodb:') : !/^[A-Z]+(#\*)?$/.test(leadingKey);
  return /[*?]/.test(action + resource) || anyKey;
}

/** Everything that AWS asks the policies before it makes a call; undefined where that is not known. */
function asksOf(
  { service, operation, input }: Pick<AwsCall, 'service' | 'operation' | 'input'>,
  place: Place,
): AccessRequest[] | undefined {
  const arn = (of: string, name: string) => `arn:aws:${of}:${place.region}:${ACCOUNT}:${name}`;
  switch (service) {
    case 'DynamoDB': {
      const table = (name: unknown) => arn('dynamodb', `table/${name}`);
      const actions = actionsOf({ operation, input });
      // Of a transaction and of a batch DynamoDB asks item by item, or for all keys, which comes to the same.
      const asks: AccessRequest[] = actions.map(({ action, table: name, pk }) => ({
        action,
        resource: table(name),
        context: {
          [LEADING_KEYS]: [pk],
          ...(operation.startsWith('Transact') && { 'dynamodb:EnclosingOperation': [operation] }),
        },
      }));
      if (operation === 'Scan') asks.push({ action: 'dynamodb:Scan', resource: table(input.TableName), context: {} });
      if (asks.length === 0) return undefined;
      const viaTable = { 'kms:ViaService': [`dynamodb.${place.region}.amazonaws.com`] };
      if (place.tableKey) asks.push({ action: 'kms:Decrypt', resource: place.tableKey, context: viaTable });
      return asks;
    }
    case 'KMS': {
      const id = String(input.KeyId);
      const context = Object.entries((input.EncryptionContext ?? {}) as Record<string, string>);
      return [
        {
          action: `kms:${operation}`,
          resource: id.startsWith('arn:') ? id : keyArn(place.region, id),
          context: Object.fromEntries(context.map(([key, value]) => [`kms:EncryptionContext:${key}`, [value]])),
        },
      ];
    }
    case 'SES': {
      // SES asks for the identity that it knows the sender by, his address or its domain. Either may be the one.
      const sender = String(input.FromEmailAddress);
      const resources = [`identity/${sender}`, `identity/${sender.slice(sender.indexOf('@') + 1)}`];
      // And for the configuration set that the call names.
      if (input.ConfigurationSetName) resources.push(`configuration-set/${input.ConfigurationSetName}`);
      return resources.map((resource) => ({
        action: 'ses:SendEmail',
        resource: arn('ses', resource),
        context: { 'ses:FromAddress': [sender] },
      }));
    }
  }
}

/**
 * The policies of each function, by the function's description. Fails when two functions share a role, and on rights that
 * come from anywhere but the role's own policies.
 */
export function readPolicies(template: Template, find: <T>(value: unknown) => T): Map<string, Policy> {
  const documents = new Map<string, PolicyDocument[]>();
  for (const [role, { ManagedPolicyArns, PermissionsBoundary, Policies = [] }] of template.ofType('AWS::IAM::Role')) {
    if (ManagedPolicyArns || PermissionsBoundary) {
      throw new Error(`The local cloud does not know managed policies and boundaries, which ${role} has`);
    }
    const inline = find<{ PolicyDocument: PolicyDocument }[]>(Policies);
    documents.set(
      role,
      inline.map(({ PolicyDocument }) => PolicyDocument),
    );
  }
  for (const [policy, { Roles, Users, Groups, PolicyDocument }] of template.ofType('AWS::IAM::Policy')) {
    if (Users || Groups) throw new Error(`The local cloud does not know users and groups, which ${policy} names`);
    for (const role of find<string[]>(Roles)) documents.get(role)?.push(find<PolicyDocument>(PolicyDocument));
  }

  const policies = new Map<string, Policy>();
  for (const [logicalId, { Description, Role }] of template.ofType('AWS::Lambda::Function')) {
    const role = find<string>(Role).split('/').at(-1) as string;
    const own = documents.get(role);
    if (!own) throw new Error(`The function ${logicalId} has no role of its own`);
    // Whoever shares it comes next, and does not find it.
    documents.delete(role);
    policies.set(String(Description), readPolicy(own));
  }
  return policies;
}
