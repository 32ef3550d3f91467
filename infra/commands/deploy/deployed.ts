import {
  CloudFormation,
  paginateListStackResources,
  type Stack,
} from '@aws-sdk/client-cloudformation';
import { adoptedTable } from '../../settings/existing.ts';
import type { Settings } from '../../settings/settings.ts';
import { ifFound, inRegion } from '../aws-clients.ts';

/** What CloudFormation states about a stack. */
export interface DeployedStack extends Stack {
  /** The physical ids of its resources by their logical ids. */
  readonly resources: ReadonlyMap<string, string>;
}

/** Reads a stack; undefined if it does not exist. */
export async function readStack(
  region: string,
  StackName: string,
): Promise<DeployedStack | undefined> {
  const client = new CloudFormation(inRegion(region));
  const [stack] = (await ifFound(client.describeStacks({ StackName })))?.Stacks ?? [];
  if (!stack) return undefined;
  const resources = new Map<string, string>();
  for await (const page of paginateListStackResources({ client }, { StackName }))
    for (const resource of page.StackResourceSummaries ?? []) {
      const { LogicalResourceId: id = '', PhysicalResourceId, ResourceStatus = '' } = resource;
      // What a stack has deleted or left behind stays in its list.
      if (PhysicalResourceId && !ResourceStatus.startsWith('DELETE_'))
        resources.set(id, PhysicalResourceId);
    }
  return { ...stack, resources };
}

/** The name of the table that the stack has or will adopt; undefined before it has one. */
export const tableOf = (settings: Settings, stack: DeployedStack | undefined): string | undefined =>
  adoptedTable(settings) ?? stack?.resources.get('Table');

/** The id or the ARN of a key that the stack has or will adopt; undefined before it has one. */
export const keyOf = (
  { existing }: Settings,
  stack: DeployedStack | undefined,
  logicalId: string,
): string | undefined => existing?.keys?.[logicalId] ?? stack?.resources.get(logicalId);
