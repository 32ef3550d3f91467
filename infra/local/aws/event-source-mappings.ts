import type { Template } from '../stack/template.ts';

/** An event source mapping of the template. */
export type Mapping = ReturnType<typeof mappingsOf>[number];

/** The event source mappings of a template. */
export const mappingsOf = (
  template: Template,
  evaluate: (value: unknown) => string,
  functionOf: (FunctionName: string) => string | undefined,
) =>
  template
    .ofType('AWS::Lambda::EventSourceMapping')
    .map(
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
