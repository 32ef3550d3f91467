import {
  type ConversionConfig,
  type JsonSchema,
  toJsonSchema,
  toJsonSchemaDefs,
} from '@valibot/to-json-schema';
import type * as v from 'valibot';
import * as Accounts from '../../lib/accounts/account-contracts.ts';
import { ListAudits } from '../../lib/audit/audit-contracts.ts';
import { AUDITED_ACTIONS } from '../../lib/audit/audit-entry.ts';
import { ROLES, SCOPES } from '../../lib/contract/contract.ts';
import { FIELD_CODES } from '../../lib/contract/failure.ts';
import { type Limits, limitsOf } from '../../lib/contract/fields.ts';
import { GetScimUser } from '../../lib/identities/scim-contracts.ts';
import { INTEGRATION_TYPES } from '../../lib/integrations/integration.ts';
import * as Integrations from '../../lib/integrations/integration-contracts.ts';
import * as Parameters from '../../lib/integrations/parameter-contracts.ts';
import { ReportModule } from '../../lib/modules/module-contracts.ts';
import { MakePlan } from '../../lib/operations/plan/plan-contracts.ts';
import { ListSessions } from '../../lib/sessions/session-contracts.ts';
import { CreateToken, ListTokens } from '../../lib/tokens/api-token-contracts.ts';
import { PublishKeys } from '../../lib/tokens/token.ts';
import * as Users from '../../lib/users/user-contracts.ts';

/** Converts schemas to the JSON Schema of what they accept, with the limits of their checks. */
export const CONVERSION: ConversionConfig = {
  target: 'draft-2020-12',
  typeMode: 'input',
  // Some checks have no equivalent, such as the one for lone surrogates.
  errorMode: 'ignore',
  overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
  overrideAction({ valibotAction, jsonSchema }) {
    const limits = limitsOf(valibotAction as { requirement?: unknown });
    // Ids, which are numbers or texts, have a schema of their own.
    if (!limits || jsonSchema.anyOf) return undefined;
    return { ...jsonSchema, ...keywordsOf(limits, jsonSchema.type) };
  },
  overrideSchema({ valibotSchema: { type }, jsonSchema }) {
    if (type === 'nullable' || type === 'nullish') return withTypeNull(jsonSchema);
    return type.endsWith('object') ? withRequiredIds(jsonSchema) : undefined;
  },
};

function keywordsOf({ min, max, unit, allowed, pattern }: Limits, type: JsonSchema['type']) {
  // A text that may be null has both types.
  const isText = [type].flat().includes('string');
  const [minimum, maximum] = isText
    ? ['minLength', 'maxLength']
    : type === 'array'
      ? ['minItems', 'maxItems']
      : ['minimum', 'maximum'];
  return {
    ...(min !== undefined && !(min === 0 && isText) && { [minimum]: min }),
    // A text has at most as many code points as bytes.
    ...(max !== undefined && { [maximum]: max }),
    ...(unit && { description: `At most ${max?.toLocaleString('en')} ${unit} of UTF-8.` }),
    ...(allowed && { enum: [...allowed] }),
    ...(pattern !== undefined && { pattern }),
  };
}

/** Writes a value or null as one type with two names, which is shorter than two schemas. */
function withTypeNull({ anyOf: [value, ...others] = [], ...rest }: JsonSchema) {
  const { type, ...constraints } = value as JsonSchema;
  if (others.length !== 1 || typeof type !== 'string' || constraints.enum) return undefined;
  return { ...rest, type: [type, 'null' as const], ...constraints };
}

/** Requires the ids of updates, which have a default that their own schema does not accept. */
function withRequiredIds(schema: JsonSchema): JsonSchema {
  const required = [...(schema.required ?? [])];
  for (const [name, property] of Object.entries(schema.properties ?? {}) as [
    string,
    JsonSchema,
  ][]) {
    if (property.default !== null) continue;
    delete property.default;
    if (property.anyOf?.every((value) => (value as JsonSchema).type !== 'null'))
      required.unshift(name);
  }
  return { ...schema, required };
}

