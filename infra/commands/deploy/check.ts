import {
  CloudFormation,
  paginateListStackResources,
  type Stack,
} from '@aws-sdk/client-cloudformation';
import { adoptedTable } from '../../settings/existing.ts';
import type { Settings } from '../../settings/settings.ts';
import { ifFound, inRegion } from '../account.ts';

/** What is wrong and why that matters, and what an operator does then. */
export interface Finding {
  /** A warning leaves the environment ready. */
  readonly severity: 'MISSING' | 'WARNING';
  readonly problem: string;
  readonly remedy: string;
}

/** Makes a finding of a template, whose last line is the remedy. */
const finding =
  (severity: Finding['severity']) =>
  (text: TemplateStringsArray, ...values: unknown[]): Finding => {
    const lines = String.raw(text, ...values).split(/\n\s*/);
    const remedy = lines.pop() ?? '';
    return { severity, problem: lines.join(' '), remedy };
  };
export const missing = finding('MISSING');
export const warning = finding('WARNING');

export type Found = Promise<Finding | undefined>;

/** The environment to check, in one of its regions. */
export interface Target {
  readonly environment: string;
  readonly settings: Settings;
  readonly region: string;
  readonly name: string;
  /** Reads this stack, once for all checks. */
  readonly stack: () => Promise<DeployedStack | undefined>;
}

export interface DeployedStack extends Stack {
  /** The physical ids of its resources by their logical ids. */
  readonly resources: ReadonlyMap<string, string>;
}

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
