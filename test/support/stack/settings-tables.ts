import * as v from 'valibot';
import { settings } from '../../../infra/settings/settings.ts';

/* Tables made from the schema of the settings and the shipped values of an environment. */

/** The parts of a valibot schema, or of a step of its pipe, that the document reads. */
interface Schema extends v.GenericSchema {
  readonly wrapped?: Schema;
  readonly default?: unknown;
  readonly pipe?: readonly Schema[];
  readonly entries?: Readonly<Record<string, Schema>>;
  readonly item?: Schema;
  readonly options?: readonly unknown[];
  readonly requirement?: unknown;
  readonly message?: unknown;
}

interface Row {
  readonly path: string;
  readonly meaning: string;
  readonly unit: string;
  readonly allowed: string;
  /** What applies if the setting is missing; empty if it is required. */
  readonly ifMissing: string;
  readonly example: unknown;
}

interface Metadata {
  readonly unit?: string;
  readonly example?: unknown;
}

function rowsOf(path: string, declared: Schema): Row[] {
  const schema = declared.wrapped ?? declared;
  const { unit = '', example } = v.getMetadata(schema) as Metadata;
  const row = {
    path,
    meaning: v.getDescription(schema) ?? '',
    unit,
    allowed: allowedOf(schema),
    ifMissing: declared.wrapped ? defaultOf(declared, schema) : '',
    example,
  };
  return [
    row,
    ...partsOf(`${path}.`, schema.entries),
    // Parts without a meaning of their own are explained by what contains them.
    ...partsOf(`${path}[].`, schema.item?.entries).filter(({ meaning }) => meaning !== ''),
  ];
}

const partsOf = (prefix: string, entries: Schema['entries'] = {}): Row[] =>
  Object.entries(entries).flatMap(([name, part]) => rowsOf(prefix + name, part));

function defaultOf({ default: value }: Schema, { entries }: Schema): string {
  if (value === undefined) return 'not set';
  const isShort = !entries && JSON.stringify(value).length < 100;
  return isShort ? code(value) : 'the defaults below';
}

const RULES: Record<string, (requirement: unknown, unit: string) => string> = {
  boolean: () => '`true` or `false`',
  email: () => 'an e-mail address',
  excludes: (text) => `must not contain \`${text}\``,
  includes: (text) => `must contain \`${text}\``,
  integer: () => 'a whole number',
  iso_date: () => 'a date such as `2027-01-15`',
  max_value: (value) => `at most ${value}`,
  max_length: (length, unit) => `at most ${length} ${unit === 'entry' ? 'entries' : `${unit}s`}`,
  min_length: (length, unit) => `at least ${length} ${unit}`,
  min_value: (value) => `at least ${value}`,
  url: () => 'a URL',
};

function allowedOf(schema: Schema): string {
  const [first] = stepsOf(schema);
  const unit = first?.type === 'string' ? 'character' : 'entry';
  const rules = stepsOf(schema).map((step) => ruleOf(step, unit));
  const values = schema.options?.map(code).join(', ');
  const entry = schema.item && allowedOf(schema.item);
  const list = schema.item && (entry ? `a list; each entry ${entry}` : 'a list');
  return [values, list, ...rules].filter((rule) => rule !== undefined).join('; ');
}

function ruleOf({ kind, type, message, requirement }: Schema, unit: string): string | undefined {
  if (typeof message === 'string') return message;
  // A message that names the wrong value describes no rule in general.
  if (typeof message === 'function') return undefined;
  if ((kind as string) === 'validation' && !RULES[type])
    throw new Error(`RULES does not describe ${type}`);
  return RULES[type]?.(requirement, unit);
}

/** The steps of a pipe, including the steps of the pipe that it starts with. */
const stepsOf = (schema: Schema): readonly Schema[] =>
  schema.pipe?.flatMap((step, index) => (index === 0 && step.pipe ? stepsOf(step) : [step])) ?? [
    schema,
  ];

const code = (value: unknown): string => `\`${JSON.stringify(value)}\``;

/** The setting at a path; undefined if it is missing, is empty or contains other settings. */
function valueAt(settings: unknown, path: string): unknown {
  const value = path
    .split('.')
    .reduce((part, name) => (part as Record<string, unknown> | undefined)?.[name], settings);
  const isEmpty = Array.isArray(value) ? value.length === 0 : typeof value === 'object';
  return isEmpty ? undefined : value;
}

/** The table of docs/settings.md, with the values of an environment as examples. */
export function settingsTable(values: object): string {
  const rows = Object.entries((settings as Schema).entries ?? {})
    .flatMap(([name, schema]) => rowsOf(name, schema))
    .map(({ path, meaning, unit, allowed, ifMissing, example }) => {
      const shown = valueAt(values, path) ?? example;
      const cells = [meaning, unit, allowed, ifMissing, shown === undefined ? '' : code(shown)];
      return `| \`${path}\` | ${cells.join(' | ')} |`;
    });
  return [
    '| setting | meaning | unit | allowed values | if missing | example |',
    '|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}
