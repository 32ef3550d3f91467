import { join } from 'node:path';
import { App, Validations } from 'aws-cdk-lib';
import { bundle, transportOf } from './bundle.ts';
import { GatehouseStack } from './gatehouse-stack.ts';
import { readSettings } from './settings.ts';

/* The CDK app: `cdk.json` and `-c` select the environment; the CDK CLI sets the output folder. */
const app = new App({ analyticsReporting: false });
const { name, settings } = readSettings(app.node);
const bundles = join(app.outdir, 'bundles');

await bundle(bundles, { transport: transportOf(app.node.tryGetContext('transport')) });
new GatehouseStack(app, `Gatehouse-${name}`, { environment: name, settings, bundles });
// Violations of the AWS Solutions rules fail the synthesis. A local start skips them: loading them takes half a second.
if (app.node.tryGetContext('checked') !== false) {
  const { AwsSolutionsChecks } = await import('cdk-nag');
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
}
app.synth();
