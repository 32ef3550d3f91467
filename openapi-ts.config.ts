import { defineConfig } from '@hey-api/openapi-ts';

/*
 * `npm run client`, which `npm test` and `npm run lint` run: the types of the console, and the typed
 * client that examples/ use. Neither is tracked.
 */

const input = 'openapi.json';
const output = { entryFile: false, module: { extension: '.ts' as const } };

export default defineConfig([
  {
    input,
    output: { ...output, path: 'console/api/generated' },
    plugins: ['@hey-api/typescript'],
  },
  {
    input,
    output: { ...output, path: 'examples/client' },
    plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
  },
]);
