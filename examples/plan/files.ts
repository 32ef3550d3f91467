import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import { Failure, type FieldError } from '../../lib/contract/failure.ts';
import { readPart } from '../../lib/http/request.ts';
import { emailKey } from '../../lib/mail/address.ts';
import { MakePlan } from '../../lib/operations/plan/plan-contracts.ts';
import type { MakePlanData } from '../client/types.gen.ts';

type Body = MakePlanData['body'];

interface Source {
  readonly file: string;
  readonly document: ReturnType<typeof parseDocument>;
  readonly lines: LineCounter;
  readonly content: Record<string, unknown>;
}

/** The content of all files, as the service expects it. */
export interface Content {
  readonly body: Body;
  /** States errors of fields with their files and lines. */
  explain(errors: readonly FieldError[]): string[];
}

/** Reads and checks the files of a folder. `prune` replaces what they prune. Throws mistakes. */
export async function readFiles(folder: string, prune?: readonly string[]): Promise<Content> {
  const entries = await readdir(folder, { recursive: true });
  const names = entries.filter((name) => /\.(ya?ml|json)$/.test(name)).sort();
  const parsed = await Promise.all(
    names.map(async (name) => {
      const file = join(folder, name);
      return parse(file, await readFile(file, 'utf8'));
    }),
  );
  const sources = parsed.flatMap((file) => file.sources);
  throwIfAny([
    ...parsed.flatMap(({ mistakes }) => mistakes),
    // A file need not name the set.
    ...sources.flatMap((source) => mistakesIn([source], { set: 'set', ...source.content } as Body)),
  ]);
  if (prune) {
    for (const { content } of sources) delete content.prune;
    sources.push(...parse('--prune', JSON.stringify({ prune })).sources);
  }
  const body = joined(sources);
  throwIfAny(mistakesOfSets(folder, sources));
  throwIfAny(mistakesIn(sources, body));
  return {
    body,
    explain: (errors) => errors.map((error) => explain(sources, body, error)),
  };
}

/** Throws mistakes, one in each line. */
export function throwIfAny(mistakes: readonly string[]): void {
  if (mistakes.length > 0) throw new Error(mistakes.join('\n'));
}

/** Parses YAML, of which JSON is a part. */
function parse(file: string, text: string): { sources: Source[]; mistakes: string[] } {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  // The first error of a file causes others. Warnings are about tags, which nothing here resolves.
  const mistakes = [...document.errors.slice(0, 1), ...document.warnings].map(
    ({ pos, code, message }) =>
      `${file}:${lines.linePos(pos[0]).line}: ` +
      (code === 'MULTIPLE_DOCS' ? 'must not begin a second document' : message),
  );
  if (mistakes.length > 0) return { sources: [], mistakes };
  const content = document.toJS() ?? {};
  if (typeof content === 'object' && !Array.isArray(content))
    return { sources: [{ file, document, lines, content }], mistakes };
  return { sources: [], mistakes: [`${file}:1: must be ${expected(MakePlan.body)}`] };
}

function joined(sources: readonly Source[]): Body {
  const all = (key: string) => sources.flatMap(({ content }) => content[key] ?? []);
  const [set] = all('set');
  const lists = ['users', 'integrations', 'prune'].map((key) => [key, all(key)]);
  return { set, ...Object.fromEntries(lists) };
}

function mistakesOfSets(folder: string, sources: readonly Source[]): string[] {
  const [first, ...others] = sources.filter(({ content }) => content.set !== undefined);
  if (!first) return [`${folder}: no file names the set`];
  return others
    .filter(({ content }) => content.set !== first.content.set)
    .map(
      (other) =>
        `${placeOf(other, ['set'])}: set: must be ${first.content.set}, as in ` +
        placeOf(first, ['set']),
    );
}

/** The secrets by their names, each with the field that names it. */
function secretsOf({ integrations = [] }: Body): Map<string, string> {
  const named = integrations.flatMap(({ parameters = [] }, integration) =>
    parameters.flatMap(({ secret }, parameter): [string, string][] =>
      typeof secret === 'object'
        ? [[secret.name, `integrations.${integration}.parameters.${parameter}.secret`]]
        : [],
    ),
  );
  return new Map(named);
}

function mistakesIn(sources: readonly Source[], body: Body): string[] {
  try {
    readPart(MakePlan.body, body);
    return [];
  } catch (error) {
    if (!(error instanceof Failure) || !error.fieldErrors) throw error;
    return error.fieldErrors.map((each) => explain(sources, body, each));
  }
}

/**
 * States an error with its file and line. The value of a secret is in no file: the line names the
 * secret.
 */
