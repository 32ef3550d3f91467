import type { Route } from '../../../routes.ts';

/** The files of a new endpoint: those to create with their texts, and those to extend. */
export interface Scaffold {
  readonly created: Readonly<Record<string, string>>;
  /** Adds the row to the text of routes.ts. */
  addRow(text: string): string;
  /** Adds the example to the text of examples.ts. */
  addExample(text: string): string;
}

const ROUTE = /^(GET|POST|PUT|DELETE) ((?:\/(?:[a-z0-9.-]+|\{[a-zA-Z]+\}))+)$/;
const VERBS = { GET: 'get', POST: 'create', PUT: 'update', DELETE: 'delete' } as const;

/** The files of this endpoint. Undefined if the text is not a method and a path. */
export function scaffold(text: string, routes: readonly Route[]): Scaffold | undefined {
  const [route, method, path = ''] = ROUTE.exec(text) ?? [];
  if (!route) return undefined;
  const noun = path.split('/').findLast((segment) => /^[a-z]/.test(segment)) ?? 'root';
  const handler = `${VERBS[method as keyof typeof VERBS]}-${noun}`;
  const name = handler.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  const names = { route, handler, name, contract: name[0]?.toUpperCase() + name.slice(1) };
  const folder = path.split('/').slice(0, 3).join('/');
  const neighbour = routes.find((row) => row.route.split(' ')[1]?.startsWith(folder));
  const { tag, entityName } = neighbour?.contract ?? { tag: 'Status' };
  const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter = '']) => parameter);
  const rule = `lib/${noun}/${handler}.ts`;
  const about = [`tag: '${tag}'`, ...(entityName ? [`entityName: '${entityName}'`] : [])];
  const parts = { ...names, about: about.join(', '), parameters, rule };
  return {
    created: method === 'GET' ? readFiles(parts) : changeFiles(parts, method === 'DELETE'),
    addRow: (routes) =>
      routes
        .replace('\n];\n', `\n  ${rowOf(parts)}\n];\n`)
        .replace('import', `import { ${parts.contract} } from './${rule}';\nimport`),
    addExample: (examples) =>
      examples.replace(/\};\n$/, `  '${route}': { ${exampleOf(parts, method)} },\n};\n`),
  };
}

interface Parts {
  readonly route: string;
  readonly handler: string;
  /** Of the rule. */
  readonly name: string;
  readonly contract: string;
  readonly about: string;
  readonly parameters: readonly string[];
  /** The file of the rule and the contract. */
  readonly rule: string;
}

const pathSchema = ({ parameters }: Parts): string =>
  parameters.length === 0
    ? ''
    : `\n  path: v.object({ ${parameters.map((each) => `${each}: v.string()`).join(', ')} }),`;

function readFiles(parts: Parts): Record<string, string> {
  const { route, handler, name, contract, about, rule, parameters } = parts;
  const [taken, passed] = parameters.length > 0 ? ['{ path }', 'path'] : ['', ''];
  const parameter = parameters.length > 0 ? `_path: PathOf<typeof ${contract}>` : '';
  return {
    [rule]: `import * as v from 'valibot';
import type { Contract${parameters.length > 0 ? ', PathOf' : ''} } from '../contract/contract.ts';

/** ${route} */
export const ${contract} = {
  ${about},
  summary: '${summaryOf(handler)}',
  access: 'authenticated',${pathSchema(parts)}
  response: v.strictObject({}),
} satisfies Contract;

/** Returns the response to ${route}. */
export function ${name}(${parameter}): v.InferOutput<typeof ${contract}.response> {
  return {};
}
`,
    [`functions/${handler}.ts`]: `import { endpoint } from '../lib/http/endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { ${contract}, ${name} } from '../${rule}';

/** ${route}: ${summaryOf(handler).toLowerCase()}. */
export const handler = endpoint(${contract}, async (${taken}) => ok(${name}(${passed})));
`,
  };
}

function changeFiles(parts: Parts, isDeletion: boolean): Record<string, string> {
  const { route, handler, name, contract, about, rule, parameters } = parts;
  const taken = [...(parameters.length > 0 ? ['path'] : []), ...(isDeletion ? [] : ['body'])];
  const types = taken.map((each) => `${each[0]?.toUpperCase()}${each.slice(1)}Of`);
  const body = isDeletion ? '' : '\n  body: v.object({}),';
  const given = taken.map((each, index) => `_${each}: ${types[index]}<typeof ${contract}>`);
  return {
    [rule]: `import * as v from 'valibot';
import type { ${['Contract', ...types].join(', ')} } from '../contract/contract.ts';
import type { AuthorizedCaller } from '../users/authorized-caller.ts';

/** ${route} */
export const ${contract} = {
  ${about},
  summary: '${summaryOf(handler)}',
  access: { anyRole: ['ROLE_ADMIN'], rolesFrom: 'table' },${pathSchema(parts)}${body}
} satisfies Contract;

/** Makes the change of ${route}. Fails as \`caller.change\` does. */
export function ${name}(${['caller: AuthorizedCaller', ...given].join(', ')}): Promise<void> {
  return caller.change({
    // The writes of the change, and its entry in the audit trail.
    decide: () => ({ writes: [], result: undefined, event: {} }),
  });
}
`,
    [`functions/${handler}.ts`]: `import { endpoint } from '../lib/http/endpoint.ts';
import { okEmpty } from '../lib/http/response.ts';
import { ${contract}, ${name} } from '../${rule}';

/** ${route}: ${summaryOf(handler).toLowerCase()}. */
export const handler = endpoint(${contract}, async ({ ${['caller', ...taken].join(', ')} }) => {
  await ${name}(${['caller', ...taken].join(', ')});
  return okEmpty();
});
`,
  };
}

const summaryOf = (handler: string): string => {
  const words = handler.replaceAll('-', ' ');
  return `${words[0]?.toUpperCase()}${words.slice(1)}`;
};

const rowOf = ({ route, handler, contract }: Parts): string => {
  const permissions = route.startsWith('GET ')
    ? '{}'
    : '{ get: [user], put: [audit], conditionCheck: [user] }';
  const row = [`route: '${route}'`, `handler: '${handler}'`, `contract: ${contract}`];
  return `{ ${row.join(', ')}, permissions: ${permissions} },`;
};

function exampleOf({ parameters }: Parts, method: string | undefined): string {
  const values = parameters.map((each) => `${each}: 1`).join(', ');
  return [
    ...(parameters.length > 0 ? [`path: { ${values} }`] : []),
    ...(method === 'GET' ? ['response: {}'] : method === 'DELETE' ? [] : ['body: {}']),
  ].join(', ');
}
