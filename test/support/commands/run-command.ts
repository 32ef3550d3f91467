import { type ExecFileException, execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Cloud } from '../../../infra/local/cloud.ts';
import { OPERATOR } from '../../../infra/local/state/operator.ts';

const ROOT = join(import.meta.dirname, '../../..');

/** The program that runs the commands, relative to a repository. */
export const PROGRAM = 'infra/commands/bin.mjs';

/** Whether a command has printed this line as its progress: how often depends on the machine. */
export const isProgress = (line: string): boolean =>
  /^\d+ [a-z]+( (of the original )?read)?$/.test(line);

/** The environment of an operator with AWS credentials for the local cloud. */
export const operatorsEnvironment = ({ endpoint, region }: Pick<Cloud, 'endpoint' | 'region'>) => ({
  AWS_ENDPOINT_URL: endpoint,
  AWS_REGION: region,
  AWS_ACCESS_KEY_ID: OPERATOR.accessKeyId,
  AWS_SECRET_ACCESS_KEY: OPERATOR.secretAccessKey,
});

/** Without the regions, endpoints and credentials of the shell that runs the tests. */
export const environmentWithoutAws = (): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('AWS_')));

export const runCommand = (
  verb: string,
  options: readonly string[],
  environment: object,
  root = ROOT,
) => runProgram(['admin', verb, ...options], environment, root);

/** Runs a command on the table of a cloud. */
export const runOnTable = (cloud: Cloud, verb: string, ...options: string[]) =>
  runCommand(verb, ['--table', cloud.tableName, ...options], operatorsEnvironment(cloud));

/** Runs a command with its verb, or a program of a package, as the scripts of npm do. */
export const runProgram = (args: readonly string[], environment: object, root?: string) =>
  runNode([PROGRAM, ...args], environment, root);

/** Runs a script of a repository with the Node of the tests. */
export async function runNode(args: readonly string[], environment: object, root = ROOT) {
  const { code, stdout, stderr } = await promisify(execFile)(process.execPath, args, {
    cwd: root,
    env: { ...environmentWithoutAws(), ...environment },
    // The table of a difference of policies is padded to more than 1 MB.
    maxBuffer: Number.POSITIVE_INFINITY,
  })
    .then((output) => ({ code: 0, ...output }))
    .catch((error: ExecFileException & { stdout: string; stderr: string }) => error);
  return { code, stdout, stderr };
}

/** Everything that a synthesis and the commands read, except the installed packages. */
export const SOURCES = [
  'console',
  'examples/environments',
  'functions',
  'infra',
  'lib',
  '.gitignore',
  'biome.json',
  'cdk.json',
  'openapi.json',
  'package.json',
  'routes.ts',
  'tsconfig.json',
];

/** With an operator's settings: `dev` is ready, `prod` still has its placeholders. */
export function copyRepository(folder: string): void {
  for (const source of SOURCES)
    cpSync(join(ROOT, source), join(folder, source), { recursive: true });
  mkdirSync(join(folder, 'environments'));
  for (const name of ['dev', 'prod']) {
    const file = `environments/${name}.json`;
    const example = readFileSync(join(ROOT, 'examples', file), 'utf8');
    const isReady = name === 'dev';
    writeFileSync(
      join(folder, file),
      isReady ? example.replace('example.com', 'gatehouse.dev') : example,
    );
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
}
