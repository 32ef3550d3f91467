import { toJsonSchema } from '@valibot/to-json-schema';
import type * as v from 'valibot';
import * as Accounts from '../../lib/accounts/account-contracts.ts';
import { ListAudits } from '../../lib/audit/audit-contracts.ts';
import { FIELD_CODES } from '../../lib/contract/failure.ts';
import { type Limits, limitsOf } from '../../lib/contract/limits.ts';
import * as Integrations from '../../lib/integrations/integration-contracts.ts';
import * as Parameters from '../../lib/integrations/parameter-contracts.ts';
import { PublishKeys } from '../../lib/tokens/token-contracts.ts';
import * as Users from '../../lib/users/user-contracts.ts';

/* Schemas of JSON values, as JSON Schema (draft 2020-12, the dialect of OpenAPI 3.1). */

export type JsonSchema = Readonly<Record<string, unknown>>;
type Schema = v.GenericSchema<unknown, unknown>;

/** The schemas that have a name in the document, and so a type in generated clients. */
const NAMED: Readonly<Record<string, Schema>> = {
  AuditEntry: ListAudits.response.item,
  Credentials: Accounts.Authenticate.body,
  Integration: Integrations.GetIntegration.response,
  IntegrationChange: Integrations.UpdateIntegration.body,
  JwkSet: PublishKeys.response,
  NewIntegration: Integrations.CreateIntegration.body,
  NewParameter: Parameters.CreateParameter.body,
  NewUser: Users.CreateUser.body,
  OwnAccountChange: Accounts.UpdateAccount.body,
  Parameter: Parameters.GetParameter.response,
  ParameterChange: Parameters.UpdateParameter.body,
  PasswordChange: Accounts.ChangePassword.body,
  PasswordReset: Accounts.FinishReset.body,
  Token: Accounts.Authenticate.response,
  User: Users.GetUser.response,
  UserChange: Users.UpdateUser.body,
};

/** The body of a problem (RFC 9457), with the fields that JHipster clients read. */
const PROBLEM = {
  type: 'object',
  description: 'A rejected request (RFC 9457).',
  required: ['type', 'title', 'status', 'path', 'message'],
  properties: {
    type: { type: 'string', format: 'uri' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string', description: 'What to do about it, where the title does not say it.' },
    path: { type: 'string', description: 'The path of the request.' },
    message: { type: 'string', description: 'The key that clients translate.' },
    params: { type: 'string', description: 'The kind of entity that the request is about.' },
    requestId: { type: 'string', description: 'Of status 500: identifies the line in the log.' },
    fieldErrors: { type: 'array', items: { $ref: '#/components/schemas/FieldError' } },
  },
  additionalProperties: false,
};

const FIELD_ERROR = {
  type: 'object',
  description: 'A field that violates a constraint, and the limits of the constraint.',
  required: ['objectName', 'field', 'message'],
  properties: {
    objectName: { type: 'string' },
    field: { type: 'string', description: 'The path of the field, with dots, or the name of the query parameter.' },
    message: { enum: FIELD_CODES, description: 'The code that clients translate.' },
    min: { type: 'integer', description: 'The minimum of a number or of the length of a text.' },
    max: { type: 'integer', description: 'The maximum of a number or of the length of a text.' },
    unit: { const: 'bytes', description: 'Lengths are in bytes of UTF-8 instead of code points.' },
    allowed: { type: 'array', items: { type: 'string' }, description: 'The only accepted values.' },
    pattern: { type: 'string', description: 'A regular expression (ECMA-262) that all accepted values match.' },
  },
  additionalProperties: false,
};

const GATEWAY_ERROR = {
  type: 'object',
  description: 'A response of API Gateway itself.',
  required: ['message'],
  properties: { message: { type: 'string' } },
};

/** The schemas for `components` of the document. */
export function namedSchemas(): Record<string, JsonSchema> {
  const named = Object.entries(NAMED).map(([name, schema]) => [name, convert(schema, name)] as const);
  const schemas = {
    ...Object.fromEntries(named),
    Problem: PROBLEM,
    FieldError: FIELD_ERROR,
    GatewayError: GATEWAY_ERROR,
  };
  return Object.fromEntries(Object.entries(schemas).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The JSON Schema of what a schema accepts; a reference for a schema with a name. */
export function jsonSchemaOf(schema: Schema): JsonSchema {
  const [name] = Object.entries(NAMED).find(([, named]) => named === schema) ?? [];
  return name ? { $ref: `#/components/schemas/${name}` } : convert(schema);
}

function convert(schema: Schema, ownName?: string): JsonSchema {
  const { [ownName ?? '']: _itself, ...definitions } = NAMED;
  const {
    $schema: _dialect,
    $defs: _definitions,
    ...converted
  } = toJsonSchema(schema as never, {
    target: 'draft-2020-12',
    typeMode: 'input',
    definitions: definitions as never,
    overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
    // Some checks have no equivalent, such as the one for lone surrogates.
    errorMode: 'ignore',
    overrideAction({ valibotAction, jsonSchema }) {
      const limits = limitsOf(valibotAction as { requirement?: unknown });
      return limits && { ...jsonSchema, ...keywordsOf(limits, jsonSchema.type) };
    },
    overrideSchema({ valibotSchema: { type }, jsonSchema }) {
      if (type === 'nullable' || type === 'nullish') return withTypeNull(jsonSchema);
      return type.endsWith('object') ? withRequiredIds(jsonSchema) : undefined;
    },
  });
  return converted as JsonSchema;
}

function keywordsOf({ min, max, unit, allowed, pattern }: Limits, type: unknown): JsonSchema {
  const [minimum, maximum] = type === 'string' ? ['minLength', 'maxLength'] : ['minimum', 'maximum'];
  return {
    ...(min !== undefined && !(min === 0 && type === 'string') && { [minimum]: min }),
    // A text has at most as many code points as bytes.
    ...(max !== undefined && { [maximum]: max }),
    ...(unit && { description: `At most ${max?.toLocaleString('en')} ${unit} of UTF-8.` }),
    ...(allowed && { enum: allowed }),
    ...(pattern !== undefined && { pattern }),
  };
}

/** Writes a value or null as one type with two names, which is shorter than two schemas. */
function withTypeNull({ anyOf: [value, ...others] = [], ...rest }: { anyOf?: unknown[] }): object | undefined {
  const { type, ...constraints } = value as { type?: unknown; enum?: unknown };
  if (others.length !== 1 || typeof type !== 'string' || constraints.enum) return undefined;
  return { ...rest, type: [type, 'null'], ...constraints };
}

/** A field whose default its own schema does not accept is required: the ids of updates, which fail with no-id. */
function withRequiredIds(schema: { properties?: object; required?: string[] }): object {
  const properties = Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const { default: missing, ...rest } = property as { default?: unknown; anyOf?: { type?: string }[] };
    const isId = missing === null && rest.anyOf?.every(({ type }) => type !== 'null');
    return { name, isId, property: missing === null ? rest : property };
  });
  const ids = properties.filter(({ isId }) => isId).map(({ name }) => name);
  return {
    ...schema,
    properties: Object.fromEntries(properties.map(({ name, property }) => [name, property])),
    required: [...ids, ...(schema.required ?? [])],
  };
}
