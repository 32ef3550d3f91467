import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Plugin } from 'esbuild';
import { inject } from 'vitest';
import { bundle } from '../../../infra/bundle/bundle.ts';
import { localTransport } from '../../../infra/settings/transport.ts';

const ROOT = join(import.meta.dirname, '../../..');

/**
 * Allows all partition keys: a mutant that reads before it writes needs keys that its route does
 * not list.
 */
const anyItem = (name: string, value: unknown): unknown =>
  name === 'dynamodb:LeadingKeys' && Array.isArray(value) ? ['*'] : value;

/**
 * Builds a copy of this run's stack with these mutations in its functions, which may access any
 * item.
 */
export async function buildMutantStack(
  mutations: readonly Mutation[],
): Promise<{ assembly: string; remove: () => void }> {
  const original = inject('assembly');
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-mutant-'));
  for (const file of readdirSync(original).filter((name) => name.endsWith('.json'))) {
    writeFileSync(
      join(folder, file),
      JSON.stringify(JSON.parse(readFileSync(join(original, file), 'utf8'), anyItem)),
    );
  }
  const sources = new Map<string, string>();
  for (const { file, from, to } of mutations) {
    const path = join(ROOT, file);
    const source = sources.get(path) ?? readFileSync(path, 'utf8');
    if (!source.includes(from))
      throw new Error(`${file} does not contain ${from}: the mutation is outdated`);
    sources.set(path, source.replace(from, to));
  }
  const plugin: Plugin = {
    name: 'mutant',
    setup(build) {
      build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const contents = sources.get(path);
        return contents === undefined ? undefined : { contents, loader: 'ts' };
      });
    },
  };
  const bundles = join(original, 'bundles');
  const changed = readdirSync(bundles).filter((name) => {
    const { sources } = JSON.parse(readFileSync(join(bundles, name, 'index.mjs.map'), 'utf8')) as {
      sources: string[];
    };
    return mutations.some(({ file }) => sources.includes(file));
  });
  if (changed.length === 0) throw new Error('No function contains the mutated files');
  // What lies beside the code of a function.
  for (const name of changed)
    cpSync(join(bundles, name), join(folder, 'bundles', name), { recursive: true });
  await bundle(join(folder, 'bundles'), {
    transport: localTransport(),
    plugins: [plugin],
    files: changed,
  });

  const assets = readdirSync(folder).find((name) => name.endsWith('.assets.json')) as string;
  const paths = changed.reduce(
    (text, name) =>
      text.replaceAll(`"${join(bundles, name)}"`, `"${join(folder, 'bundles', name)}"`),
    readFileSync(join(folder, assets), 'utf8'),
  );
  writeFileSync(join(folder, assets), paths);
  return { assembly: folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** One place in the source, and a plausible mistake to put there. */
export interface Mutation {
  readonly file: string;
  /** The text to replace, which occurs in the file exactly once. */
  readonly from: string;
  readonly to: string;
}

/**
 * Mutants that long tests bundle into the functions of a stack: what is wrong, and the mutations
 * that cause it.
 */
export const stackMutants = {
  'a login is checked before the write instead of by its condition': [
    {
      file: 'lib/users/user-table.ts',
      from: "const claimLogin = (user: User) => claim(loginGuardKey(user.login), { id: user.id }, 'login-taken');",
      to: `const claimLogin = (user: User): Write => ({
          act: 'Put', key: loginGuardKey(user.login), attributes: { id: user.id },
        });`,
    },
    {
      file: 'lib/users/create-user.ts',
      from: 'import type { PasswordHasher }',
      to: "import { Failure } from '../contract/failure.ts';\nimport type { PasswordHasher }",
    },
    {
      file: 'lib/users/create-user.ts',
      from: '    prepare: () =>\n',
      to: `    load: async () => {
          const guard = await table.get({ pk: 'LOGIN#' + newUser.login, sk: 'GUARD' });
          if (guard) throw new Failure('login-taken');
        },
        prepare: () =>\n`,
    },
  ],
  'the password is checked before the attempt is counted': [
    {
      file: 'lib/throttle/run-attempt.ts',
      from: 'const [recorded, loaded] = await settleAll([record(), load(items)]);\n    return { recorded, verdict: await verify(loaded) };',
      to: 'const verdict = await verify(await load(items));\n    return { recorded: await record(), verdict };',
    },
  ],
  'attempts are counted without checking for concurrent ones': [
    {
      file: 'lib/throttle/login-throttle-rules.ts',
      from: 'put(key, counted), unchangedSinceRead(stored)',
      to: "put(key, counted), { condition: 'attribute_exists(pk) OR attribute_not_exists(pk)', onConditionFailed: 'retry' }",
    },
  ],
} satisfies Record<string, readonly Mutation[]>;
