import { join } from 'node:path';
import { mappingsOf } from './aws/event-source-mappings.ts';
import { createKey, KEYS_FILE, localKms, type StoredKey } from './aws/kms.ts';
import type { TableProperties } from './aws/stack-table.ts';
import type { Api, Cors } from './gateway/gateway.ts';
import { openAuthorization, readPolicies } from './iam/authorization.ts';
import type { FunctionConfig } from './lambda/instance.ts';
import { ACCOUNT, keyArn, type ReturnValues, resolve, type Template } from './stack/template.ts';
import { readJson, type State } from './state/state.ts';

/** Stands for the URL of the API in the variables of functions, before its port is known. */
export const API_ENDPOINT = 'https://api-endpoint.invalid';

/** Names the resources of a template in the order of their references. */
export function deploy(template: Template, state: State) {
  const resources = new Map<string, ReturnValues>();
  const deployment = openDeployment(template, resources);
  const { evaluate, arn } = deployment;
  const keys = createKeys(deployment, state);
  const table = createTable(deployment, state.tableSuffix);
  for (const [logicalId] of template.ofType('AWS::Logs::LogGroup'))
    deployment.add(logicalId, { Arn: arn('logs', `log-group:${logicalId}`) });
  for (const [logicalId] of template.ofType('AWS::ApiGatewayV2::Api'))
    deployment.add(logicalId, { ApiEndpoint: API_ENDPOINT });
  for (const [logicalId] of template.ofType('AWS::IAM::Role'))
    deployment.add(logicalId, { Arn: `arn:aws:iam::${ACCOUNT}:role/${logicalId}` });
  const { functions, nameOf } = createFunctions(deployment);
  const logicalIds = new Map(
    [...resources].map(([logicalId, { attributes }]) => [attributes?.Arn, logicalId]),
  );
  return {
    kms: localKms(template.region, keys),
    authorization: openAuthorization(readPolicies(template, evaluate), {
      region: template.region,
      // The template does not contain the key of an adopted table, so its use is not checked.
      tableKey: table.SSESpecification?.KMSMasterKeyId,
      nameOf: (arn) => logicalIds.get(arn) ?? arn,
    }),
    table,
    functions,
    mappings: mappingsOf(template, evaluate, (name) => nameOf(arn('lambda', `function:${name}`))),
    everyMinute: everyMinute(deployment, nameOf),
    api: createApi(deployment, nameOf),
  };
}

/** The functions that rules invoke every minute. Daily ones are not run here. */
const everyMinute = (
  { template, evaluate }: Deployment,
  nameOf: (arn: string) => string | undefined,
): string[] =>
  template
    .ofType('AWS::Events::Rule')
    .filter(([, { ScheduleExpression }]) => ScheduleExpression === 'rate(1 minute)')
    .flatMap(([, { Targets }]) => evaluate<{ Arn: string }[]>(Targets))
    .map(({ Arn }) => nameOf(Arn) ?? '');

type Deployment = ReturnType<typeof openDeployment>;

const openDeployment = (template: Template, resources: Map<string, ReturnValues>) => ({
  template,
  evaluate: <T>(value: unknown) => resolve<T>(value, resources, template.region),
  arn: (service: string, name: string) =>
    `arn:aws:${service}:${template.region}:${ACCOUNT}:${name}`,
  add: (logicalId: string, attributes: Record<string, string> = {}, ref = logicalId) =>
    void resources.set(logicalId, { ref, attributes }),
});

function createKeys({ template, add }: Deployment, state: State): StoredKey[] {
  const stored = readJson<Record<string, StoredKey>>(state, KEYS_FILE) ?? {};
  for (const [logicalId, { KeySpec = 'SYMMETRIC_DEFAULT' }] of template.ofType('AWS::KMS::Key')) {
    const key = stored[logicalId] ?? createKey(String(KeySpec));
    stored[logicalId] = key;
    add(logicalId, { Arn: keyArn(template.region, key.id) }, key.id);
  }
  state.write(KEYS_FILE, JSON.stringify(stored));
  return Object.values(stored);
}

/** Names the table; a stack that has adopted one has no resource for it. */
function createTable(
  { template, evaluate, arn, add }: Deployment,
  suffix: string,
): TableProperties {
  const [[tableId, properties = {}] = []] = template.ofType('AWS::DynamoDB::Table');
  if (tableId) {
    const name = `${template.stack}-${tableId}${suffix}`;
    const Arn = arn('dynamodb', `table/${name}`);
    add(tableId, { Arn, StreamArn: `${Arn}/stream/local` }, name);
  }
  const TableName = evaluate<string>(template.output('TableName'));
  if (!TableName) throw new Error('The stack has no table');
  return { ...evaluate<TableProperties>(properties), TableName };
}

function createFunctions({ template, evaluate, arn, add }: Deployment) {
  const names = new Map<string, string>();
  const functions = template
    .ofType('AWS::Lambda::Function')
    .map(([logicalId, properties]): FunctionConfig => {
      const name = String(properties.Description);
      const Arn = arn('lambda', `function:${logicalId}`);
      add(logicalId, { Arn });
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

  for (const [logicalId] of template.ofType('AWS::Lambda::Version'))
    add(logicalId, { Version: '1' });
  // Every alias serves the only version that exists here: the current code.
  for (const [logicalId, { FunctionName, Name }] of template.ofType('AWS::Lambda::Alias')) {
    const functionArn = arn('lambda', `function:${evaluate<string>(FunctionName)}`);
    const aliasArn = `${functionArn}:${Name}`;
    add(logicalId, {}, aliasArn);
    names.set(aliasArn, names.get(functionArn) ?? '');
  }
  return { functions, nameOf: (arn: string) => names.get(arn) };
}

function createApi(
  { template, evaluate, add }: Deployment,
  nameOf: (arn: string) => string | undefined,
): Api {
  const integrations = new Map<string, string>();
  for (const [logicalId, { IntegrationUri }] of template.ofType('AWS::ApiGatewayV2::Integration')) {
    add(logicalId);
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
