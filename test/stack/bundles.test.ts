import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { bundleOf } from '../../infra/bundle.ts';

const bundles = join(inject('assembly'), 'bundles');
const functions = readdirSync(join(import.meta.dirname, '../../functions')).map((file) => file.replace(/\.ts$/, ''));

describe('the bundles', () => {
  it('are one folder for each function, with one module in it', () => {
    expect(readdirSync(bundles).sort()).toEqual(functions.sort());
    for (const file of functions) expect(readdirSync(bundleOf(bundles, file))).toEqual(['index.mjs']);
  });

  it.each(functions)('of %s is an ES module of ES modules', (file) => {
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

  it.each(functions)('of %s requires the HTTP modules of Node, for an import would load its fetch besides', (file) => {
    const text = readFileSync(join(bundles, file, 'index.mjs'), 'utf8');

    expect(text).toMatch(/module\.exports = process\.getBuiltinModule\("(node:)?https"\);/);
    expect(text).not.toMatch(/^import .* from ["'](node:)?https?["'];$/m);
  });

  it.each(functions)('of %s takes its credentials from nowhere but the environment', (file) => {
    const text = readFileSync(join(bundles, file, 'index.mjs'), 'utf8');

    expect(text).toContain('// infra/environment-credentials.ts');
    expect(text).not.toMatch(/^\/\/ .*(credential-provider|nested-clients|token-providers)/m);
  });
});
