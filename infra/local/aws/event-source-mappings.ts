import type { Template } from '../stack/template.ts';

export interface Mapping {
  readonly functionName: string;
  readonly table: string | undefined;
  readonly batchSize: number;
  /** How many batches of different partition keys are in work at once. */
  readonly lanes: number;
  /** The parsed patterns of its filters, of which a record must match one. */
  readonly patterns: readonly unknown[];
}

export function mappingsOf(
  template: Template,
  evaluate: (value: unknown) => string,
  functionOf: (FunctionName: string) => string | undefined,
): Mapping[] {
  return template.ofType('AWS::Lambda::EventSourceMapping').map(([, properties]) => {
    const { FunctionName, EventSourceArn, BatchSize, FilterCriteria } = properties;
    const { ParallelizationFactor = 1 } = properties;
    const { Filters } = FilterCriteria as { Filters: { Pattern: string }[] };
    return {
      functionName: functionOf(evaluate(FunctionName)) ?? '',
      table: /:table\/([^/]+)\/stream\//.exec(evaluate(EventSourceArn))?.[1],
      batchSize: Number(BatchSize),
      lanes: Number(ParallelizationFactor),
      patterns: Filters.map(({ Pattern }) => JSON.parse(Pattern)),
    };
  });
}

export const isHandedOver = (mapping: Mapping, table: string, record: object): boolean =>
  mapping.table === table && mapping.patterns.some((pattern) => matches(pattern, record));

function matches(pattern: unknown, value: unknown): boolean {
  if (Array.isArray(pattern)) {
    return pattern.some((rule) =>
      typeof rule === 'object'
        ? String(value).startsWith((rule as { prefix: string }).prefix)
        : rule === value,
    );
  }
  const members = Object.entries(pattern as object);
  return members.every(([name, inner]) =>
    matches(inner, (value as Record<string, unknown> | undefined)?.[name]),
  );
}
