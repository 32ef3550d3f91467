import { join } from 'node:path';
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { startAwsEndpoint } from './aws/aws-endpoint.ts';
import { startEngine } from './aws/engine.ts';
import { localKms, makeKey, type StoredKey } from './aws/kms.ts';
import { localMailbox, type Mail } from './aws/mailbox.ts';
import type { Interceptor } from './calls/aws-call.ts';
import { type Api, type Cors, startGateway } from './gateway/gateway.ts';
import { type Authorization, openAuthorization, readPolicies } from './iam/authorization.ts';
import { type FunctionConfig, type Functions, runFunctions } from './lambda/functions.ts';
import { ACCOUNT, keyArn, type Made, readTemplate, resolve, type Template } from './stack/template.ts';
import { OPERATOR } from './state/operator.ts';
import type { State } from './state/state.ts';

export interface CloudOptions {
  /** The folder that the stack was synthesized to. */
  readonly assembly: string;
  readonly state: State;
  /** Of the HTTP API; 0 means any. */
  readonly port: number;
  /** Gets each line that a function prints, and what goes wrong around it. */
  readonly onLine: (line: string) => void;
  /** The engine has ended by itself. */
  readonly onEnd: (reason: string) => void;
  /** Stands around every call to AWS. */
  readonly around?: Interceptor;
  readonly holdTransactions?: number;
  /** Whether calls to the table are throttled as DynamoDB would throttle them, whoever makes them. */
  readonly meterCapacity?: boolean;
}

/** A stack at work on this machine. */
export interface Cloud {
  /** Of the HTTP API. */
  readonly url: string;
  /** Of AWS: `AWS_ENDPOINT_URL` for whoever wants to look behind the API. */
  readonly endpoint: string;
  readonly region: string;
  readonly tableName: string;
  readonly pepperKey: string;
  /** Calls that came from a function after it had answered. */
  readonly lateCalls: string[];
  /** What SES was asked to send, the newest last. */
  readonly mails: Mail[];
  /** Calls of functions that their policies do not allow, one sentence for each. */
  readonly refusedCalls: string[];
  /** What functions may do and have not done since they were deployed, one sentence for each. */
  unusedRights(): string[];
  /** Runs the functions as they are bundled now. */
  recycle(): void;
  /** Runs the stack as it was synthesized to this folder. */
  redeploy(assembly: string): Promise<void>;
  stop(): Promise<void>;
}

const KEYS = 'keys.json';
/** How long requests that have begun may take when the cloud stops; milliseconds. */
const GRACE = 5000;

/** Runs the synthesized stack: its routes, its functions with their environment, its table and its keys. */
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
    const template = readTemplate(options.assembly);
    let deployed = deploy(template, state);
    const engine = await startEngine(state.database, state.engineStarted, options.onEnd);
    stops.push(engine.stop);

    const lateCalls: string[] = [];
    const refusedCalls: string[] = [];
    const mailbox = localMailbox(state);
    let functions: Functions | undefined;
    const front = await startAwsEndpoint({
      engineUrl: engine.url,
      kms: (operation, input) => deployed.kms(operation, input),
      identify: (accessKey) => functions?.identify(accessKey),
      kill: (accessKey) => functions?.kill(accessKey),
      mailbox,
      refuses: (by, call) => deployed.authorization.refuses(by, call),
      tableTags: () => deployed.table.Tags ?? [],
      intercept: options.around,
      onLateCall(name, operation) {
        lateCalls.push(`${name} ${operation}`);
        onLine(`${name} called ${operation} after it had answered: Lambda would have frozen it`);
      },
      onRefusal(sentence) {
        refusedCalls.push(sentence);
        onLine(sentence);
      },
      holdTransactions: options.holdTransactions,
      capacity: options.meterCapacity
        ? { region: template.region, tableMaximum: () => tableMaximum(deployed.table) }
        : undefined,
    });
    stops.push(front.stop);
    await createTable(front.url, template.region, deployed.table);
    state.tableServed({ endpoint: front.url, region: template.region, tableName: deployed.table.TableName });

    functions = runFunctions(deployed.functions, { endpoint: front.url, region: template.region, onLine });
    stops.push(() => functions?.stop());
    const gateway = await startGateway(
      options.port,
      () => deployed.api,
      async (name, event, requestId) => functions?.invoke(name, event, requestId),
      onLine,
    );
    stops.push(() => gateway.stop(GRACE));

    return {
      url: gateway.url,
      endpoint: front.url,
      region: template.region,
      tableName: deployed.table.TableName,
      pepperKey: deployed.table.Tags?.find(({ Key }) => Key === 'gatehouse:pepper-key')?.Value ?? '',
      lateCalls,
      mails: mailbox.mails,
      refusedCalls,
      unusedRights: () => deployed.authorization.unused(),
      recycle: () => functions?.recycle(),
      async redeploy(assembly) {
        const changed = readTemplate(assembly);
        deployed = deploy(changed, state);
        await createTable(front.url, changed.region, deployed.table);
        functions?.replace(deployed.functions);
      },
      stop,
    };
  }
}

