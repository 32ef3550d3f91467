import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

interface Package {
  readonly license?: string;
  readonly dev?: true;
  readonly optional?: true;
}

/** Licences that require no more than keeping their notice. */
const PERMISSIVE = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT'];

it('every deployed package has a permissive licence', () => {
  const lock = readFileSync(join(import.meta.dirname, '../../package-lock.json'), 'utf8');
  const packages: [string, Package][] = Object.entries(JSON.parse(lock).packages);

  // The optional packages are the DynamoDB engine and Node itself, for local use only.
  const deployed = packages.filter(([path, { dev, optional }]) => path !== '' && !dev && !optional);

  expect(deployed.map(([path]) => path)).toContain('node_modules/@middy/core');
  expect(deployed.filter(([, { license = '' }]) => !PERMISSIVE.includes(license))).toEqual([]);
});

it('every package in package.json has its purpose in the decision on libraries', () => {
  const read = (path: string): string =>
    readFileSync(join(import.meta.dirname, '../..', path), 'utf8');
  const { dependencies, devDependencies, optionalDependencies } = JSON.parse(read('package.json'));
  const decision = read('docs/adr/0005-libraries.md');

  const names = Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies });

  expect(names).toContain('@middy/core');
  expect(names.filter((name) => !decision.includes(`\`${name}\``))).toEqual([]);
});
