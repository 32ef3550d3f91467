import { defineConfig } from '@hey-api/openapi-ts';

/* `npm run client`: the typed client that examples/ use. */

export default defineConfig({
  input: 'openapi.json',
  output: { path: 'examples/client', entryFile: false, module: { extension: '.ts' } },
  plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
});
