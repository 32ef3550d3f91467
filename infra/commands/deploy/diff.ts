import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatDifferences, fullDiff } from '@aws-cdk/cloudformation-diff';
import { CloudFormation } from '@aws-sdk/client-cloudformation';
import { backupStackName } from '../../settings/backup.ts';
import { EDGE_REGION, edgeStackName } from '../../settings/edge.ts';
import { stackName } from '../../settings/environment.ts';
import { synthesizeApp } from '../../stack/synthesize-app.ts';
import { ifFound, inRegion, openEnvironment } from '../account.ts';
import { print, printError } from '../command-line.ts';
import { defineCommand } from '../define-command.ts';
import { refusalsOf, type StackTemplate } from './refusals.ts';

export const command = defineCommand({
  usage: 'npm run admin -- diff --env NAME',
  help: `Shows what a deployment of an environment would change in its running stacks, and whether
it would lose data or an identity, or fail because a name exists already. Changes nothing.

--env NAME  an environment, which has a file in environments/`,
  options: { env: { type: 'string' } },
  required: ['env'],
  statuses: {
    accepted: [0, 'the deployment replaces nothing that lasts'],
    refused: [1, 'do not deploy: the last lines say what would be lost or would fail'],
    failed: [2, 'something could not be read or synthesized, or wrong settings'],
  },
  seeAlso: 'docs/commands.md lists the permissions.',
  async run({ values: { env } }): Promise<'accepted' | 'refused'> {
    const { name, settings } = await openEnvironment(env);
    const assembly = mkdtempSync(join(tmpdir(), 'gatehouse-diff-'));
    try {
      await synthesizeApp(assembly, { env, checked: false });
      const regions = new Map([[stackName(name), settings.region]]);
      if (settings.edge) regions.set(edgeStackName(name), EDGE_REGION);
      if (settings.backup) regions.set(backupStackName(name), settings.backup.region);
      const refusals: string[] = [];
      for (const [stack, region] of regions)
        refusals.push(...(await compare(stack, region, assembly)));
      for (const refusal of refusals) printError(`REFUSED  ${refusal}`);
      return refusals.length > 0 ? 'refused' : 'accepted';
    } finally {
      rmSync(assembly, { recursive: true, force: true });
    }
  },
});

/** Prints the differences of a stack, and returns why it must not be deployed. */
async function compare(stack: string, region: string, assembly: string): Promise<string[]> {
  const before = await deployedTemplate(stack, region);
  if (!before) {
    print(`${stack} does not exist: the deployment would create it`);
    return [];
  }
  print(`Changes of ${stack}`);
  const file = join(assembly, `${stack}.template.json`);
  const after: StackTemplate = JSON.parse(readFileSync(file, 'utf8'));
  const difference = fullDiff(withoutMetadata(before), withoutMetadata(after));
  if (difference.isEmpty) print('None');
  else formatDifferences(process.stdout, difference, pathsIn(before));
  return refusalsOf(before, after, difference).map((refusal) => `${stack}: ${refusal}`);
}

async function deployedTemplate(
  StackName: string,
  region: string,
): Promise<StackTemplate | undefined> {
  const cloudFormation = new CloudFormation(inRegion(region));
  const found = await ifFound(cloudFormation.getTemplate({ StackName }));
  return found && JSON.parse(found.TemplateBody ?? '');
}

/** A copy without what only the CDK CLI adds, and what has no effect. */
const withoutMetadata = (template: StackTemplate): StackTemplate =>
  JSON.parse(JSON.stringify(template), (name, value) => (name === 'Metadata' ? undefined : value));

/** The paths of constructs by the logical ids of their resources, which the output shows. */
const pathsIn = ({ Resources }: StackTemplate): Record<string, string> =>
  Object.fromEntries(
    Object.entries(Resources).flatMap(([id, { Metadata }]) => {
      const path = Metadata?.['aws:cdk:path'];
      return path === undefined ? [] : [[id, path]];
    }),
  );
