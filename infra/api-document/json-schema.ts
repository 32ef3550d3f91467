import type { ConversionConfig, JsonSchema } from '@valibot/to-json-schema';
import { type Limits, limitsOf } from '../../lib/contract/fields.ts';

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
  const [minimum, maximum] = isText ? ['minLength', 'maxLength'] : ['minimum', 'maximum'];
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
