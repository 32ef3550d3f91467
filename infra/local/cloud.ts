import { randomUUID } from 'node:crypto';
import { openTableScanner, scannerClient } from '../../lib/table/table-scanner.ts';
import type { Pages } from './api-page/pages.ts';
import { startAwsEndpoint } from './aws/aws-endpoint.ts';
import { startEngine } from './aws/engine.ts';
import { localMailbox } from './aws/mailbox.ts';
import { createTable, deleteTable } from './aws/stack-table.ts';
import { openStream, type Stream } from './aws/stream.ts';
import type { Interceptor } from './calls/aws-call.ts';
import { meterCapacity } from './capacity/meter-capacity.ts';
import { deploy } from './deploy.ts';
import { startGateway } from './gateway/gateway.ts';
import type { RequestSummary } from './gateway/request-log.ts';
import { type Functions, runFunctions } from './lambda/functions.ts';
import type { FunctionConfig } from './lambda/instance.ts';
import { readableError } from './lambda/readable-error.ts';
import { requireMatchingKeys } from './require-matching-keys.ts';
import { readTemplate } from './stack/template.ts';
import { processIdentity } from './state/folder-lock.ts';
import { OPERATOR } from './state/operator.ts';
import { databaseIn, readJson, type State } from './state/state.ts';

export interface CloudOptions {
  /** The folder of the cloud assembly; a promise while it is being synthesized. */
  readonly assembly: string | Promise<string>;
  readonly state: State;
  readonly engineUrl?: string | undefined;
  readonly port: number;
  readonly onLine: (line: string) => void;
  /** Receives each request that the HTTP API itself rejects, of which no function logs a line. */
  readonly onRejection?: (rejection: RequestSummary) => void;
  readonly onEngineExit: (reason: string) => void;
  /** Runs around every call to AWS that is neither denied nor late. */
  readonly intercept?: Interceptor;
  /** Receives the message and stack of a logged error, which tests must not print. */
  readonly onError?: (functionName: string, error: string) => void;
  /** The page that links in mails lead to, below the URL of the AWS APIs; else the template's. */
  readonly mailLinkBase?: (endpoint: string) => string;
  readonly timeoutMs?: number | undefined;
  /** 8 unless given. */
  readonly maxInstancesPerFunction?: number;
  readonly pages?: Pages;
  /** Whether calls to the table, including those of operators, are throttled as on AWS. */
  readonly meterCapacity?: boolean;
}

/** A stack that runs on this machine. */
export type Cloud = ReturnType<typeof cloudOf>;

const ENDPOINT_FILE = 'endpoint.json';
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
    { file: state.folder && databaseIn(state.folder), externalUrl: options.engineUrl },
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
  const running = runningStack(options, assembly);
  const stream = openStream({
    mappings: () => running.deployed.mappings,
    invoke: async (...invocation) => {
      await running.changing;
      return running.functions?.invoke(...invocation);
    },
    onLine: (line) => options.onLine(readableError(line)),
  });
  const awsEndpoint = await startEndpoint(running, engine.url, stream);
  stops.defer(awsEndpoint.stop);
  running.endpoint = awsEndpoint.url;
  await createStackTable(running);
  // Its keys are lost when this process ends, so nobody could use the table.
  if (!state.folder && options.engineUrl)
    stops.defer(() => deleteTable(running.endpoint, running.region, running.deployed.table));

  running.functions = runFunctions(withMailLinks(running), {
    ...options,
    endpoint: running.endpoint,
    region: running.region,
    maxInstancesPerFunction: options.maxInstancesPerFunction ?? 8,
  });
  stops.defer(running.functions.stop);
  stops.defer(stream.stop);
  const gateway = await startApi(running);
  stops.defer(() => gateway.stop(GRACE_MS));
  running.apiUrl = gateway.url;

  const cloud = cloudOf(running, stream, () => stops.disposeAsync());
  await requireMatchingKeys(cloud, options);
  if (state.folder) await handOverLeft(cloud, stream);
  return cloud;
}

type Running = ReturnType<typeof runningStack>;

function runningStack(options: CloudOptions, assembly: string) {
  const template = readTemplate(assembly);
  return {
    options,
    region: template.region,
    mailbox: localMailbox(options.state),
    lateCalls: [] as string[],
    deniedCalls: [] as string[],
    deployed: deploy(template, options.state),
    endpoint: '',
    functions: undefined as Functions | undefined,
    /** Ends with the change of the code or the stack that is under way. */
    changing: Promise.resolve() as Promise<unknown>,
    apiUrl: '',
  };
}

