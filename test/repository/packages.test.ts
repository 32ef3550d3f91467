import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import project from '../../package.json' with { type: 'json' };

const ROOT = join(import.meta.dirname, '../..');

interface Package {
  readonly license?: string;
  readonly dev?: true;
  readonly optional?: true;
}

/** Licences that require no more than keeping their notice. */
const PERMISSIVE = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT'];

it('every deployed package has a permissive licence', () => {
  const lock = readFileSync(join(ROOT, 'package-lock.json'), 'utf8');
  const packages: [string, Package][] = Object.entries(JSON.parse(lock).packages);

  // The optional packages are the DynamoDB engine and Node itself, for local use only.
  const deployed = packages.filter(([path, { dev, optional }]) => path !== '' && !dev && !optional);

  expect(deployed.map(([path]) => path)).toContain('node_modules/@middy/core');
  expect(deployed.filter(([, { license = '' }]) => !PERMISSIVE.includes(license))).toEqual([]);
});

it('every package in package.json has its purpose in the decision on libraries', () => {
  const { dependencies, devDependencies, optionalDependencies } = project;
  const decision = readFileSync(join(ROOT, 'docs/adr/0005-libraries.md'), 'utf8');

  const names = Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies });

  expect(names).toContain('@middy/core');
  expect(names.filter((name) => !decision.includes(`\`${name}\``))).toEqual([]);
});

it.each([
  ['@aws-sdk/client-dynamodb', 'lib'],
  ['@aws-sdk/lib-dynamodb', 'lib'],
  ['aws-jwt-verify', 'lib'],
  ['@middy/core', 'lib'],
  ['@middy/http-json-body-parser', 'lib'],
  ['valibot', 'lib'],
  ['aws-cdk-lib', 'infra'],
  ['esbuild', 'infra'],
  ['vitest', 'test'],
])('%s, which the project was asked to use, is a dependency that %s imports', (name, folder) => {
  const sources = globSync(`${folder}/**/*.ts`, { cwd: ROOT }).map((file) =>
    readFileSync(join(ROOT, file), 'utf8'),
  );
  const valueImport = new RegExp(`^import (?!type )[^;]*? from '${name}[/']`, 'm');

  expect(Object.keys({ ...project.dependencies, ...project.devDependencies })).toContain(name);
  expect(sources.some((source) => valueImport.test(source))).toBe(true);
});
