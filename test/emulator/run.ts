import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { KMS } from '@aws-sdk/client-kms';
import { inRegion } from '../../infra/commands/account.ts';
import { print } from '../../infra/commands/command-line.ts';
import { defineCommand } from '../../infra/commands/define-command.ts';
import { readStack } from '../../infra/commands/deploy/check.ts';
import { stackName } from '../../infra/settings/environment.ts';
import { copyRepository, environmentWithoutAws } from '../support/commands/run-command.ts';

const ROOT = join(import.meta.dirname, '../..');
const VIRTUAL_ENVIRONMENT = join(ROOT, 'node_modules/.cache/emulator');
const REQUIREMENTS = join(import.meta.dirname, 'requirements.txt');
const COMMAND_PATH = `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`;
const ACCOUNT = '210987654321';
const REGION = 'eu-central-1';
const ENVIRONMENT = 'trial';

/** Like the example of production, with every option that ministack has the resources for. */
const SETTINGS = {
  account: ACCOUNT,
  region: REGION,
  loginConcurrency: 100,
  dailyVerification: true,
  auditLogDays: 30,
  deployment: 'canary',
  alarms: 'operators@gatehouse.dev',
  mail: { sender: 'gatehouse@gatehouse.dev' },
};

const KEYS = ['TableKey', 'ValuesKey', 'FactorKey', 'SigningKey', 'ModuleKey', 'PepperKey'];

const PASSWORD = /^Password: (\S+)$/m;

/** What a new account lacks; and the emulator ignores the table's point-in-time recovery. */
const MISSING_IN_EMULATOR = ['table', 'sender gatehouse@gatehouse.dev', `CloudTrail in ${REGION}`];

/** `npm run test:emulator`: deploys to an implementation of AWS that is not the local cloud. */
export const command = defineCommand({
  usage: 'npm run test:emulator',
  help: `Deploys an environment with the CDK CLI to ministack, an emulator of AWS that needs no
Docker, uses it, deletes it, and deploys it again with its table and keys. Requires Python 3 with
venv; installs ministack from PyPI into node_modules/.cache.`,
  options: {},
  statuses: {
    passed: [0, 'everything has passed'],
    failed: [1, 'something has failed'],
    unavailable: [3, 'Python 3 with venv or the packages are not available'],
  },
  async run() {
    if (!(await install())) return 'unavailable';
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-emulator-'));
    const emulator = await start(folder);
    try {
      await rehearse(folder, emulator.url);
    } catch (error) {
      print(readFileSync(emulator.log, 'utf8').split('\n').slice(-40).join('\n'));
      throw error;
    } finally {
      await emulator.stop();
      rmSync(folder, { recursive: true, force: true });
    }
    return 'passed';
  },
});

/** Installs the emulator unless it is installed; prints why if that is impossible. */
async function install(): Promise<boolean> {
  const installed = join(VIRTUAL_ENVIRONMENT, 'requirements.txt');
  const requirements = readFileSync(REQUIREMENTS, 'utf8');
  if (existsSync(installed) && readFileSync(installed, 'utf8') === requirements) return true;
  rmSync(VIRTUAL_ENVIRONMENT, { recursive: true, force: true });
  try {
    await promisify(execFile)('python3', ['-m', 'venv', VIRTUAL_ENVIRONMENT]);
    await promisify(execFile)(join(VIRTUAL_ENVIRONMENT, 'bin/pip'), [
      ...['install', '--quiet', '--retries', '1', '--requirement', REQUIREMENTS],
    ]);
  } catch (error) {
    print(`The emulator needs Python 3 with venv, and PyPI: ${(error as Error).message}`);
    return false;
  }
  writeFileSync(installed, requirements);
  return true;
}

async function start(folder: string) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const log = join(folder, 'emulator.log');
  const output = openSync(log, 'w');
  mkdirSync(join(folder, 'tmp'));
  const emulator = spawn(
    join(VIRTUAL_ENVIRONMENT, 'bin/python'),
    [join(import.meta.dirname, 'emulator.py')],
    {
      stdio: ['ignore', output, output],
      env: {
        ...environmentWithoutAws(),
        PATH: COMMAND_PATH,
        BIND_HOST: '127.0.0.1',
        GATEWAY_PORT: String(port),
        MINISTACK_HOST: 'localhost',
        MINISTACK_ACCOUNT_ID: ACCOUNT,
        MINISTACK_REGION: REGION,
        LAMBDA_EXECUTOR: 'local',
        LOG_LEVEL: 'WARNING',
        IOT_MTLS_ENABLED: '0',
        SFTP_ENABLED: '0',
        DOCKER_HOST: 'unix:///nonexistent',
        S3_DATA_DIR: join(folder, 's3'),
        STATE_DIR: join(folder, 'state'),
        TMPDIR: join(folder, 'tmp'),
      },
    },
  );
  process.once('exit', () => emulator.kill());
  await isReady(emulator, `${url}/_ministack/health`);
  return {
    url,
    log,
    async stop() {
      if (emulator.exitCode !== null) return;
      emulator.kill();
      await once(emulator, 'exit');
    },
  };
}

