import type { Template } from '../stack/template.ts';

export type Mapping = ReturnType<typeof mappingsOf>[number];

/** As AWS does, rejects a second mapping of the same stream and function. */
export function mappingsOf(
  template: Template,
  evaluate: (value: unknown) => string,
  functionOf: (FunctionName: string) => string | undefined,
) {
  const resources = template.ofType('AWS::Lambda::EventSourceMapping');
  const mapped = new Set<string>();
  for (const [logicalId, { FunctionName, EventSourceArn }] of resources) {
    const pair = `${evaluate(FunctionName)} ${evaluate(EventSourceArn)}`;
    if (mapped.has(pair))
      throw new Error(`${logicalId} maps a stream to a function that another mapping maps it to`);
    mapped.add(pair);
  }
  return resources.map(
    ([
      ,
      { FunctionName, EventSourceArn, BatchSize, FilterCriteria, ParallelizationFactor = 1 },
    ]) => ({
      functionName: functionOf(evaluate(FunctionName)) ?? '',
      table: /:table\/([^/]+)\/stream\//.exec(evaluate(EventSourceArn))?.[1],
      batchSize: Number(BatchSize),
      /** How many batches of different partition keys are in work at once. */
      lanes: Number(ParallelizationFactor),
      patterns: (FilterCriteria as { Filters: { Pattern: string }[] }).Filters.map(
        ({ Pattern }): unknown => JSON.parse(Pattern),
      ),
    }),
  );
}

/** Whether a mapping hands a record of a table over. */
export const isHandedOver = (mapping: Mapping, table: string, record: object): boolean =>
  mapping.table === table && mapping.patterns.some((pattern) => matches(pattern, record));

function matches(pattern: unknown, value: unknown): boolean {
  if (Array.isArray(pattern))
    return pattern.some((rule) =>
      typeof rule === 'object' ? String(value).startsWith(rule.prefix) : rule === value,
    );
  return Object.entries(pattern as object).every(([name, inner]) =>
    matches(inner, (value as Record<string, unknown> | undefined)?.[name]),
  );
}
