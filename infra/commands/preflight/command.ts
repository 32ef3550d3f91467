import { readCdkJson } from '../../settings/read-cdk-json.ts';
import {
  exitOnSignal,
  fail,
  finish,
  print,
  readArguments,
  rejectArguments,
  WRONG_ARGUMENTS,
} from '../command-line.ts';
import { explainError } from '../explain-error.ts';
import { requireAwsEnvironment } from '../require-aws-environment.ts';

/* `npm run preflight`: reads what AWS must have ready before an environment is deployed. */

// Exit statuses; wrong arguments end with NOT_CHECKED, too.
const MISSING = 1;
const NOT_CHECKED = WRONG_ARGUMENTS;

const COMMAND = {
  usage: 'npm run preflight -- --env NAME',
  help: `Reads what AWS must have ready before an environment is deployed, with your AWS credentials and the region in its
settings, and in us-east-1 for an edge. Changes nothing. Prints a command for each missing piece.

--env NAME  an environment of cdk.json

Exit status
  0  everything is ready
  ${MISSING}  something is missing
  ${NOT_CHECKED}  something could not be read, or wrong arguments or settings

docs/commands.md lists the permissions.`,
  options: { env: { type: 'string' } },
} as const;

const { env } = readArguments(COMMAND).values;
if (env === undefined) rejectArguments('--env is missing.', COMMAND);
exitOnSignal(NOT_CHECKED);
// After the arguments: the CDK and the AWS SDK take most of the start.
const { readSettings } = await import('../../settings/read-settings.ts');
const { name, settings } = readEnvironment(String(env));
const { awsReader } = await import('./aws-reader.ts');
const { accountOf, checksOf } = await import('./checks.ts');

// Without valid credentials, every check would fail with the same sentence.
const account = await accountOf(awsReader(settings.region)).catch((error) =>
  fail(explainError(causeOf(error), undefined), NOT_CHECKED),
);

let status = 0;
print(`Reading what ${name} needs in ${settings.region} of the account ${account}`);
for (const check of checksOf(name, settings, awsReader)) {
  try {
    const missing = await check.missing();
    print(
      missing
        ? `MISSING  ${check.name}: ${missing.problem}\n  ${missing.remedy}`
        : `ok       ${check.name}`,
    );
    if (missing) status ||= MISSING;
  } catch (error) {
    print(`UNKNOWN  ${check.name}: ${explainError(causeOf(error as Error), undefined)}`);
    status = NOT_CHECKED;
  }
}
// The CDK only warns of an option that it does not know, and would deploy the default environment.
if (status === 0) print(`Everything is ready. Deploy with -c env=${name}: the CDK ignores --env`);
await finish(status);

/**
 * The environment as `-c env=NAME` would select it, so that mistakes in its settings are found,
 * too.
 */
function readEnvironment(env: string) {
  try {
    requireAwsEnvironment();
    const selected: Record<string, unknown> = { ...readCdkJson().context, env };
    return readSettings({ tryGetContext: (key) => selected[key], getAllContext: () => selected });
  } catch (error) {
    return fail((error as Error).message, NOT_CHECKED);
  }
}

/** `fetch` hides the error of the network in the cause of its own. */
function causeOf(error: Error): unknown {
  return error.cause ?? error;
}
