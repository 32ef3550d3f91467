import { cpSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shippedContext } from '../stack/shipped-context.ts';

const ROOT = join(import.meta.dirname, '../../..');

/** Everything that a synthesis and the commands read, except the installed packages. */
export const SOURCES = [
  'console',
  'functions',
  'infra',
  'lib',
  'cdk.json',
  'openapi.json',
  'package.json',
  'routes.ts',
  'tsconfig.json',
];

/** Copies the source into a folder, with the shipped settings in its cdk.json. */
export function copyRepository(folder: string): void {
  for (const source of SOURCES)
    cpSync(join(ROOT, source), join(folder, source), { recursive: true });
  writeFileSync(join(folder, 'cdk.json'), JSON.stringify({ context: shippedContext }));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
}
