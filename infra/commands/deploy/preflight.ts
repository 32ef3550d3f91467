import { openEnvironment } from '../account.ts';
import { print } from '../command-line.ts';
import { defineCommand } from '../define-command.ts';
import { checksOf } from './preflight-checks.ts';

/**
 * `npm run admin -- preflight`: checks that AWS is ready for a deployment, and what is deployed.
 */
export const command = defineCommand({
  usage: 'npm run admin -- preflight --env NAME',
  help: `Checks that AWS is ready for the deployment of an environment, and that what is deployed
has kept its protections, with your AWS credentials, in the regions of its settings. Changes
nothing. For each missing piece and for each warning, prints a remedy and where to read more; with
warnings, it is ready.

--env NAME  an environment, which has a file in environments/`,
  options: { env: { type: 'string' } },
  required: ['env'],
  statuses: {
    ready: [0, 'everything is ready'],
    missing: [1, 'something is missing'],
    failed: [2, 'something could not be read, or wrong settings'],
  },
  seeAlso: 'docs/commands.md lists the permissions.',
  async run({ values: { env }, explain }): Promise<'ready' | 'missing' | 'failed'> {
    // Without valid credentials, every check would fail with the same sentence.
    const { name, settings, account } = await openEnvironment(env);
    print(`Reading what ${name} needs in ${settings.region} of the account ${account}`);
    let status: 'ready' | 'missing' | 'failed' = 'ready';
    for (const [about, section, findings] of checksOf(name, settings))
      try {
        const { severity, problem, remedy } = (await findings.next()).value ?? {};
        if (!problem) print(`ok       ${about}`);
        else print(`${severity}  ${about}: ${problem}\n  ${remedy}\n  docs/${section}`);
        if (severity === 'MISSING' && status === 'ready') status = 'missing';
      } catch (error) {
        print(`UNKNOWN  ${about}: ${explain(error)}`);
        status = 'failed';
      }
    // The CDK only warns of an option that it does not know.
    if (status === 'ready')
      print(`Everything is ready. Deploy with -c env=${name}: the CDK ignores --env`);
    return status;
  },
});
