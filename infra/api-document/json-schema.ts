import { type ConversionConfig, toJsonSchema as convert } from '@valibot/to-json-schema';
import type * as v from 'valibot';
import { type Limits, limitsOf } from '../../lib/contract/limits.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;
export type Schema = v.GenericSchema<unknown, unknown>;

/** The JSON Schema (draft 2020-12) of what a schema accepts, with the limits of its checks. */
export function toJsonSchema(
  schema: Schema,
  config: Partial<ConversionConfig> & { definitions?: Readonly<Record<string, Schema>> } = {},
): JsonSchema {
  return convert(schema as never, {
    ...(config as object),
    target: 'draft-2020-12',
    typeMode: 'input',
    // Some checks have no equivalent, such as the one for lone surrogates.
    errorMode: 'ignore',
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
  }) as JsonSchema;
}

function keywordsOf({ min, max, unit, allowed, pattern }: Limits, type: unknown): JsonSchema {
  // A text that may be null has both types.
  const isText = [type].flat().includes('string');
  const [minimum, maximum] = isText ? ['minLength', 'maxLength'] : ['minimum', 'maximum'];
  return {
    ...(min !== undefined && !(min === 0 && isText) && { [minimum]: min }),
    // A text has at most as many code points as bytes.
    ...(max !== undefined && { [maximum]: max }),
    ...(unit && { description: `At most ${max?.toLocaleString('en')} ${unit} of UTF-8.` }),
    ...(allowed && { enum: allowed }),
    ...(pattern !== undefined && { pattern }),
  };
}

/** Writes a value or null as one type with two names, which is shorter than two schemas. */
function withTypeNull({
  anyOf: [value, ...others] = [],
  ...rest
}: {
  anyOf?: unknown[];
}): object | undefined {
  const { type, ...constraints } = value as { type?: unknown; enum?: unknown };
  if (others.length !== 1 || typeof type !== 'string' || constraints.enum) return undefined;
  return { ...rest, type: [type, 'null'], ...constraints };
}

/**
 * A field whose default its own schema does not accept is required: the ids of updates, which fail
 * with no-id.
 */
function withRequiredIds(schema: { properties?: object; required?: string[] }): object {
  const properties = Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const { default: missing, ...rest } = property as {
      default?: unknown;
      anyOf?: { type?: string }[];
    };
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
