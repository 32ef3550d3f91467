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
  'the last administrator is checked before the write instead of by its condition': [
    {
      file: 'lib/users/administrators.ts',
      from: "condition: 'contains(#ids, :id) AND size(#ids) > :one'",
      to: "condition: 'contains(#ids, :id) AND :one = :one'",
    },
    // The check is made when the caller is loaded, long before the write.
    {
      file: 'lib/users/administrators.ts',
      from: "import type { User } from './user.ts';",
      to: `import type { User } from './user.ts';
      import { Failure } from '../contract/failure.ts';
      let administrators = 0;
      export const count = (roster) => { administrators = roster?.ids?.size ?? 0; };`,
    },
    {
      file: 'lib/users/administrators.ts',
      from: 'function leaveRoster(id: number): Write {',
      to: "function leaveRoster(id: number): Write {\n  if (administrators < 2) throw new Failure('last-administrator');",
    },
    {
      file: 'lib/authorization/authorize.ts',
      from: 'settleAll([loadUser(), rule',
      to: "settleAll([table.get({ pk: 'ADMINS', sk: 'ROSTER' }).then(count).then(loadUser), rule",
    },
    {
      file: 'lib/authorization/authorize.ts',
      from: "import { actorOf, type FormerUser, findFormerUser, findUser } from '../users/user-table.ts';",
      to: "import { actorOf, type FormerUser, findFormerUser, findUser } from '../users/user-table.ts';\nimport { count } from '../users/administrators.ts';",
    },
  ],
  'a renamed user keeps the guard of the old login': [
    {
      file: 'lib/users/user-table.ts',
      from: '...(renamed ? [releaseLogin(before)] : []),',
      to: '',
    },
  ],
  // Unlike a set, a counter is wrong after the same user is demoted twice. The condition on the
  // user's version would prevent that, so this mutant drops it. The set is still written, but
  // nothing depends on it.
  'administrators are counted instead of kept in a set': [
    {
      file: 'lib/users/administrators.ts',
      from: "update: 'DELETE #ids :set',\n    condition: 'contains(#ids, :id) AND size(#ids) > :one',\n    names: { '#ids': 'ids' },\n    values: { ':set': new Set([id]), ':id': id, ':one': 1 },",
      to: `update: 'SET #count = if_not_exists(#count, :two) - :one DELETE #ids :set',
          condition: 'attribute_not_exists(#count) OR #count > :one',
          names: { '#ids': 'ids', '#count': 'counted' },
          values: { ':set': new Set([id]), ':one': 1, ':two': 2 },`,
    },
    {
      file: 'lib/users/administrators.ts',
      from: "update: 'ADD #ids :set',\n    names: { '#ids': 'ids' },\n    values: { ':set': new Set([id]) },",
      to: `update: 'SET #count = if_not_exists(#count, :two) + :one ADD #ids :set',
          names: { '#ids': 'ids', '#count': 'counted' },
          values: { ':set': new Set([id]), ':one': 1, ':two': 2 },`,
    },
    {
      file: 'lib/users/user-table.ts',
      from: 'attributesAre({ version, ...(isDeactivated && { sessionEndings }) }),',
      to: `membership(before, after).length === 0 ? attributesAre({ version }) : {
          condition: 'attribute_exists(pk)', onConditionFailed: 'retry',
        },`,
    },
  ],
  'a transaction conflict is reported as a violated rule': [
    {
      file: 'lib/table/change.ts',
      from: "codes[position] === 'ConditionalCheckFailed'",
      to: "codes[position] !== 'None'",
    },
    {
      file: 'lib/table/change.ts',
      from: "if (otherCodes.length > 0) return 'busy';",
      to: "if (otherCodes.length > 0 && failedWrites.every((write) => write.onConditionFailed === undefined)) return 'busy';",
    },
  ],
  'a transaction whose response was lost is sent again with another token': [
    {
      file: 'lib/table/change.ts',
      from: 'await table.transact(writes, token)',
      to: 'await table.transact(writes, randomUUID())',
    },
  ],
  'credentials are counted before the write instead of by its condition': [
    {
      file: 'lib/integrations/integration-table.ts',
      from: 'moduleRevision },\n    revisionIs(before),',
      to: `moduleRevision },
          moduleRevision === before.moduleRevision
            ? attributesAre({ id: before.id })
            : revisionIs(before),`,
    },
  ],
  'the deletion of a parameter does not move the number that its module reads': [
    {
      file: 'lib/integrations/delete-parameter.ts',
      from: 'parameterCount, parameterBytes }),',
      to: 'parameterCount, parameterBytes }, integration.moduleRevision),',
    },
  ],
  'a code of the second factor is checked before the write instead of by its condition': [
    {
      file: 'lib/users/credential-table.ts',
      from: '      sessionEndings,\n      secondFactor: user.secondFactor,',
      to: '      sessionEndings,',
    },
  ],
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

export type StackMutant = keyof typeof stackMutants;
