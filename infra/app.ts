import { join } from 'node:path';
import { App, Validations } from 'aws-cdk-lib';
import { bundle } from './bundle.ts';
import { GatehouseStack } from './gatehouse-stack.ts';
import { readSettings } from './settings.ts';

/* The CDK app: `cdk.json` and `-c` choose the environment; the output folder is the one that the CDK's tool asks for. */
const app = new App({ analyticsReporting: false });
const { name, settings } = readSettings(app.node);
const bundles = join(app.outdir, 'bundles');

await bundle(bundles);
new GatehouseStack(app, `Gatehouse-${name}`, { environment: name, settings, bundles });
// What AWS Solutions would criticize stops the synthesis. Loading the rules takes half a second: a local start does without.
if (app.node.tryGetContext('checked') !== false) {
  const { AwsSolutionsChecks } = await import('cdk-nag');
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
}
app.synth();
