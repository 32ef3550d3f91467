import type { Route } from '../../../routes.ts';

const ROUTE = /^(GET|POST|PUT|DELETE) ((?:\/(?:[a-z0-9.-]+|\{[a-zA-Z]+\}))+)$/;
const VERBS: Record<string, string> = { GET: 'get', POST: 'create', PUT: 'update' };

const capitalized = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);
const when = (condition: boolean, part: string): string => (condition ? part : '');

/**
 * The texts of the files to create for an endpoint, not formatted, and changes of those to extend.
 * Undefined if the text is not a method and a path.
 */
export function scaffold(text: string, routes: readonly Route[]) {
  const [route, method = '', path = ''] = ROUTE.exec(text) ?? [];
  if (!route) return undefined;
  const isRead = method === 'GET';
  const hasBody = method === 'POST' || method === 'PUT';
  const segments = path.split('/');
  const noun = segments.findLast((segment) => /^[a-z]/.test(segment)) ?? 'root';
  const handler = `${VERBS[method] ?? 'delete'}-${noun}`;
  const name = handler.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  const contract = capitalized(name);
  const summary = capitalized(handler.replaceAll('-', ' '));
  const folder = segments.slice(0, 3).join('/');
  const neighbour = routes.find((row) => row.route.split(' ')[1]?.startsWith(folder));
  const hasPath = path.includes('{');
  const { tag, entityName } = neighbour?.contract ?? { tag: 'Status' };
  const parameters = (value: string) =>
    [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => `${parameter}: ${value}`).join(', ');

  const inputs = [...(hasPath ? ['path'] : []), ...(hasBody ? ['body'] : [])];
  const typeOf = (input: string) => `${capitalized(input)}Of`;
  const declared = inputs.map((input) => `_${input}: ${typeOf(input)}<typeof ${contract}>`);
  const passed = isRead ? inputs : ['caller', ...inputs];
  const taken = passed.length > 0 ? `{ ${passed.join(', ')} }` : '';
  const call = `${name}(${passed.join(', ')})`;

  const rule = `lib/${noun}/${handler}.ts`;
  const read = `/** Returns the response to ${route}. */
export function ${name}(${declared.join(', ')}): v.InferOutput<typeof ${contract}.response> {
  return {};
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
  const ruleText = `import * as v from 'valibot';
import type { ${['Contract', ...inputs.map(typeOf)].join(', ')} } from '../contract/contract.ts';
${when(!isRead, "import type { AuthorizedCaller } from '../users/authorized-caller.ts';\n")}
/** ${route} */
export const ${contract} = {
  tag: '${tag}',
  ${when(entityName !== undefined, `entityName: '${entityName}',`)}
  summary: '${summary}',
  access: ${isRead ? "'authenticated'" : "{ anyRole: ['ROLE_ADMIN'] }"},
  ${when(hasPath, `path: v.object({ ${parameters('v.string()')} }),`)}
  ${when(hasBody, 'body: v.object({}),')}
  ${when(isRead, 'response: v.strictObject({}),')}
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
  const example = [
    when(hasPath, `path: { ${parameters('1')} },`),
    when(hasBody, 'body: {},'),
    when(isRead, 'response: {},'),
  ].join(' ');
  return {
    // Without the lines of parts that this endpoint lacks.
    created: {
      [rule]: ruleText.replaceAll(/^ +\n/gm, ''),
      [`functions/${handler}.ts`]: handlerText,
    },
    addRow: (routes: string) =>
      routes
        .replace('\n];\n', `\n  { ${row} },\n];\n`)
        .replace('import', `import { ${contract} } from './${rule}';\nimport`),
    addExample: (examples: string) =>
      examples.replace(/\};\n$/, `  '${route}': { ${example} },\n};\n`),
  };
}
