import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { inject } from 'vitest';
import { backupStackName } from '../../../infra/settings/backup.ts';
import { edgeStackName } from '../../../infra/settings/edge.ts';
import { readCdkJson } from '../../../infra/settings/environment-files.ts';
import { readSettings } from '../../../infra/settings/read-settings.ts';
import type { Settings } from '../../../infra/settings/settings.ts';
import { BackupStack } from '../../../infra/stack/backup-stack.ts';
import { EdgeStack } from '../../../infra/stack/edge-stack.ts';
import { GatehouseStack } from '../../../infra/stack/gatehouse-stack.ts';

/** Beside the assembly of this run; one for each worker, because concurrent writes corrupt it. */
export const assemblyOf = (name: string, changes: Partial<Settings>): string =>
  join(
    inject('assembly'),
    `../template-of-${process.pid}-${name}-${createHash('sha256').update(JSON.stringify(changes)).digest('hex')}`,
  );

/** Synthesizes an environment with other settings. Returns the folder of the assembly. */
export function assemblyWith(name: string, changes: Partial<Settings> = {}): string {
  synthesizeInProcess(name, changes);
  return assemblyOf(name, changes);
}

/** With this run's bundles, in this process for speed. */
export function synthesizeInProcess(
  name: string,
  changes: Partial<Settings> = {},
  prepare?: (app: App) => void,
) {
  const outdir = assemblyOf(name, changes);
  const app = new App({
    outdir,
    context: {
      ...readCdkJson().context,
      env: name,
      example: 'true',
      'aws:cdk:disable-asset-staging': true,
      // Capturing them takes a sixth of the time.
      'aws:cdk:disable-creation-stack-traces': true,
    },
    // Validation takes seconds; `npm run check` validates the production template.
    builtinCloudFormationValidation: false,
    // Nothing here reads them, and they take a quarter of the time.
    treeMetadata: false,
    stackTraces: false,
  });
  const { settings: example } = readSettings(app.node.getAllContext());
  // Without an account, templates name it in the same way wherever it occurs.
  const settings = { ...example, account: undefined, ...changes } as Settings;
  const bundles = join(inject('assembly'), 'bundles');
  const stack = new GatehouseStack(app, `Gatehouse-${name}`, {
    environment: name,
    settings,
    bundles,
  });
  if (settings.edge) new EdgeStack(app, edgeStackName(name), { environment: name, settings });
  if (settings.backup)
    new BackupStack(app, backupStackName(name), { environment: name, settings }, stack);
  prepare?.(app);
  app.synth();
  return stack;
}

const templates = new Map<string, Template>();

/** The template of an environment with other settings, cached per worker. */
export function templateOf(name: string, changes: Partial<Settings> = {}): Template {
  const key = JSON.stringify([inject('assembly'), name, changes]);
  const template = templates.get(key) ?? Template.fromStack(synthesizeInProcess(name, changes));
  templates.set(key, template);
  return template;
}

/** The template of the edge of an environment with these settings. */
export const edgeTemplateOf = (name: string, changes: Partial<Settings>): Template =>
  otherTemplateOf(edgeStackName(name), name, changes);

/** The template of the backups of an environment with these settings. */
export const backupTemplateOf = (name: string, changes: Partial<Settings>): Template =>
  otherTemplateOf(backupStackName(name), name, changes);

function otherTemplateOf(stack: string, name: string, changes: Partial<Settings>): Template {
  templateOf(name, changes);
  const file = join(assemblyOf(name, changes), `${stack}.template.json`);
  return Template.fromJSON(JSON.parse(readFileSync(file, 'utf8')));
}

export interface Resource {
  readonly Type: string;
  // biome-ignore lint/suspicious/noExplicitAny: properties differ by resource type
  readonly Properties: Record<string, any>;
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
  readonly DependsOn?: readonly string[];
}

export const resourcesOf = (template: Template, type: string): Record<string, Resource> =>
  template.findResources(type) as Record<string, Resource>;

/** The properties of all resources of a type. */
export const propertiesOf = (template: Template, type: string): Resource['Properties'][] =>
  Object.values(resourcesOf(template, type)).map(({ Properties }) => Properties);
