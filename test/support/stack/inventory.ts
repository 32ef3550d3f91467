/*
 * What an upgrade can break, and what policies allow, as text: the resources with their logical ids
 * and physical names, the outputs, and the statements of policies. `npm run admin -- diff` prints
 * whole templates.
 */

const WIDTH = 100;

/** Of these only the number: a deployment replaces one without effect, under whatever id. */
const REPLACEABLE = 'AWS::ApiGatewayV2::Integration';

interface Resource {
  readonly Type: string;
  readonly Properties?: Readonly<Record<string, unknown>>;
}

interface Statement {
  readonly Sid?: string;
  readonly Effect: string;
  readonly Action: unknown;
  readonly Principal?: unknown;
  readonly Resource?: unknown;
  readonly Condition?: unknown;
}

/** The inventory of a template. The policies of the resources `except` are left out. */
export function inventoryOf(template: object, except: readonly string[] = []): string {
  const { Outputs, Resources } = readableParts(template) as {
    readonly Outputs?: Readonly<Record<string, { readonly Value: string }>>;
    readonly Resources: Readonly<Record<string, Resource>>;
  };
  const isExcepted = (id: string, { Roles = [] }: Resource['Properties'] = {}): boolean =>
    [id, ...(Roles as string[])].some((each) =>
      except.includes(each.replace(/^\$\{(.*)\}$/, '$1')),
    );
  const entries = Object.entries(Resources).sort(([one], [other]) => (one < other ? -1 : 1));
  const types = [...new Set(entries.map(([, { Type }]) => Type))].sort();
  const sections: [title: string, lines: string[]][] = [
    ['Outputs', Object.entries(Outputs ?? {}).map(([name, { Value }]) => `${name}: ${Value}`)],
    ...types.map((type): [string, string[]] => {
      const ids = entries.flatMap(([id, { Type }]) => (Type === type ? [id] : []));
      return [`${type} (${ids.length})`, type === REPLACEABLE ? [] : wrapped(ids)];
    }),
    ['Names', entries.flatMap(([id, { Properties }]) => namesIn(id, Properties))],
    [
      'Policies',
      entries.flatMap(([id, { Properties }]) =>
        isExcepted(id, Properties) ? [] : statementsIn(Properties).map((line) => `${id}: ${line}`),
      ),
    ],
  ];
  const text = sections
    .map(([title, lines]) => [title, ...lines.map((line) => `  ${line}`)].join('\n'))
    .join('\n\n');
  // What else differs while the stack does not: the hashes of versions and of policies.
  const hash = /((?:CurrentVersion|DefaultPolicy)[0-9A-F]{8})[0-9a-f]{8}/g;
  return `${text.replaceAll(hash, '$1(hash)')}\n`;
}

/** A template in which a reference is a text, as in `Fn::Sub`, without hashes of bundles. */
export function readableParts(template: object): object {
  const { Outputs, Resources } = template as Record<string, unknown>;
  return JSON.parse(JSON.stringify({ Outputs, Resources }), (_, value) => {
    if (typeof value === 'string') return value.replace(/^[0-9a-f]{64}\.zip$/, '(hash).zip');
    const [[name, argument] = [], ...others] = Object.entries(value ?? {});
    if (others.length > 0) return value;
    if (name === 'Ref') return `\${${argument}}`;
    if (name === 'Fn::GetAtt') return `\${${(argument as string[]).join('.')}}`;
    if (name === 'Fn::Join') {
      const [separator, parts] = argument as [string, string[]];
      return parts.join(separator);
    }
    return value;
  });
}

/** The physical names that a resource states, if they are no references. */
const namesIn = (id: string, properties: Resource['Properties'] = {}): string[] =>
  Object.entries(properties).flatMap(([name, value]) =>
    /^(Name|\w+Name)$/.test(name) && typeof value === 'string' && !value.startsWith('${')
      ? [`${id}: ${value}`]
      : [],
  );

function statementsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    // A rule of WAF has a statement too.
    name === 'Statement' && Array.isArray(inner)
      ? (inner as Statement[]).map(statementText)
      : statementsIn(inner),
  );
}

export const statementText = ({
  Effect,
  Action,
  Principal,
  Resource,
  Condition,
}: Statement): string =>
  [
    `${Effect} ${listOf(Action)}`,
    Resource !== undefined && `on ${listOf(Resource)}`,
    Principal !== undefined && `to ${listOf(Principal)}`,
    Condition !== undefined && `if ${JSON.stringify(Condition)}`,
  ]
    .filter(Boolean)
    .join(' ');

const listOf = (value: unknown): string =>
  [value]
    .flat()
    .map((each) => (typeof each === 'string' ? each : JSON.stringify(each)))
    .join(', ');

function wrapped(items: readonly string[]): string[] {
  const lines: string[] = [];
  for (const item of items) {
    const last = lines.at(-1);
    const joined = `${last} ${item}`;
    if (last !== undefined && joined.length <= WIDTH) lines[lines.length - 1] = joined;
    else lines.push(item);
  }
  return lines;
}
