import { $, defineConfig, definePluginConfig } from '@hey-api/openapi-ts';

/*
 * `npm run generate`, which `npm test` and `npm run lint` run: the types of the console, and the
 * typed client that examples/ use. Neither is tracked.
 */

const input = 'openapi.json';
const output = { entryFile: false, module: { extension: '.ts' as const } };

/** The types of each operation, such as `Operations['GET /api/users']`. */
const operations = definePluginConfig({
  name: 'operations',
  config: {},
  dependencies: ['@hey-api/typescript'],
  handler({ plugin }) {
    const type = $.type.object();
    plugin.forEach('operation', ({ operation: { id, method, path } }) => {
      const typeOf = (role: string) =>
        plugin.querySymbol({ resource: 'operation', resourceId: id, role }) ?? 'unknown';
      const types = $.type
        .object()
        .prop('data', (prop) => prop.type(typeOf('data')))
        .prop('response', (prop) => prop.type(typeOf('response')));
      type.prop(`${method.toUpperCase()} ${path}`, (prop) => prop.type(types));
    });
    plugin.node($.type.alias(plugin.symbol('Operations')).export().type(type));
  },
});

export default defineConfig([
  {
    input,
    output: { ...output, path: 'console/api/generated' },
    plugins: ['@hey-api/typescript', operations()],
  },
  {
    input,
    output: { ...output, path: 'examples/client' },
    plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
  },
]);
