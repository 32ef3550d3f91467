import { randomUUID } from 'node:crypto';
import { openTableScanner, scannerClient } from '../../lib/table/table-scanner.ts';
import { rosterKey } from '../../lib/users/user-items.ts';
import { findUser } from '../../lib/users/user-table.ts';
import { openDynamoDb } from './aws/dynamodb.ts';
import { callEngine, startEngine } from './aws/engine.ts';
import { KEYS_FILE, type StoredKey } from './aws/kms.ts';
import { createTable } from './aws/stack-table.ts';
import { openStream, type Stream } from './aws/stream.ts';
import { awsEndpoint } from './aws-endpoint.ts';
import { API_ENDPOINT, deploy } from './deploy.ts';
import { startGateway } from './gateway/gateway.ts';
import type { FunctionConfig } from './lambda/instance.ts';
import { readableError } from './lambda/readable-error.ts';
import { openPages } from './pages/pages.ts';
import { type CloudOptions, type Running, runningStack } from './running-stack.ts';
import { readTemplate } from './stack/template.ts';
import { startOver } from './state/files.ts';
import { processIdentity } from './state/folder-lock.ts';
import { OPERATOR, operatorsTable, type ServedTable } from './state/operator.ts';
import { databaseIn, readJson } from './state/state.ts';

export type Cloud = ReturnType<typeof cloudOf>;

/** How long requests in flight may take to finish when the cloud stops. */
const GRACE_MS = 5000;

/** Runs a stack. If a part cannot start, stops what was started and rejects. */
export async function startCloud(options: CloudOptions): Promise<Cloud> {
  const stops = new AsyncDisposableStack();
  stops.defer(options.state.close);
  try {
    return await start(options, stops);
  } catch (error) {
    await stops.disposeAsync();
    throw error;
  }
}

async function start(options: CloudOptions, stops: AsyncDisposableStack): Promise<Cloud> {
  const { state } = options;
  const startingEngine = startEngine(
    {
      file: state.folder && databaseIn(state.folder),
      externalUrl: options.beside?.engineUrl ?? options.engineUrl,
    },
    (pid) => state.record({ engine: processIdentity(pid) }),
    options.onEngineExit,
  );
  stops.defer(() =>
    startingEngine.then(
      ({ stop }) => stop(),
      () => undefined,
    ),
  );
  // The stack is synthesized meanwhile.
  const [engine, assembly] = await Promise.all([startingEngine, options.assembly]);
  const running = runningStack(options, assembly, engine.url);
  stops.defer(running.functions.stop);
  const stream = options.beside?.stream ?? streamOf(running);
  if (!options.beside) stops.defer(stream.stop);
  const server = await startServer(running, stream);
  stops.defer(() => server.stop(GRACE_MS));
  running.url = server.url;
  await deployRunning(running);
  if (!options.beside) stops.defer(runEveryMinute(running));
  // Its keys are lost when this process ends, so nobody could use the table.
  if (!state.folder && options.engineUrl && !options.beside)
    stops.defer(async () => {
      const { TableName } = running.deployed.table;
      await callEngine(engine.url, 'DeleteTable', JSON.stringify({ TableName }));
    });

  const cloud = cloudOf(running, stream, () => stops.disposeAsync());
  await requireMatchingKeys(cloud, options);
  if (state.folder) await replayStream(cloud, stream);
  return cloud;
}

const streamOf = (running: Running): Stream =>
  openStream({
    mappings: () => running.deployed.mappings,
    invoke: async (...invocation) => {
      await running.changing;
      return running.functions.invoke(...invocation);
    },
    onLine: (line) => running.options.onLine(readableError(line)),
  });

function startServer(running: Running, stream: Stream) {
  const { onLine, onRejection, port } = running.options;
  const stackTable = () => running.deployed.table;
  const callDynamoDb = openDynamoDb(running.engineUrl, stackTable, stream.committed);
  return startGateway(
    port,
    async () => {
      await running.changing;
      return running.deployed.api;
    },
    running.functions.invoke,
    (error) => onLine(readableError(error)),
    {
      pages: openPages(running.mailbox.mails),
      callAws: awsEndpoint(running, callDynamoDb),
      onRejection,
    },
  );
}

async function deployRunning(running: Running): Promise<void> {
  const { options, engineUrl, url: endpoint, region, deployed, functions } = running;
  await createTable(engineUrl, deployed.table);
  options.state.record({ table: { endpoint, region, tableName: deployed.table.TableName } });
  functions.replace(functionsOf(running));
}

