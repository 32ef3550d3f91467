import type { Route } from '../../../routes.ts';

const ROUTE = /^(GET|POST|PUT|PATCH|DELETE) ((?:\/(?:[a-z0-9.-]+|\{[a-zA-Z]+\}))+)$/;
const VERBS: Record<string, string> = {
  GET: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
};

const capitalized = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);
const when = (condition: boolean, part: string): string => (condition ? part : '');

const singular = (noun: string): string =>
  isPlural(noun) ? noun.replace(/ies$/, 'y').replace(/(?<=ss|x)es$|s$/, '') : noun;
const isPlural = (noun: string): boolean => /[^su]s$/.test(noun);

const KNOWN_PARAMETERS: Record<string, readonly [schema: string, file: string]> = {
  id: ['idInPath', 'contract/fields.ts'],
  login: ['loginInPath', 'users/user-schema.ts'],
};

const pathOf = ({ route }: Pick<Route, 'route'>): string => route.split(' ')[1] ?? '';

/**
 * The row of the endpoint that is most like one to add: as many equal segments as possible, then
 * one that reads or changes as well, then the first. Undefined if none is about the same resource.
 */
function siblingOf(path: string, isRead: boolean, routes: readonly Route[]): Route | undefined {
  const segments = path.split('/');
  const likeness = (row: Route) => {
    const differing = pathOf(row)
      .split('/')
      .concat('')
      .findIndex((segment, index) => segment !== segments[index]);
    return differing < 3 ? 0 : 2 * differing + Number(row.route.startsWith('GET ') === isRead);
  };
  return routes.reduce<Route | undefined>((best, row) => {
    return likeness(row) > (best ? likeness(best) : 0) ? row : best;
  }, undefined);
}

/**
 * The texts of the files to create for an endpoint, not formatted, and changes of those to extend.
 * `folderOf` names the folder of `lib` with the contract of a handler. Undefined if the text is not
 * a method and a path.
 */
export function scaffold(
  text: string,
  routes: readonly Route[],
  folderOf: (handler: string) => string | undefined = () => undefined,
) {
  const [route, method = '', path = ''] = ROUTE.exec(text) ?? [];
  if (!route) return undefined;
  const isRead = method === 'GET';
  const hasBody = ['POST', 'PUT', 'PATCH'].includes(method);
  const segments = path.split('/');
  const noun = segments.findLast((segment) => /^[a-z]/.test(segment)) ?? 'root';
  const isList = isRead && isPlural(noun) && path.endsWith(noun);
  const handler = isList ? `list-${noun}` : `${VERBS[method] ?? 'delete'}-${singular(noun)}`;
  const name = handler.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  const contract = capitalized(name);
  const summary = capitalized(handler.replaceAll('-', ' '));
  const sibling = siblingOf(path, isRead, routes);
  const hasPath = path.includes('{');
  const { tag, entityName } = sibling?.contract ?? { tag: 'Status' };
  const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter = '']) => parameter);
  const { imports, schema: pathSchema } = pathSchemaOf(parameters);
  const defaultAccess = isRead ? 'authenticated' : { anyRole: ['ROLE_ADMIN'] };
  const isSameKind = sibling?.route.startsWith('GET ') === isRead;
  const access = isSameKind ? sibling?.contract.access : defaultAccess;

  const inputs = [...(hasPath ? ['path'] : []), ...(hasBody ? ['body'] : [])];
  const typeOf = (input: string) => `${capitalized(input)}Of`;
  const declared = inputs.map((input) => `_${input}: ${typeOf(input)}<typeof ${contract}>`);
  const passed = isRead ? inputs : ['caller', ...inputs];
  const taken = passed.length > 0 ? `{ ${passed.join(', ')} }` : '';
  const call = `${name}(${passed.join(', ')})`;

  const rule = `lib/${(sibling && folderOf(sibling.handler)) ?? noun}/${handler}.ts`;
  const read = `/** Returns the response to ${route}. */
export function ${name}(${declared.join(', ')}): v.InferOutput<typeof ${contract}.response> {
  return ${isList ? '[]' : '{}'};
}
`;
  const change = `/** Makes the change of ${route}. Fails as \`caller.change\` does. */
export function ${name}(${['caller: AuthorizedCaller', ...declared].join(', ')}): Promise<void> {
  return caller.change({
    // The writes of the change, and its entry in the audit trail.
    decide: () => ({ writes: [], result: undefined, event: {} }),
  });
}
`;
  const usesSchemas = isRead || hasBody || pathSchema.startsWith('v.');
  const types = ['Contract', ...inputs.map(typeOf)].join(', ');
  const ruleText = `${when(usesSchemas, "import * as v from 'valibot';\n")}\
import type { ${types} } from '../contract/contract.ts';
${imports}\
${when(!isRead, "import type { AuthorizedCaller } from '../users/caller.ts';\n")}
/** ${route} */
export const ${contract} = {
  tag: '${tag}',
  ${when(entityName !== undefined, `entityName: '${entityName}',`)}
  summary: '${summary}',
  access: ${JSON.stringify(access)},
  ${when(hasPath, `path: ${pathSchema},`)}
  ${when(hasBody, 'body: v.object({}),')}
  ${when(isRead, `response: ${isList ? 'v.array(v.strictObject({}))' : 'v.strictObject({})'},`)}
} satisfies Contract;

${isRead ? read : change}`;
  const response = isRead ? `ok(${call})` : `{ await ${call}; return okEmpty(); }`;
  const handlerText = `import { endpoint } from '../lib/http/endpoint.ts';
import { ${isRead ? 'ok' : 'okEmpty'} } from '../lib/http/response.ts';
import { ${contract}, ${name} } from '../${rule}';

/** ${route}: ${summary.toLowerCase()}. */
export const handler = endpoint(${contract}, async (${taken}) => ${response});
`;
  const permissions = when(!isRead, 'get: [user], put: [audit], conditionCheck: [user]');
  const row =
    `route: '${route}', handler: '${handler}', contract: ${contract}, ` +
    `permissions: { ${permissions} }`;
  return {
    // Without the lines of parts that this endpoint lacks.
    created: {
      [rule]: ruleText.replaceAll(/^ +\n/gm, ''),
      [`functions/${handler}.ts`]: handlerText,
    },
    addRow: (table: string) =>
      withRow(table, `  { ${row} },\n`, sibling?.handler).replace(
        'import',
        `import { ${contract} } from './${rule}';\nimport`,
      ),
    addExample(examples: string) {
      const example = [
        when(hasPath, pathExample(examples, { parameters, isRead, isSameKind, sibling })),
        when(hasBody, 'body: {},'),
        when(isRead, `response: ${isList ? '[]' : '{}'},`),
      ];
      return withExample(examples, `  '${route}': { ${example.join(' ')} },\n`, sibling);
    },
  };
}