/** The schemas that have a name in the document, and so a type in generated clients. */
const NAMED = {
  ApiToken: ListTokens.response.item,
  ApiTokenCreation: CreateToken.body,
  AuditEntry: ListAudits.response.item,
  Credentials: Accounts.Authenticate.body,
  Integration: Integrations.GetIntegration.response,
  IntegrationChange: Integrations.UpdateIntegration.body,
  IntegrationCreation: Integrations.CreateIntegration.body,
  JwkSet: PublishKeys.response,
  ModuleState: ReportModule.response,
  Plan: MakePlan.response,
  OwnAccount: Accounts.GetAccount.response,
  OwnAccountChange: Accounts.UpdateAccount.body,
  Parameter: Parameters.GetParameter.response,
  ParameterChange: Parameters.UpdateParameter.body,
  ParameterCreation: Parameters.CreateParameter.body,
  PasswordChange: Accounts.ChangePassword.body,
  PasswordReset: Accounts.FinishReset.body,
  RecoveryCodes: Accounts.ConfirmFactor.response,
  ScimUser: GetScimUser.response,
  Session: ListSessions.response.item,
  Token: Accounts.Authenticate.response,
  User: Users.GetUser.response,
  UserChange: Users.UpdateUser.body,
  UserCreation: Users.CreateUser.body,
};

const NAMED_VALUES: Readonly<Record<string, readonly string[]>> = {
  AuditAction: AUDITED_ACTIONS,
  IntegrationType: INTEGRATION_TYPES,
  Role: ROLES,
  Scope: SCOPES,
};

const string = (description?: string) => ({ type: 'string', description });
const integer = (description?: string) => ({ type: 'integer', description });
const object = (
  description: string,
  required: string[],
  properties: object,
  additionalProperties?: false,
) => ({ type: 'object', description, required, properties, additionalProperties });

/** The body of a problem (RFC 9457), with the fields that JHipster clients read. */
const Problem = object(
  'A rejected request (RFC 9457).',
  ['type', 'title', 'status', 'path', 'message'],
  {
    type: { type: 'string', format: 'uri' },
    title: string(),
    status: integer(),
    detail: string('What to do about it, where the title does not say it.'),
    path: string('The path of the request.'),
    message: string('The key that clients translate.'),
    params: string('The kind of entity that the request is about.'),
    plan: { $ref: '#/components/schemas/Plan' },
    applied: integer('How many changes of the plan were made before; absent if none.'),
    requestId: string('Of status 500: identifies the line in the log.'),
    fieldErrors: { type: 'array', items: { $ref: '#/components/schemas/FieldError' } },
  },
  false,
);

const FieldError = object(
  'A field that violates a constraint, and the limits of the constraint.',
  ['objectName', 'field', 'message'],
  {
    objectName: string(),
    field: string('The path of the field, with dots, or the name of the query parameter.'),
    message: { enum: FIELD_CODES, description: 'The code that clients translate.' },
    min: integer('The minimum of a number or of the length of a text.'),
    max: integer('The maximum of a number or of the length of a text.'),
    unit: {
      const: 'bytes',
      description: 'Lengths are in bytes of UTF-8 instead of code points.',
    },
    allowed: {
      type: 'array',
      items: string(),
      description:
        'The only accepted values; of `sort`, the fields; of an unknown filter, the fields ' +
        'of the list or the operators of the field.',
    },
    pattern: string('A regular expression (ECMA-262) that all accepted values match.'),
    reason: string('What the limits do not tell, in English.'),
  },
  false,
);

const GatewayError = object(
  'A response of API Gateway itself; or of an edge, with the fields of a problem except `path`.',
  ['message'],
  { message: string() },
);

export function namedSchemas(): object {
  const lists = Object.entries(NAMED_VALUES).map(([name, list]): [string, object] => [
    name,
    { type: 'string', enum: list },
  ]);
  const schemas = { ...toJsonSchemaDefs(NAMED, CONVERSION), Problem, FieldError, GatewayError };
  return Object.fromEntries(
    [...lists, ...Object.entries(schemas)].toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/** A replacer of JSON.stringify: refers to the named lists of values. */
export function withNamedValues(key: string, value: unknown): unknown {
  const values = (value as { enum?: string[] } | null)?.enum?.join();
  const [name = key] =
    Object.entries(NAMED_VALUES).find(([, named]) => named.join() === values) ?? [];
  return name === key ? value : { $ref: `#/components/schemas/${name}` };
}

/** The JSON Schema of what a schema accepts; a reference for a schema with a name. */
export function jsonSchemaOf(schema: v.GenericSchema): object {
  const config = { ...CONVERSION, definitions: NAMED };
  const { $schema: _dialect, $defs: _named, ...converted } = toJsonSchema(schema, config);
  return converted;
}
