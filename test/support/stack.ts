import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { inject } from 'vitest';
import { GatehouseStack } from '../../infra/gatehouse-stack.ts';
import { readSettings, type Settings } from '../../infra/settings.ts';

/** The folder that such a stack is synthesized to: beside the assembly of this run, with which it is removed. */
export const assemblyOf = (name: string, changes: Partial<Settings>): string =>
  join(
    inject('assembly'),
    `../template-of-${[name, ...Object.entries(changes).flat()].join('-')}`.replaceAll(/[^\w./-]/g, ''),
  );

/** The stack of an environment with other settings, on the bundles of this run: in this process, which knows the CDK already. */
export function synthesizeHere(
  name: string,
  changes: Partial<Settings> = {},
  prepare = (_app: App): void => undefined,
) {
  const { context } = JSON.parse(readFileSync(join(import.meta.dirname, '../../cdk.json'), 'utf8'));
  const outdir = assemblyOf(name, changes);
  const app = new App({ outdir, context: { ...context, env: name, 'aws:cdk:disable-asset-staging': true } });
  const settings = { ...readSettings(app.node).settings, ...changes };
  const bundles = join(inject('assembly'), 'bundles');
  const stack = new GatehouseStack(app, `Gatehouse-${name}`, { environment: name, settings, bundles });
  prepare(app);
  app.synth();
  return stack;
}