/** The schema of path parameters, and the imports that it needs. */
function pathSchemaOf(parameters: readonly string[]) {
  const known = parameters.flatMap((parameter) => {
    const entry = KNOWN_PARAMETERS[parameter];
    return entry ? [entry] : [];
  });
  const entries = parameters.map((parameter) =>
    KNOWN_PARAMETERS[parameter]
      ? `...${KNOWN_PARAMETERS[parameter][0]}.entries`
      : `${parameter}: v.string()`,
  );
  return {
    imports: known.map(([schema, file]) => `import { ${schema} } from '../${file}';\n`).join(''),
    schema:
      parameters.length === 1 && known[0] ? known[0][0] : `v.object({ ${entries.join(', ')} })`,
  };
}

/** Where the entry ends that contains a position of a table, one entry of which starts a line. */
const endOfEntry = (table: string, position: number): number =>
  position + table.slice(position).search(/\n(?: {2}[{']|\n|[\]}];)/) + 1;

/** The rows with another one behind the sibling's, or at the end. */
function withRow(table: string, row: string, sibling: string | undefined): string {
  const start = sibling === undefined ? -1 : table.indexOf(`handler: '${sibling}'`);
  const at = start < 0 ? table.indexOf('\n];\n') + 1 : endOfEntry(table, start);
  return `${table.slice(0, at)}${row}${table.slice(at)}`;
}

/**
 * The examples with another one beside the sibling's, or at the end. Tests send them in this order,
 * so what the sibling's example needs exists there: until a deletion is sent, or behind any other.
 */
function withExample(examples: string, example: string, sibling: Route | undefined): string {
  const start = examples.indexOf(`\n  '${sibling?.route}': `) + 1;
  const isDeletion = /^DELETE |\/delete$/.test(sibling?.route ?? '');
  const besideSibling = isDeletion ? start : endOfEntry(examples, start);
  const at = start > 0 ? besideSibling : examples.lastIndexOf('};');
  return `${examples.slice(0, at)}${example}${examples.slice(at)}`;
}

/**
 * The path parameters of an example. The sibling's name entities that exist in tests, and bring
 * what they need. People also send the examples to real data, so a change takes none from a read,
 * and has an id that no entity has.
 */
function pathExample(
  examples: string,
  {
    parameters,
    isRead,
    isSameKind,
    sibling,
  }: {
    parameters: readonly string[];
    isRead: boolean;
    isSameKind: boolean;
    sibling: Route | undefined;
  },
): string {
  const start = examples.indexOf(`\n  '${sibling?.route}': `) + 1;
  const entry = start > 0 ? examples.slice(start, endOfEntry(examples, start)) : '';
  const [needs = ''] = /\bneeds: '\w+',/.exec(entry) ?? [];
  const [path = ''] = ((isRead || isSameKind) && /\bpath: \{[^}]*\}/.exec(entry)) || [];
  const values = parameters.map((parameter) => {
    const [known] = new RegExp(`\\b${parameter}: [^,}]+`).exec(path) ?? [];
    const id = isRead ? '1' : '900_000_000';
    return known ?? `${parameter}: ${parameter === 'id' ? id : `'${parameter}'`}`;
  });
  return `${needs} path: { ${values.join(', ')} },`;
}
