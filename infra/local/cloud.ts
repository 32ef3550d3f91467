import { randomUUID } from 'node:crypto';
import { openTableScanner, scannerClient } from '../../lib/table/table-scanner.ts';
import type { Pages } from './api-page/pages.ts';
import { startAwsEndpoint } from './aws/aws-endpoint.ts';
import { startEngine } from './aws/engine.ts';
import { localMailbox, type Mail } from './aws/mailbox.ts';
import { createTable, deleteTable } from './aws/stack-table.ts';
import { openStream, type Stream } from './aws/stream.ts';
import type { Interceptor, Meter } from './calls/aws-call.ts';
import { meterCapacity } from './capacity/meter-capacity.ts';
import { type Deployed, deploy } from './deploy.ts';
import { startGateway } from './gateway/gateway.ts';
import type { RequestSummary } from './gateway/request-log.ts';
import { type Functions, runFunctions } from './lambda/functions.ts';
import type { FunctionConfig } from './lambda/instance.ts';
import { readableError } from './lambda/readable-error.ts';
import { requireMatchingKeys } from './require-matching-keys.ts';
import { readTemplate } from './stack/template.ts';
import { OPERATOR } from './state/operator.ts';
import type { State } from './state/state.ts';

export interface CloudOptions {
  /**
   * The folder of the cloud assembly. A promise while it is being synthesized: the engine starts
   * meanwhile.
   */
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
  /**
   * Receives each error that a function logs, with its message and stack; tests must not print what
   * these quote.
   */
  readonly onError?: (functionName: string, error: string) => void;
  /**
   * The page that links in mails lead to, below the URL of the AWS APIs; by default, that of the
   * template.
   */
  readonly mailLinkBase?: (endpoint: string) => string;
  readonly timeoutMs?: number | undefined;
  /** How many requests each function handles at a time; 8 unless given. */
  readonly maxInstancesPerFunction?: number;
  readonly pages?: Pages;
  /**
   * Whether calls to the table, including those of operators, are throttled as DynamoDB would
   * throttle them.
   */
  readonly meterCapacity?: boolean;
}

export interface Cloud {
  readonly url: string;
  readonly endpoint: string;
  readonly region: string;
  readonly tableName: string;
  /** The ARNs of the keys of password hashes; the first one is that of new hashes. */
  readonly pepperKeys: readonly string[];
  readonly functions: readonly FunctionConfig[];
  /** Calls that a function made after it had responded, each as function name and operation. */
  readonly lateCalls: string[];
  readonly mails: Mail[];
  invoke(functionName: string, event: unknown): Promise<unknown>;
  /** Resolves once each mail that has been committed was handed to its function at least once. */
  mailsHandedOver(): Promise<void>;
  readonly deniedCalls: string[];
  unusedPermissions(): string[];
  recycle(): void;
  /** Runs a change of the code or the stack. Requests that arrive meanwhile wait for its end. */
  holdRequestsDuring(change: () => Promise<void>): Promise<void>;
  redeploy(assembly: string): Promise<void>;
  stop(): Promise<void>;
}

const ENDPOINT_FILE = 'endpoint.json';
/** How long requests in flight may take to finish when the cloud stops. */
const GRACE_MS = 5000;

