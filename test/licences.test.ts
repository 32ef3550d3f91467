import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

interface Package {
  readonly license?: string;
  readonly dev?: true;
  readonly optional?: true;
}

/** Those that ask for nothing but their own text. */
const PERMISSIVE = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT'];

it('all that is deployed comes under a licence that lets it be', () => {
  const lock = readFileSync(join(import.meta.dirname, '../package-lock.json'), 'utf8');
  const packages: [string, Package][] = Object.entries(JSON.parse(lock).packages);

  // What is optional here is the engine and Node itself, for work on this machine.
  const deployed = packages.filter(([path, { dev, optional }]) => path !== '' && !dev && !optional);

  expect(deployed.map(([path]) => path)).toContain('node_modules/@middy/core');
  expect(deployed.filter(([, { license = '' }]) => !PERMISSIVE.includes(license))).toEqual([]);
});
