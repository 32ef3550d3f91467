import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { bundleOf } from '../../infra/bundle.ts';

const bundles = join(inject('assembly'), 'bundles');
const functions = readdirSync(join(import.meta.dirname, '../../functions')).map((file) => file.replace(/\.ts$/, ''));

describe('a bundle', () => {
  it('exists for each function, as a folder with a single module', () => {
    expect(readdirSync(bundles).sort()).toEqual(functions.sort());
    for (const file of functions) expect(readdirSync(bundleOf(bundles, file))).toEqual(['index.mjs']);
  });

  it.each(functions)('of %s is an ES module composed of ES modules', (file) => {
    const text = readFileSync(join(bundles, file, 'index.mjs'), 'utf8');
    const lines = text.split('\n');
    const modules = lines.flatMap((line) => /^\/\/ .*(@aws-sdk\/.+\.js)$/.exec(line)?.[1] ?? []);

    expect(lines[0]).toBe(
      "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    );
    expect(lines.slice(-4)).toEqual(['export {', '  handler', '};', '']);
    expect(modules.length).toBeGreaterThan(10);
    expect(modules.filter((module) => !module.includes('/dist-es/'))).toEqual([]);
  });

  it.each(functions)('of %s requires Node’s HTTP modules, because an import would also load fetch', (file) => {
    const text = readFileSync(join(bundles, file, 'index.mjs'), 'utf8');

    expect(text).toMatch(/module\.exports = process\.getBuiltinModule\("(node:)?https"\);/);
    expect(text).not.toMatch(/^import .* from ["'](node:)?https?["'];$/m);
  });

  it.each(functions)('of %s takes its credentials from the environment only', (file) => {
    const text = readFileSync(join(bundles, file, 'index.mjs'), 'utf8');

    expect(text).toContain('// infra/environment-credentials.ts');
    expect(text).not.toMatch(/^\/\/ .*(credential-provider|nested-clients|token-providers)/m);
  });
});
