import { median } from './statistics.ts';
import { VARIANTS, type Variant } from './variants.ts';

/** A Markdown table. Every column but the first is aligned to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), `|---|${'---:|'.repeat(head.length - 1)}`, ...rows.map(line)].join('\n');
}

/**
 * A number with three significant digits, or as an integer with separators if it is larger; NaN was
 * not measured.
 */
export const digits = (value: number): string => {
  if (Number.isNaN(value)) return '–';
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(value >= 10 ? 1 : 2);
};

/** A measure of several functions. */
export interface Measure {
  readonly title: string;
  readonly rows: readonly {
    readonly name: string;
    readonly values: Readonly<Record<Variant, number>>;
  }[];
}

/** A row for each name; `value` returns the value of a variant. */
export const measureOf = (
  title: string,
  names: readonly string[],
  value: (name: string, variant: Variant) => number,
): Measure => ({
  title,
  rows: names.map((name) => ({
    name,
    values: Object.fromEntries(
      VARIANTS.map((variant) => [variant, value(name, variant)]),
    ) as Record<Variant, number>,
  })),
});

/** A value, with its ratio to that of the floor in parentheses. */
const cell = (variant: Variant, value: number, ratio: number): string =>
  variant === 'floor' || Number.isNaN(ratio)
    ? digits(value)
    : `${digits(value)} (${ratio.toFixed(2)})`;

/** The values of a measure by function and variant. */
export const comparisonTable = ({ rows }: Measure): string =>
  table(
    ['', ...VARIANTS],
    rows.map(({ name, values }) => [
      name,
      ...VARIANTS.map((variant) => cell(variant, values[variant], values[variant] / values.floor)),
    ]),
  );

/** The medians of measures over all functions, and the medians of the ratios. */
const summaryTable = (measures: readonly Measure[]): string =>
  table(
    ['', ...VARIANTS],
    measures.map(({ title, rows }) => [
      title,
      ...VARIANTS.map((variant) =>
        cell(
          variant,
          median(rows.map(({ values }) => values[variant])),
          median(rows.map(({ values }) => values[variant] / values.floor)),
        ),
      ),
    ]),
  );

/**
 * The medians of measures over the functions that `isCompared` selects, followed by the table of
 * each.
 */
export const comparison = (
  measures: readonly Measure[],
  isCompared = (_name: string) => true,
): string =>
  [
    summaryTable(
      measures.map(({ title, rows }) => ({
        title,
        rows: rows.filter(({ name }) => isCompared(name)),
      })),
    ),
    ...measures.map((measure) => `### ${measure.title}\n\n${comparisonTable(measure)}`),
  ].join('\n\n');
