import { readFile } from 'node:fs/promises';
import type { Plugin } from 'esbuild';

/**
 * Classes that the SDK uses elsewhere than in a function. An alias cannot replace them, because the
 * SDK imports them by relative paths. They were 9 KB of each bundle.
 */
const UNREACHABLE = [
  // The retry mode `adaptive`, which no function is configured for.
  'AdaptiveRetryStrategy',
  // Signs event streams.
  'HeaderFormatter',
  // A hash for a Node without OpenSSL.
  'Sha256Js',
];

/** Reduces modules of the SDK to what functions use of them. */
export const trimSdk: Plugin = {
  name: 'trim-sdk',
  setup(build) {
    build.onLoad(
      { filter: new RegExp(`@smithy/.*/(${UNREACHABLE.join('|')})\\.js$`) },
      ({ path }) => ({
        contents: `export class ${/(\w+)\.js$/.exec(path)?.[1]} {}`,
      }),
    );
    // Of the package, the SDK reads the version. The rest was 2 KB of each client.
    build.onLoad({ filter: /@aws-sdk\/client-\w+\/package\.json$/ }, async ({ path }) => {
      const { version } = JSON.parse(await readFile(path, 'utf8'));
      return { contents: JSON.stringify({ version }), loader: 'json' };
    });
    // The schemas of SES name properties by constants, as in `{ [_h]: 404 }`. esbuild does not know
    // that these are strings, so it keeps such objects and all that they refer to: 43 KB of each
    // bundle that sends mail.
    build.onLoad(
      { filter: /@aws-sdk\/client-sesv2\/dist-es\/schemas\/schemas_0\.js$/ },
      async ({ path }) => {
        const source = await readFile(path, 'utf8');
        const constants = new Map(
          [...source.matchAll(/^const (\w+) = (".*");$/gm)].map(([, name, text]) => [name, text]),
        );
        return {
          contents: source.replace(/\[(\w+)\](?=:)/g, (key, name) => constants.get(name) ?? key),
        };
      },
    );
  },
};