function explain(sources: readonly Source[], body: Body, error: FieldError): string {
  const [, secret] = /^values\.(.*)$/.exec(error.field) ?? [];
  // Any other error can be of a body that does not match its schema.
  const namedBy = secret === undefined ? undefined : secretsOf(body).get(secret);
  const path = (namedBy ?? error.field).split('.');
  const found = locate(sources, path);
  const reason = repeated(sources, body, path) ?? constraintOf(error, path);
  return found ? `${found.place}: ${found.field}: ${reason}` : `${error.field}: ${reason}`;
}

/** Where a field of the content is, and its path in the file: the lists of files are joined. */
function locate(sources: readonly Source[], [name = '', index, ...rest]: readonly string[]) {
  let position = Number(index);
  for (const source of sources) {
    const own = source.content[name];
    if (Array.isArray(own) && position >= own.length) position -= own.length;
    else if (own !== undefined) {
      const path = index === undefined ? [name] : [name, String(position), ...rest];
      return { place: placeOf(source, path), field: path.join('.') };
    }
  }
  return undefined;
}

/** Where the value of a unique field occurs first, if it is a repetition. */
function repeated(sources: readonly Source[], body: Body, path: readonly string[]) {
  const [index = '', field = ''] = path.slice(-2);
  if (!['login', 'email', 'name', 'confName'].includes(field)) return undefined;
  const above = path.slice(0, -2);
  const list = above.reduce<unknown>((value, step) => value?.[step as never], body);
  if (!Array.isArray(list)) return undefined;
  const keyOf = (entry: Record<string, unknown>) =>
    field === 'email' ? emailKey(String(entry.email)) : entry[field];
  const first = list.findIndex((entry) => keyOf(entry) === keyOf(list[Number(index)]));
  if (first === Number(index)) return undefined;
  return `is the same as in ${locate(sources, [...above, String(first), field])?.place}`;
}

/** The file and line of a field, or of what should contain it. */
function placeOf({ file, document, lines }: Source, path: readonly string[]): string {
  let node: unknown = document.contents;
  let offset = 0;
  for (const step of path) {
    const pair = isMap(node)
      ? node.items.find(({ key }) => isScalar(key) && String(key.value) === step)
      : undefined;
    const item = pair?.key ?? (isSeq(node) ? node.items[Number(step)] : undefined);
    if (!item) break;
    offset = (item as { range?: [number] }).range?.[0] ?? offset;
    node = pair ? pair.value : item;
  }
  return `${file}:${lines.linePos(offset).line}`;
}

interface Schema {
  readonly type: string;
  readonly wrapped?: Schema;
  readonly item?: Schema;
  readonly entries?: Readonly<Record<string, Schema>>;
  readonly options?: readonly Schema[];
  readonly literal?: string;
}

/** The schema of a field; undefined if there is no such field. */
export function schemaAt(path: readonly string[]): Schema | undefined {
  let schema: Schema | undefined = MakePlan.body;
  for (const step of path) {
    const parent: Schema | undefined = schema?.options?.find(({ entries }) => entries) ?? schema;
    const fields: Map<string, Schema> = new Map(Object.entries(parent?.entries ?? {}));
    schema = fields.get(step) ?? parent?.item;
    while (schema?.wrapped) schema = schema.wrapped;
  }
  return schema;
}

const TYPES: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  number: 'a whole number',
  string: 'a text, in quotes if it looks like something else',
};

function expected({ type, entries, options, literal }: Schema): string {
  if (entries) return `a map with ${Object.keys(entries).join(', ')}`;
  if (options) return options.map(expected).join(', or ');
  return literal ?? TYPES[type] ?? type;
}

function constraintOf(error: FieldError, path: readonly string[]): string {
  const schema = schemaAt(path);
  const { message, reason, allowed, pattern, min, max, unit } = error;
  if (!schema) {
    const { entries = {} } = schemaAt(path.slice(0, -1)) ?? {};
    return `is unknown; the fields are ${Object.keys(entries).join(', ')}`;
  }
  if (reason) return reason;
  if (message === 'NotNull') return 'is missing or empty';
  if (schema.type === 'array' && max !== undefined)
    return `must have at most ${max} entries${path.length === 1 ? ', all files together' : ''}`;
  if (allowed) return `must be one of ${allowed.join(', ')}`;
  if (message === 'TypeMismatch') return `must be ${expected(schema)}`;
  if (message === 'Email') return 'must be an e-mail address';
  if (pattern) return `must match ${pattern}`;
  const of = schema.type === 'string' ? (unit ?? 'characters') : '';
  const bounds = [min !== undefined && `at least ${min}`, max !== undefined && `at most ${max}`];
  return `must be ${bounds.filter(Boolean).join(' and ')} ${of}`.trim();
}