interface TableProperties {
  readonly TableName: string;
  readonly KeySchema: { AttributeName: string; KeyType: 'HASH' | 'RANGE' }[];
  readonly AttributeDefinitions: { AttributeName: string; AttributeType: 'S' | 'N' | 'B' }[];
  readonly OnDemandThroughput?: { MaxReadRequestUnits?: number; MaxWriteRequestUnits?: number };
  readonly SSESpecification?: { KMSMasterKeyId?: string };
  readonly Tags?: { Key: string; Value: string }[];
}

interface Deployed {
  readonly kms: ReturnType<typeof localKms>;
  readonly authorization: Authorization;
  readonly table: TableProperties;
  readonly functions: FunctionConfig[];
  readonly api: Api;
}

/** Makes of the template what it describes. Keys are made once and kept; all else is derived. */
function deploy(template: Template, state: State): Deployed {
  const { region, stack } = template;
  const made = new Map<string, Made>();
  const find = <T>(value: unknown) => resolve<T>(value, made, region);
  const arn = (service: string, name: string) => `arn:aws:${service}:${region}:${ACCOUNT}:${name}`;

  const stored: Record<string, StoredKey> = JSON.parse(state.read(KEYS) ?? '{}');
  const before = Object.keys(stored).length;
  for (const [logicalId, { KeySpec }] of template.ofType('AWS::KMS::Key')) {
    const key = stored[logicalId] ?? makeKey(String(KeySpec ?? 'SYMMETRIC_DEFAULT'));
    stored[logicalId] = key;
    made.set(logicalId, { ref: key.id, attributes: { Arn: keyArn(region, key.id) } });
  }
  if (Object.keys(stored).length > before) state.write(KEYS, JSON.stringify(stored));

  const [[tableId, tableProperties] = []] = template.ofType('AWS::DynamoDB::Table');
  if (!tableId) throw new Error('The stack has no table');
  const tableName = `${stack}-${tableId}`;
  made.set(tableId, { ref: tableName, attributes: { Arn: arn('dynamodb', `table/${tableName}`) } });
  for (const [logicalId] of template.ofType('AWS::Logs::LogGroup')) {
    made.set(logicalId, { ref: logicalId, attributes: { Arn: arn('logs', `log-group:${logicalId}:*`) } });
  }
  for (const [logicalId] of template.ofType('AWS::IAM::Role')) {
    made.set(logicalId, { ref: logicalId, attributes: { Arn: `arn:aws:iam::${ACCOUNT}:role/${logicalId}` } });
  }

  const code = new Map<string, string>();
  const functions = template.ofType('AWS::Lambda::Function').map(([logicalId, properties]): FunctionConfig => {
    const name = String(properties.Description);
    made.set(logicalId, { ref: logicalId, attributes: { Arn: arn('lambda', `function:${logicalId}`) } });
    code.set(arn('lambda', `function:${logicalId}`), name);
    const { S3Key } = find<{ S3Key: string }>(properties.Code);
    const [file] = String(properties.Handler).split('.');
    return {
      name,
      file: join(template.assetFolder(S3Key), `${file}.mjs`),
      environment: find<{ Variables: Record<string, string> }>(properties.Environment).Variables,
      timeout: Number(properties.Timeout) * 1000,
      memory: Number(properties.MemorySize),
    };
  });

  const integrations = new Map<string, string>();
  for (const [logicalId, { IntegrationUri }] of template.ofType('AWS::ApiGatewayV2::Integration')) {
    made.set(logicalId, { ref: logicalId });
    integrations.set(`integrations/${logicalId}`, code.get(find<string>(IntegrationUri)) ?? '');
  }
  const routes = new Map<string, string>();
  for (const [logicalId, { RouteKey, Target }] of template.ofType('AWS::ApiGatewayV2::Route')) {
    const name = integrations.get(find<string>(Target));
    if (!name) throw new Error(`The route ${logicalId} leads to no function`);
    routes.set(String(RouteKey), name);
  }
  const [[, api] = []] = template.ofType('AWS::ApiGatewayV2::Api');

  const table = { ...find<TableProperties>(tableProperties), TableName: tableName };
  const names = new Map([...made].map(([logicalId, { attributes }]) => [attributes?.Arn, logicalId]));
  return {
    kms: localKms(region, Object.values(stored)),
    authorization: openAuthorization(readPolicies(template, find), {
      region,
      tableKey: table.SSESpecification?.KMSMasterKeyId,
      nameOf: (of) => names.get(of) ?? of,
    }),
    table,
    functions,
    api: { routes, cors: api?.CorsConfiguration as Cors | undefined },
  };
}

const tableMaximum = ({ OnDemandThroughput }: TableProperties) => ({
  Read: OnDemandThroughput?.MaxReadRequestUnits,
  Write: OnDemandThroughput?.MaxWriteRequestUnits,
});

async function createTable(endpoint: string, region: string, table: TableProperties): Promise<void> {
  const { TableName, KeySchema, AttributeDefinitions } = table;
  const client = new DynamoDBClient({ endpoint, region, credentials: OPERATOR });
  await client
    .send(new CreateTableCommand({ TableName, KeySchema, AttributeDefinitions, BillingMode: 'PAY_PER_REQUEST' }))
    .catch((error: Error) => {
      if (error.name !== 'ResourceInUseException') throw error;
    });
  client.destroy();
}