/** Invokes the functions of rules now and every minute. Returns what stops it. */
function runEveryMinute(running: Running): () => void {
  const { functions, options } = running;
  const { onLine } = options;
  const invoke = () => {
    for (const name of running.deployed.everyMinute)
      functions
        .invoke(name, {}, randomUUID())
        .catch((error) => onLine(readableError(String(error))));
  };
  invoke();
  const timer = setInterval(invoke, 60_000);
  return () => clearInterval(timer);
}

const functionsOf = ({ options, deployed, region, url }: Running): FunctionConfig[] =>
  deployed.functions.map((config) => ({
    ...config,
    environment: {
      ...withUrl(config.environment, url),
      AWS_REGION: region,
      AWS_ENDPOINT_URL: url,
      ...(options.mailLinkBase &&
        'MAIL_LINK_BASE' in config.environment && { MAIL_LINK_BASE: options.mailLinkBase }),
    },
  }));

const withUrl = (environment: FunctionConfig['environment'], url: string) =>
  Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [name, value.replaceAll(API_ENDPOINT, url)]),
  );

function cloudOf(running: Running, stream: Stream, stop: () => Promise<void>) {
  return {
    url: running.url,
    endpoint: running.url,
    region: running.region,
    get tableName() {
      return running.deployed.table.TableName;
    },
    /** The ARNs of the keys of password hashes; the first one is for new hashes. */
    get pepperKeys() {
      const { environment } =
        running.deployed.functions.find(({ environment }) => environment.PEPPER_KEYS) ?? {};
      return environment?.PEPPER_KEYS?.split(',') ?? [];
    },
    get functions() {
      return functionsOf(running);
    },
    /** Calls that a function made after it had responded, each as function name and operation. */
    lateCalls: running.lateCalls,
    mailbox: running.mailbox,
    mails: running.mailbox.mails,
    stream,
    engineUrl: running.engineUrl,
    invoke: (name: string, event: unknown) => running.functions.invoke(name, event, randomUUID()),
    /** Resolves once each mail that has been committed was handed to its function. */
    mailsHandedOver: stream.settled,
    deniedCalls: running.deniedCalls,
    unusedPermissions: () => running.deployed.authorization.unused(),
    recycle: running.functions.recycle,
    /** Runs a change of the code or the stack. Requests that arrive meanwhile wait for its end. */
    async holdRequestsDuring(change: () => Promise<void>) {
      const changed = change();
      running.changing = changed.catch(() => undefined);
      await changed;
    },
    async redeploy(assembly: string) {
      running.deployed = deploy(readTemplate(assembly), running.options.state);
      await deployRunning(running);
    },
    stop,
  };
}

/** Hands over what was committed before the last end of the service, as a stream would. */
async function replayStream({ endpoint, region, tableName }: Cloud, stream: Stream): Promise<void> {
  const client = scannerClient({ endpoint, region, credentials: OPERATOR });
  for await (const items of openTableScanner([], tableName, client).scan()) {
    for (const { pk, sk } of items) {
      const input = { TableName: tableName, Item: { pk: { S: pk }, sk: { S: sk } } };
      stream.committed({ operation: 'PutItem', input });
    }
  }
  client.destroy();
}

/**
 * Fails if passwords in the table were hashed with a key that the state does not have, not with one
 * that `pepperKeys` in the settings no longer lists.
 */
async function requireMatchingKeys(served: ServedTable, options: CloudOptions): Promise<void> {
  const table = operatorsTable(served);
  const keys = readJson<Record<string, StoredKey>>(options.state, KEYS_FILE) ?? {};
  const keyIds = Object.values(keys).map(({ id }) => id);
  const { ids = new Set() } = ((await table.get(rosterKey)) ?? {}) as { ids?: ReadonlySet<number> };
  for (const id of ids) {
    const [, usedKeyId] =
      /keyid=([\w.-]+)/.exec((await findUser(table, id))?.passwordHash ?? '') ?? [];
    if (usedKeyId && !keyIds.includes(usedKeyId)) throw new Error(keyMismatch(served, options));
  }
}

function keyMismatch(
  { tableName }: ServedTable,
  { engineUrl, state: { folder = 'memory' } }: CloudOptions,
): string {
  const keys = `keys other than those in ${folder}/${KEYS_FILE}`;
  return engineUrl
    ? `The table ${tableName} at ${engineUrl} was created with ${keys}: set STATE_DIR to the ` +
        'folder of its keys, or restart the engine without its data.'
    : `The table in ${folder} was created with ${keys}: ${startOver(folder)}.`;
}