async function isReady(emulator: ChildProcess, url: string): Promise<void> {
  while (!(await fetch(url).catch(() => undefined))?.ok) {
    assert.equal(emulator.exitCode, null, 'The emulator ends at its start.');
    await wait(200);
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** The first deployment, daily use, the deletion and "Deploying it again" of docs/restore.md. */
async function rehearse(folder: string, url: string): Promise<void> {
  const repository = join(folder, 'repository');
  copyRepository(repository);
  const settle = (settings: object) =>
    writeFileSync(join(repository, `environments/${ENVIRONMENT}.json`), JSON.stringify(settings));
  const environment = {
    ...environmentWithoutAws(),
    // As for `npx` and `npm run`.
    PATH: COMMAND_PATH,
    AWS_ENDPOINT_URL: url,
    AWS_ENDPOINT_URL_S3: url,
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_REGION: REGION,
    CI: 'true',
  };

  async function run(program: string, args: readonly string[], more = {}, expectedStatus = 0) {
    print([basename(program), ...args].join(' '));
    const child = spawn(program, args, { cwd: repository, env: { ...environment, ...more } });
    let text = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        text += chunk;
      });
    const [status] = await once(child, 'close');
    assert.equal(status, expectedStatus, text);
    return text;
  }
  const cdk = (...args: string[]) =>
    run('node_modules/.bin/cdk', [...args, '-c', `env=${ENVIRONMENT}`]);
  /** As `npm run` does. */
  const command = (name: string, args: string[], more = {}, status = 0) =>
    run(process.execPath, ['infra/commands/bin.mjs', 'admin', name, ...args], more, status);
  const deploy = (...args: string[]) =>
    cdk('deploy', '--all', '--require-approval', 'never', ...args);
  /** The password is the one of an earlier first-admin. */
  async function use(deployment: string, password?: string): Promise<string> {
    const [, api] = /\.Url = https?:\/\/(\w+)\.execute-api/.exec(deployment) ?? [];
    const [, table = ''] = /\.TableName = (\S+)/.exec(deployment) ?? [];
    const admin = ['--table', table, '--login', 'root', '--email', 'root@gatehouse.dev'];
    const created = password ?? (await command('first-admin', admin)).match(PASSWORD)?.[1] ?? '';
    await command('smoke', ['--url', `${url}/_aws/execute-api/${api}/$default`], {
      SMOKE_LOGIN: 'root',
      SMOKE_PASSWORD: created,
    });
    await command('verify', ['--table', table]);
    return created;
  }

  settle(SETTINGS);
  await cdk('bootstrap');
  const password = await use(await deploy('-c', 'unprotected=true'));
  await deploy();

  const preflight = await command('preflight', ['--env', ENVIRONMENT], {}, 1);
  const missing = [...preflight.matchAll(/^(?:MISSING|UNKNOWN) +(.*?):/gm)].map(([, name]) => name);
  assert.deepEqual(missing, MISSING_IN_EMULATOR);
  assert.match(await command('diff', ['--env', ENVIRONMENT]), /^None$/m);

  const existing = await existingOf(url);
  await deploy('-c', 'unprotected=true');
  await cdk('destroy', '--all', '--force');

  settle({ ...SETTINGS, existing });
  await use(await deploy('-c', 'unprotected=true', '--import-existing-resources'), password);
}

/** The table and the keys of the stack, as the setting `existing` names them. */
async function existingOf(url: string): Promise<object> {
  Object.assign(process.env, {
    AWS_ENDPOINT_URL: url,
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
  });
  const stack = await readStack(REGION, stackName(ENVIRONMENT));
  const table = stack?.resources.get('Table');
  const { Table } = await new DynamoDB(inRegion(REGION)).describeTable({ TableName: table });
  const kms = new KMS(inRegion(REGION));
  const arnOf = async (id: string) => {
    const { KeyMetadata } = await kms.describeKey({ KeyId: stack?.resources.get(id) });
    return [id, KeyMetadata?.Arn];
  };
  const keys = await Promise.all(KEYS.map(arnOf));
  return { tableStream: Table?.LatestStreamArn, keys: Object.fromEntries(keys) };
}
