import { chmodSync, globSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { App, type Stack, Validations } from 'aws-cdk-lib';
import { bundle } from './bundle/bundle.ts';
import { printError } from './commands/command-line.ts';
import { backupStackName } from './settings/backup.ts';
import { edgeStackName } from './settings/edge.ts';
import { stackName } from './settings/environment.ts';
import { readSettings } from './settings/read-settings.ts';
import { BackupStack } from './stack/backup-stack.ts';
import { EdgeStack } from './stack/edge-stack.ts';
import { GatehouseStack } from './stack/gatehouse-stack.ts';

/* The CDK app: `-c env=NAME` selects the environment; the CDK CLI sets the output folder. */
const app = new App({ analyticsReporting: false });
const { name, settings, placeholders, mailTexts, checked } = readContext();
const bundles = join(app.outdir, 'bundles');
// Standard output belongs to `cdk synth`, which prints the template there.
printError(`Synthesizing the environment ${name} for ${settings.region}`);
if (placeholders.length > 0)
  printError(
    `Do not deploy this template: placeholders in ${placeholders.map(({ path }) => path).join(', ')}`,
  );

const forDebugger = app.node.tryGetContext('gatehouse:debugger') === true;
await bundle(bundles, { transport: settings.transport, forDebugger });
// A file beside the function: the texts of several languages exceed the 4 KB of its environment.
writeFileSync(join(bundles, 'send-mail/texts.json'), JSON.stringify(mailTexts));
const main = new GatehouseStack(app, stackName(name), { environment: name, settings, bundles });
const stacks: Stack[] = [main];
if (settings.edge)
  stacks.push(new EdgeStack(app, edgeStackName(name), { environment: name, settings }));
if (settings.backup)
  stacks.push(new BackupStack(app, backupStackName(name), { environment: name, settings }, main));
// Violations of the AWS Solutions rules fail the synthesis. A local start skips them: loading them
// takes half a second.
if (checked) {
  const { AwsSolutionsChecks } = await import('cdk-nag');
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
}
app.synth();
// The CDK zips assets with their modes, and Lambda runs functions as a user of its own, to whom the
// deployer's umask may deny reading. The CDK does not stage an existing asset again.
for (const entry of globSync('{bundles,asset.*}/**', { cwd: app.outdir, withFileTypes: true }))
  chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644);
for (const { templateFile } of stacks)
  printError(`The template is ${relative('.', join(app.outdir, templateFile))}`);

/** An invalid setting ends the synthesis with one sentence and no stack trace. */
function readContext() {
  try {
    return readSettings(app.node.getAllContext());
  } catch (error) {
    printError((error as Error).message);
    process.exit(1);
  }
}
