import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { CreateTableCommand, DeleteTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { openTableScanner, scannerClient } from '../../lib/table/table-scanner.ts';
import type { Pages } from './api-page/pages.ts';
import { startAwsEndpoint } from './aws/aws-endpoint.ts';
import { ENGINE_REGION, startEngine } from './aws/engine.ts';
import { createKey, isValidKey, KEYS_FILE, localKms, type StoredKey } from './aws/kms.ts';
import { localMailbox, type Mail } from './aws/mailbox.ts';
import { type Mapping, mappingsOf, openStream, type Stream } from './aws/stream.ts';
import type { Interceptor } from './calls/aws-call.ts';
import { type Api, type Cors, startGateway } from './gateway/gateway.ts';
import type { RequestSummary } from './gateway/request-log.ts';
import { type Authorization, openAuthorization, readPolicies } from './iam/authorization.ts';
import { type FunctionConfig, type Functions, runFunctions } from './lambda/functions.ts';
import { readableError } from './lambda/readable-error.ts';
import { requireMatchingKeys } from './require-matching-keys.ts';
import {
  ACCOUNT,
  keyArn,
  type ReturnValues,
  readTemplate,
  resolve,
  type Template,
} from './stack/template.ts';
import { startOver } from './state/database.ts';
import { OPERATOR } from './state/operator.ts';
import type { State } from './state/state.ts';

export interface CloudOptions {
  /**
   * The folder of the cloud assembly. A promise while it is being synthesized: the engine starts
   * meanwhile.
   */
  readonly assembly: string | Promise<string>;
  readonly state: State;
  /** The URL of a DynamoDB engine to use instead of the embedded one. */
  readonly engineUrl?: string | undefined;
  /** The port of the HTTP API; 0 selects any free port. */
  readonly port: number;
  /** Receives each line that a function prints, and errors of the local cloud itself. */
  readonly onLine: (line: string) => void;
  /** Receives each request that the HTTP API itself rejects, of which no function logs a line. */
  readonly onRejection?: (rejection: RequestSummary) => void;
  /** Called when the engine exits unexpectedly. */
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
  /** Replaces all timeouts of functions, in milliseconds. */
  readonly timeoutMs?: number | undefined;
  /** How many requests each function handles at a time; 8 unless given. */
  readonly maxInstancesPerFunction?: number;
  /** Pages at paths that the API does not have. */
  readonly pages?: Pages;
  /** The minimum duration of each transaction, in milliseconds. */
  readonly holdTransactions?: number;
  /**
   * Whether calls to the table, including those of operators, are throttled as DynamoDB would
   * throttle them.
   */
  readonly meterCapacity?: boolean;
}

/** A stack that runs on this machine. */
export interface Cloud {
  /** The URL of the HTTP API. */
  readonly url: string;
  /** The value of `AWS_ENDPOINT_URL` for AWS clients. */
  readonly endpoint: string;
  readonly region: string;
  /** The table of the deployed stack. */
  readonly tableName: string;
  /** The ARNs of the keys of password hashes; the first one is that of new hashes. */
  readonly pepperKeys: readonly string[];
  /** The functions of the deployed stack. */
  readonly functions: readonly FunctionConfig[];
  /** Calls that a function made after it had responded, each as function name and operation. */
  readonly lateCalls: string[];
  /** The messages sent through SES, newest last. */
  readonly mails: Mail[];
  /** Invokes a function as an event source does. */
  invoke(functionName: string, event: unknown): Promise<unknown>;
  /** Resolves once each mail that has been committed was handed to its function at least once. */
  mailsHandedOver(): Promise<void>;
  /** One sentence for each call that the policies of its function do not allow. */
  readonly deniedCalls: string[];
  /** One sentence for each grant that no call has used since the deployment. */
  unusedPermissions(): string[];
  /** Replaces all function instances, so that the next requests run the current bundles. */
  recycle(): void;
  /** Runs a change of the code or the stack. Requests that arrive meanwhile wait for its end. */
  holdRequestsDuring(change: () => Promise<void>): Promise<void>;
  /** Deploys the stack of another cloud assembly. */
  redeploy(assembly: string): Promise<void>;
  stop(): Promise<void>;
}

const ENDPOINT_FILE = 'endpoint.json';
/** How long requests in flight may take to finish when the cloud stops. */
const GRACE_MS = 5000;

export async function startCloud(options: CloudOptions): Promise<Cloud> {
  const { state, onLine } = options;
  const stops: (() => unknown)[] = [state.close];
  const stop = async () => {
    for (const end of stops.splice(0).reverse()) await end();
  };
  try {
    return await start();
  } catch (error) {
    await stop();
    throw error;
  }

  async function start(): Promise<Cloud> {
    const startingEngine = startEngine(
      { file: state.database, externalUrl: options.engineUrl },
      state.recordEngine,
      options.onEngineExit,
    );
    const stopEngine = ({ stop }: Awaited<typeof startingEngine>) => stop();
    stops.push(() => startingEngine.then(stopEngine, () => undefined));
    const [engine, assembly] = await Promise.all([startingEngine, options.assembly]);
    const template = readTemplate(assembly);
    let deployed = deploy(template, state);

    let changing: Promise<unknown> = Promise.resolve();
    const lateCalls: string[] = [];
    const deniedCalls: string[] = [];
    const mailbox = localMailbox(state);
    let functions: Functions | undefined;
    const stream = openStream({
      mappings: () => deployed.mappings,
      invoke: async (...invocation) => {
        await changing;
        return functions?.invoke(...invocation);
      },
      onLine: (line) => onLine(readableError(line)),
    });
    const { port: formerPort = 0 } =
      state.readJson<{ port?: number }>(ENDPOINT_FILE, 'delete it to use another port') ?? {};
    let apiUrl = '';
    const awsEndpoint = await startAwsEndpoint({
      engineUrl: engine.url,
      port: formerPort,
      apiUrl: () => apiUrl,
      kms: (operation, input) => deployed.kms(operation, input),
      identify: (accessKey) => functions?.identify(accessKey),
      kill: (accessKey) => functions?.kill(accessKey),
      mailbox,
      denialReason: (functionName, call) => deployed.authorization.denialReason(functionName, call),
      stackTable: () => deployed.table,
      onCommitted: stream.committed,
      intercept: options.intercept,
      onLateCall(name, operation) {
        lateCalls.push(`${name} ${operation}`);
        onLine(
          `${name} called ${operation} after it had responded: Lambda would have frozen the instance`,
        );
      },
      onDenied(sentence) {
        deniedCalls.push(sentence);
        onLine(sentence);
      },
      holdTransactions: options.holdTransactions,
      capacity: options.meterCapacity
        ? { region: template.region, tableMaximum: () => tableMaximum(deployed.table) }
        : undefined,
    });
    stops.push(awsEndpoint.stop);
    if (awsEndpoint.port !== formerPort) {
      if (formerPort)
        onLine(
          `Port ${formerPort} is taken: the mailbox and the AWS APIs have moved to ${awsEndpoint.url}`,
        );
      state.write(ENDPOINT_FILE, JSON.stringify({ port: awsEndpoint.port }));
    }
    await createTable(awsEndpoint.url, template.region, deployed.table);
    // Its keys are lost when this process ends, so nobody could use the table.
    if (!state.database && options.engineUrl)
      stops.push(() => deleteTable(awsEndpoint.url, deployed.table));
    const recordTable = () =>
      state.recordTable({
        endpoint: awsEndpoint.url,
        region: template.region,
        tableName: deployed.table.TableName,
      });
    recordTable();

    const withMailLinks = (functions: readonly FunctionConfig[]) =>
      withVariable(functions, 'MAIL_LINK_BASE', options.mailLinkBase?.(awsEndpoint.url));
    functions = runFunctions(withMailLinks(deployed.functions), {
      endpoint: awsEndpoint.url,
      region: template.region,
      maxInstancesPerFunction: options.maxInstancesPerFunction ?? 8,
      onLine,
      onError: options.onError,
      timeoutMs: options.timeoutMs,
    });
    stops.push(() => functions?.stop(), stream.stop);
    const gateway = await startGateway(
      options.port,
      async () => {
        await changing;
        return deployed.api;
      },
      async (...invocation) => functions?.invoke(...invocation),
      (error) => onLine(readableError(error)),
      {
        pages: options.pages,
        integrationTimeoutMs: options.timeoutMs,
        onRejection: options.onRejection,
      },
    );
    stops.push(() => gateway.stop(GRACE_MS));
    apiUrl = gateway.url;

    const cloud: Cloud = {
      url: apiUrl,
      endpoint: awsEndpoint.url,
      region: template.region,
      get tableName() {
        return deployed.table.TableName;
      },
      get pepperKeys() {
        return (
          deployed.functions
            .find(({ environment }) => environment.PEPPER_KEYS)
            ?.environment.PEPPER_KEYS?.split(',') ?? []
        );
      },
      get functions() {
        return deployed.functions;
      },
      lateCalls,
      mails: mailbox.mails,
      invoke: async (name, event) => functions?.invoke(name, event, randomUUID()),
      mailsHandedOver: stream.settled,
      deniedCalls,
      unusedPermissions: () => deployed.authorization.unused(),
      recycle: () => functions?.recycle(),
      async holdRequestsDuring(change) {
        const changed = change();
        changing = changed.catch(() => undefined);
        await changed;
      },
      async redeploy(assembly) {
        const changed = readTemplate(assembly);
        deployed = deploy(changed, state);
        await createTable(awsEndpoint.url, changed.region, deployed.table);
        recordTable();
        functions?.replace(withMailLinks(deployed.functions));
      },
      stop,
    };
    await requireMatchingKeys(cloud, options);
    if (state.database) await handOverLeft(cloud, stream);
    return cloud;
  }
}

interface TableProperties {
  readonly TableName: string;
  /** Undefined for a table that the stack has adopted. */
  readonly KeySchema?: { AttributeName: string; KeyType: 'HASH' | 'RANGE' }[];
  readonly AttributeDefinitions?: { AttributeName: string; AttributeType: 'S' | 'N' | 'B' }[];
  readonly OnDemandThroughput?: { MaxReadRequestUnits?: number; MaxWriteRequestUnits?: number };
  readonly SSESpecification?: { KMSMasterKeyId?: string };
  readonly Tags?: { Key: string; Value: string }[];
}

interface Deployed {
  readonly kms: ReturnType<typeof localKms>;
  readonly authorization: Authorization;
  readonly table: TableProperties;
  readonly functions: FunctionConfig[];
  readonly mappings: readonly Mapping[];
  readonly api: Api;
}

/**
 * Creates the resources of a template. Keys are created once and stored; the rest is derived from
 * the template.
 */
function deploy(template: Template, state: State): Deployed {
  const { region, stack } = template;
  const resources = new Map<string, ReturnValues>();
  const evaluate = <T>(value: unknown) => resolve<T>(value, resources, region);
  const arn = (service: string, name: string) => `arn:aws:${service}:${region}:${ACCOUNT}:${name}`;

  const stored = state.readJson<Record<string, StoredKey>>(KEYS_FILE) ?? {};
  const storedBefore = Object.keys(stored).length;
  for (const [logicalId, { KeySpec }] of template.ofType('AWS::KMS::Key')) {
    const spec = String(KeySpec ?? 'SYMMETRIC_DEFAULT');
    const key = stored[logicalId] ?? createKey(spec);
    if (!isValidKey(key, spec)) throw new Error(invalidKey(logicalId, state));
    stored[logicalId] = key;
    resources.set(logicalId, { ref: key.id, attributes: { Arn: keyArn(region, key.id) } });
  }
  if (Object.keys(stored).length > storedBefore) state.write(KEYS_FILE, JSON.stringify(stored));

  const [[tableId, tableProperties] = []] = template.ofType('AWS::DynamoDB::Table');
  if (tableId) {
    const ref = `${stack}-${tableId}${state.tableSuffix}`;
    const Arn = arn('dynamodb', `table/${ref}`);
    resources.set(tableId, { ref, attributes: { Arn, StreamArn: `${Arn}/stream/local` } });
  }
  const tableName = evaluate<string>(template.output('TableName'));
  if (!tableName) throw new Error('The stack has no table');
  for (const [logicalId] of template.ofType('AWS::Logs::LogGroup')) {
    resources.set(logicalId, {
      ref: logicalId,
      attributes: { Arn: arn('logs', `log-group:${logicalId}:*`) },
    });
  }
  for (const [logicalId] of template.ofType('AWS::IAM::Role')) {
    resources.set(logicalId, {
      ref: logicalId,
      attributes: { Arn: `arn:aws:iam::${ACCOUNT}:role/${logicalId}` },
    });
  }

  const code = new Map<string, string>();
  const functions = template
    .ofType('AWS::Lambda::Function')
    .map(([logicalId, properties]): FunctionConfig => {
      const name = String(properties.Description);
      resources.set(logicalId, {
        ref: logicalId,
        attributes: { Arn: arn('lambda', `function:${logicalId}`) },
      });
      code.set(arn('lambda', `function:${logicalId}`), name);
      const { S3Key } = evaluate<{ S3Key: string }>(properties.Code);
      const [file] = String(properties.Handler).split('.');
      return {
        name,
        file: join(template.assetFolder(S3Key), `${file}.mjs`),
        environment: evaluate<{ Variables: Record<string, string> }>(properties.Environment)
          .Variables,
        timeoutMs: Number(properties.Timeout) * 1000,
        memoryMb: Number(properties.MemorySize),
      };
    });

  for (const [logicalId] of template.ofType('AWS::Lambda::Version')) {
    resources.set(logicalId, { ref: logicalId, attributes: { Version: '1' } });
  }
  // Every alias serves the only version that exists here: the current code.
  for (const [logicalId, { FunctionName, Name }] of template.ofType('AWS::Lambda::Alias')) {
    const functionArn = arn('lambda', `function:${evaluate<string>(FunctionName)}`);
    resources.set(logicalId, { ref: `${functionArn}:${Name}` });
    code.set(`${functionArn}:${Name}`, code.get(functionArn) ?? '');
  }

  const integrations = new Map<string, string>();
  for (const [logicalId, { IntegrationUri }] of template.ofType('AWS::ApiGatewayV2::Integration')) {
    resources.set(logicalId, { ref: logicalId });
    integrations.set(`integrations/${logicalId}`, code.get(evaluate<string>(IntegrationUri)) ?? '');
  }
  const routes = new Map<string, string>();
  for (const [logicalId, { RouteKey, Target }] of template.ofType('AWS::ApiGatewayV2::Route')) {
    const name = integrations.get(evaluate<string>(Target));
    if (!name) throw new Error(`The route ${logicalId} has no function`);
    routes.set(String(RouteKey), name);
  }
  const [[, api] = []] = template.ofType('AWS::ApiGatewayV2::Api');

  const table = { ...evaluate<TableProperties>(tableProperties ?? {}), TableName: tableName };
  const logicalIds = new Map(
    [...resources].map(([logicalId, { attributes }]) => [attributes?.Arn, logicalId]),
  );
  return {
    kms: localKms(region, Object.values(stored)),
    authorization: openAuthorization(readPolicies(template, evaluate), {
      region,
      // The template does not contain the key of an adopted table, so its use is not checked.
      tableKey: table.SSESpecification?.KMSMasterKeyId,
      nameOf: (arn) => logicalIds.get(arn) ?? arn,
    }),
    table,
    functions,
    mappings: mappingsOf(template, evaluate, (name) => code.get(arn('lambda', `function:${name}`))),
    api: { routes, cors: api?.CorsConfiguration as Cors | undefined },
  };
}

const invalidKey = (logicalId: string, { folder = 'memory' }: State): string =>
  `The key ${logicalId} in ${folder}/${KEYS_FILE} is invalid: ${startOver(folder)}.`;

/** Replaces a variable in the environment of the functions that have it. */
const withVariable = (
  functions: readonly FunctionConfig[],
  name: string,
  value: string | undefined,
) =>
  functions.map((config) =>
    value !== undefined && name in config.environment
      ? { ...config, environment: { ...config.environment, [name]: value } }
      : config,
  );

const tableMaximum = ({ OnDemandThroughput }: TableProperties) => ({
  Read: OnDemandThroughput?.MaxReadRequestUnits,
  Write: OnDemandThroughput?.MaxWriteRequestUnits,
});

async function createTable(
  endpoint: string,
  region: string,
  table: TableProperties,
): Promise<void> {
  const { TableName, KeySchema, AttributeDefinitions } = table;
  if (!KeySchema) return;
  const client = new DynamoDBClient({ endpoint, region, credentials: OPERATOR });
  await client
    .send(
      new CreateTableCommand({
        TableName,
        KeySchema,
        AttributeDefinitions,
        BillingMode: 'PAY_PER_REQUEST',
      }),
    )
    .catch((error: Error) => {
      if (error.name !== 'ResourceInUseException') throw error;
    });
  client.destroy();
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

async function deleteTable(endpoint: string, { TableName }: TableProperties): Promise<void> {
  const client = new DynamoDBClient({ endpoint, region: ENGINE_REGION, credentials: OPERATOR });
  await client.send(new DeleteTableCommand({ TableName }));
  client.destroy();
}