/** Runs a stack. Rejects after it has stopped what was started if a part cannot start. */
export async function startCloud(options: CloudOptions): Promise<Cloud> {
  const stops: Stop[] = [options.state.close];
  const stop = async () => {
    for (const end of stops.splice(0).reverse()) await end();
  };
  try {
    return await start(options, stops, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

type Stop = () => unknown;

interface Running {
  readonly options: CloudOptions;
  readonly region: string;
  readonly mailbox: ReturnType<typeof localMailbox>;
  readonly lateCalls: string[];
  readonly deniedCalls: string[];
  deployed: Deployed;
  /** Undefined until the AWS APIs, which functions call, have started. */
  functions: Functions | undefined;
  /** Ends with the change of the code or the stack that is under way. */
  changing: Promise<unknown>;
  /** Empty until the HTTP API has started. */
  apiUrl: string;
}

async function start(options: CloudOptions, stops: Stop[], stop: Cloud['stop']): Promise<Cloud> {
  const { state, onLine } = options;
  const startingEngine = startEngine(
    { file: state.database, externalUrl: options.engineUrl },
    state.recordEngine,
    options.onEngineExit,
  );
  const stopEngine = ({ stop }: Awaited<typeof startingEngine>) => stop();
  stops.push(() => startingEngine.then(stopEngine, () => undefined));
  const [engine, assembly] = await Promise.all([startingEngine, options.assembly]);
  const template = readTemplate(assembly);
  const { region } = template;
  const running: Running = {
    options,
    region,
    mailbox: localMailbox(state),
    lateCalls: [],
    deniedCalls: [],
    deployed: deploy(template, state),
    functions: undefined,
    changing: Promise.resolve(),
    apiUrl: '',
  };
  const stream = streamOf(running);
  const awsEndpoint = await startEndpoint(running, engine.url, stream);
  stops.push(awsEndpoint.stop);
  await createTable(awsEndpoint.url, region, running.deployed.table);
  // Its keys are lost when this process ends, so nobody could use the table.
  if (!state.database && options.engineUrl)
    stops.push(() => deleteTable(awsEndpoint.url, running.deployed.table));
  recordTable(running, awsEndpoint.url);

  running.functions = runFunctions(withMailLinks(running, awsEndpoint.url), {
    endpoint: awsEndpoint.url,
    region,
    maxInstancesPerFunction: options.maxInstancesPerFunction ?? 8,
    onLine,
    onError: options.onError,
    timeoutMs: options.timeoutMs,
  });
  stops.push(() => running.functions?.stop(), stream.stop);
  const gateway = await startApi(running);
  stops.push(() => gateway.stop(GRACE_MS));
  running.apiUrl = gateway.url;

  const cloud = cloudOf(running, awsEndpoint.url, stream, stop);
  await requireMatchingKeys(cloud, options);
  if (state.database) await handOverLeft(cloud, stream);
  return cloud;
}

const streamOf = (running: Running): Stream =>
  openStream({
    mappings: () => running.deployed.mappings,
    invoke: async (...invocation) => {
      await running.changing;
      return running.functions?.invoke(...invocation);
    },
    onLine: (line) => running.options.onLine(readableError(line)),
  });

/** Starts the AWS APIs, if possible on the port of the last start, and records the port. */
async function startEndpoint(running: Running, engineUrl: string, stream: Stream) {
  const { options, mailbox, lateCalls, deniedCalls } = running;
  const { state, onLine } = options;
  const { port: formerPort = 0 } =
    state.readJson<{ port?: number }>(ENDPOINT_FILE, 'delete it to use another port') ?? {};
  const endpoint = await startAwsEndpoint({
    engineUrl,
    port: formerPort,
    apiUrl: () => running.apiUrl,
    functions: () => running.functions,
    deployed: () => running.deployed,
    mailbox,
    onCommitted: stream.committed,
    intercept: options.intercept,
    onLateCall(name, operation) {
      lateCalls.push(`${name} ${operation}`);
      onLine(
        `${name} called ${operation} after it had responded: ` +
          'Lambda would have frozen the instance',
      );
    },
    onDenied(sentence) {
      deniedCalls.push(sentence);
      onLine(sentence);
    },
    meter: options.meterCapacity ? openMeter(running) : undefined,
  });
  if (endpoint.port !== formerPort) {
    if (formerPort)
      onLine(
        `Port ${formerPort} is taken: the mailbox and the AWS APIs have moved to ${endpoint.url}`,
      );
    state.write(ENDPOINT_FILE, JSON.stringify({ port: endpoint.port }));
  }
  return endpoint;
}

function openMeter(running: Running): Meter {
  return meterCapacity(() => {
    const { OnDemandThroughput } = running.deployed.table;
    return {
      Read: OnDemandThroughput?.MaxReadRequestUnits,
      Write: OnDemandThroughput?.MaxWriteRequestUnits,
    };
  });
}

const recordTable = ({ options, region, deployed }: Running, endpoint: string): void =>
  options.state.recordTable({ endpoint, region, tableName: deployed.table.TableName });

const startApi = (running: Running) => {
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
};

function cloudOf(running: Running, endpoint: string, stream: Stream, stop: Cloud['stop']): Cloud {
  const { state } = running.options;
  return {
    url: running.apiUrl,
    endpoint,
    region: running.region,
    get tableName() {
      return running.deployed.table.TableName;
    },
    get pepperKeys() {
      return (
        running.deployed.functions
          .find(({ environment }) => environment.PEPPER_KEYS)
          ?.environment.PEPPER_KEYS?.split(',') ?? []
      );
    },
    get functions() {
      return running.deployed.functions;
    },
    lateCalls: running.lateCalls,
    mails: running.mailbox.mails,
    invoke: async (name, event) => running.functions?.invoke(name, event, randomUUID()),
    mailsHandedOver: stream.settled,
    deniedCalls: running.deniedCalls,
    unusedPermissions: () => running.deployed.authorization.unused(),
    recycle: () => running.functions?.recycle(),
    async holdRequestsDuring(change) {
      const changed = change();
      running.changing = changed.catch(() => undefined);
      await changed;
    },
    async redeploy(assembly) {
      const changed = readTemplate(assembly);
      running.deployed = deploy(changed, state);
      await createTable(endpoint, changed.region, running.deployed.table);
      recordTable(running, endpoint);
      running.functions?.replace(withMailLinks(running, endpoint));
    },
    stop,
  };
}

/** The functions of the stack, with the page that links in mails lead to on this machine. */
function withMailLinks({ options, deployed }: Running, endpoint: string): FunctionConfig[] {
  const MAIL_LINK_BASE = options.mailLinkBase?.(endpoint);
  return deployed.functions.map((config) =>
    MAIL_LINK_BASE !== undefined && 'MAIL_LINK_BASE' in config.environment
      ? { ...config, environment: { ...config.environment, MAIL_LINK_BASE } }
      : config,
  );
}

/**
 * Hands over what was committed before the last end of the service, as the stream of DynamoDB
 * would.
 */
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
