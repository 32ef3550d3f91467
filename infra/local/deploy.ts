import { join } from 'node:path';
import { type Mapping, mappingsOf } from './aws/event-source-mappings.ts';
import { createKey, isValidKey, KEYS_FILE, localKms, type StoredKey } from './aws/kms.ts';
import type { TableProperties } from './aws/stack-table.ts';
import type { Api, Cors } from './gateway/gateway.ts';
import { type Authorization, openAuthorization, readPolicies } from './iam/authorization.ts';
import type { FunctionConfig } from './lambda/instance.ts';
import { ACCOUNT, keyArn, type ReturnValues, resolve, type Template } from './stack/template.ts';
import { startOver } from './state/database.ts';
import type { State } from './state/state.ts';

export interface Deployed {
  readonly kms: ReturnType<typeof localKms>;
  readonly authorization: Authorization;
  readonly table: TableProperties;
  readonly functions: FunctionConfig[];
  readonly mappings: readonly Mapping[];
  readonly api: Api;
}

interface Deployment {
  readonly template: Template;
  readonly resources: Map<string, ReturnValues>;
  evaluate<T>(value: unknown): T;
  arn(service: string, name: string): string;
}

export function deploy(template: Template, state: State): Deployed {
  const { region } = template;
  const resources = new Map<string, ReturnValues>();
  const deployment: Deployment = {
    template,
    resources,
    evaluate: <T>(value: unknown) => resolve<T>(value, resources, region),
    arn: (service, name) => `arn:aws:${service}:${region}:${ACCOUNT}:${name}`,
  };
  const { evaluate, arn } = deployment;

  const keys = createKeys(deployment, state);
  const table = createTable(deployment, state.tableSuffix);
  createLogGroupsAndRoles(deployment);
  const { functions, nameOf } = createFunctions(deployment);
  const logicalIds = new Map(
    [...resources].map(([logicalId, { attributes }]) => [attributes?.Arn, logicalId]),
  );
  return {
    kms: localKms(region, keys),
    authorization: openAuthorization(readPolicies(template, evaluate), {
      region,
      // The template does not contain the key of an adopted table, so its use is not checked.
      tableKey: table.SSESpecification?.KMSMasterKeyId,
      nameOf: (arn) => logicalIds.get(arn) ?? arn,
    }),
    table,
    functions,
    mappings: mappingsOf(template, evaluate, (name) => nameOf(arn('lambda', `function:${name}`))),
    api: createApi(deployment, nameOf),
  };
}

function createKeys({ template, resources }: Deployment, state: State): StoredKey[] {
  const stored = state.readJson<Record<string, StoredKey>>(KEYS_FILE) ?? {};
  const storedBefore = Object.keys(stored).length;
  for (const [logicalId, { KeySpec }] of template.ofType('AWS::KMS::Key')) {
    const spec = String(KeySpec ?? 'SYMMETRIC_DEFAULT');
    const key = stored[logicalId] ?? createKey(spec);
    if (!isValidKey(key, spec)) throw new Error(invalidKey(logicalId, state));
    stored[logicalId] = key;
    const Arn = keyArn(template.region, key.id);
    resources.set(logicalId, { ref: key.id, attributes: { Arn } });
  }
  if (Object.keys(stored).length > storedBefore) state.write(KEYS_FILE, JSON.stringify(stored));
  return Object.values(stored);
}

const invalidKey = (logicalId: string, { folder = 'memory' }: State): string =>
  `The key ${logicalId} in ${folder}/${KEYS_FILE} is invalid: ${startOver(folder)}.`;

/** Names the table; a stack that has adopted one has no resource for it. */
function createTable(
  { template, resources, evaluate, arn }: Deployment,
  suffix: string,
): TableProperties {
  const [[tableId, properties = {}] = []] = template.ofType('AWS::DynamoDB::Table');
  if (tableId) {
    const ref = `${template.stack}-${tableId}${suffix}`;
    const Arn = arn('dynamodb', `table/${ref}`);
    resources.set(tableId, { ref, attributes: { Arn, StreamArn: `${Arn}/stream/local` } });
  }
  const TableName = evaluate<string>(template.output('TableName'));
  if (!TableName) throw new Error('The stack has no table');
  return { ...evaluate<TableProperties>(properties), TableName };
}

function createLogGroupsAndRoles({ template, resources, arn }: Deployment): void {
  for (const [logicalId] of template.ofType('AWS::Logs::LogGroup')) {
    const Arn = arn('logs', `log-group:${logicalId}:*`);
    resources.set(logicalId, { ref: logicalId, attributes: { Arn } });
  }
  for (const [logicalId] of template.ofType('AWS::IAM::Role')) {
    const Arn = `arn:aws:iam::${ACCOUNT}:role/${logicalId}`;
    resources.set(logicalId, { ref: logicalId, attributes: { Arn } });
  }
}

interface CreatedFunctions {
  readonly functions: FunctionConfig[];
  readonly nameOf: (arn: string) => string | undefined;
}

function createFunctions({ template, resources, evaluate, arn }: Deployment): CreatedFunctions {
  const names = new Map<string, string>();
  const functions = template
    .ofType('AWS::Lambda::Function')
    .map(([logicalId, properties]): FunctionConfig => {
      const name = String(properties.Description);
      const Arn = arn('lambda', `function:${logicalId}`);
      resources.set(logicalId, { ref: logicalId, attributes: { Arn } });
      names.set(Arn, name);
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
    names.set(`${functionArn}:${Name}`, names.get(functionArn) ?? '');
  }
  return { functions, nameOf: (arn) => names.get(arn) };
}

function createApi(
  { template, resources, evaluate }: Deployment,
  nameOf: CreatedFunctions['nameOf'],
): Api {
  const integrations = new Map<string, string>();
  for (const [logicalId, { IntegrationUri }] of template.ofType('AWS::ApiGatewayV2::Integration')) {
    resources.set(logicalId, { ref: logicalId });
    integrations.set(`integrations/${logicalId}`, nameOf(evaluate(IntegrationUri)) ?? '');
  }
  const routes = new Map<string, string>();
  for (const [logicalId, { RouteKey, Target }] of template.ofType('AWS::ApiGatewayV2::Route')) {
    const name = integrations.get(evaluate<string>(Target));
    if (!name) throw new Error(`The route ${logicalId} has no function`);
    routes.set(String(RouteKey), name);
  }
  const [[, api] = []] = template.ofType('AWS::ApiGatewayV2::Api');
  return { routes, cors: api?.CorsConfiguration as Cors | undefined };
}