/** Starts the AWS APIs, if possible on the port of the last start, and records the port. */
async function startEndpoint(running: Running, engineUrl: string, stream: Stream) {
  const { state, onLine, intercept } = running.options;
  const { port: formerPort = 0 } =
    readJson<{ port?: number }>(state, ENDPOINT_FILE, 'delete it to use another port') ?? {};
  const endpoint = await startAwsEndpoint(running, {
    engineUrl,
    port: formerPort,
    onCommitted: stream.committed,
    intercept,
    onLine,
    meter: running.options.meterCapacity
      ? meterCapacity(() => {
          const { OnDemandThroughput } = running.deployed.table;
          return {
            Read: OnDemandThroughput?.MaxReadRequestUnits,
            Write: OnDemandThroughput?.MaxWriteRequestUnits,
          };
        })
      : undefined,
  });
  if (endpoint.port === formerPort) return endpoint;
  if (formerPort)
    onLine(
      `Port ${formerPort} is taken: the mailbox and the AWS APIs have moved to ${endpoint.url}`,
    );
  state.write(ENDPOINT_FILE, JSON.stringify({ port: endpoint.port }));
  return endpoint;
}

async function createStackTable({ options, endpoint, region, deployed }: Running): Promise<void> {
  await createTable(endpoint, region, deployed.table);
  options.state.record({ table: { endpoint, region, tableName: deployed.table.TableName } });
}

function startApi(running: Running) {
  const { onLine, onRejection, pages, port, timeoutMs } = running.options;
  return startGateway(
    port,
    async () => {
      await running.changing;
      return running.deployed.api;
    },
    async (...invocation) => running.functions?.invoke(...invocation),
    (error) => onLine(readableError(error)),
    { pages, integrationTimeoutMs: timeoutMs, onRejection },
  );
}

function cloudOf(running: Running, stream: Stream, stop: () => Promise<void>) {
  return {
    url: running.apiUrl,
    endpoint: running.endpoint,
    region: running.region,
    get tableName() {
      return running.deployed.table.TableName;
    },
    /** The ARNs of the keys of password hashes; the first one is that of new hashes. */
    get pepperKeys() {
      const { environment } =
        running.deployed.functions.find(({ environment }) => environment.PEPPER_KEYS) ?? {};
      return environment?.PEPPER_KEYS?.split(',') ?? [];
    },
    get functions() {
      return running.deployed.functions;
    },
    /** Calls that a function made after it had responded, each as function name and operation. */
    lateCalls: running.lateCalls,
    mails: running.mailbox.mails,
    invoke: async (name: string, event: unknown) =>
      running.functions?.invoke(name, event, randomUUID()),
    /** Resolves once each mail that has been committed was handed to its function. */
    mailsHandedOver: stream.settled,
    deniedCalls: running.deniedCalls,
    unusedPermissions: () => running.deployed.authorization.unused(),
    recycle: () => running.functions?.recycle(),
    /** Runs a change of the code or the stack. Requests that arrive meanwhile wait for its end. */
    async holdRequestsDuring(change: () => Promise<void>) {
      const changed = change();
      running.changing = changed.catch(() => undefined);
      await changed;
    },
    async redeploy(assembly: string) {
      running.deployed = deploy(readTemplate(assembly), running.options.state);
      await createStackTable(running);
      running.functions?.replace(withMailLinks(running));
    },
    stop,
  };
}

function withMailLinks({ options, deployed, endpoint }: Running): FunctionConfig[] {
  const MAIL_LINK_BASE = options.mailLinkBase?.(endpoint);
  return deployed.functions.map((config) =>
    MAIL_LINK_BASE !== undefined && 'MAIL_LINK_BASE' in config.environment
      ? { ...config, environment: { ...config.environment, MAIL_LINK_BASE } }
      : config,
  );
}

/** Hands over what was committed before the last end of the service, as a stream would. */
async function handOverLeft({ endpoint, region, tableName }: Cloud, stream: Stream): Promise<void> {
  const client = scannerClient({ endpoint, region, credentials: OPERATOR });
  for await (const items of openTableScanner([], tableName, client).scan()) {
    for (const { pk, sk } of items) {
      const input = { TableName: tableName, Item: { pk: { S: pk }, sk: { S: sk } } };
      stream.committed({ operation: 'PutItem', input });
    }
  }
  client.destroy();
}
