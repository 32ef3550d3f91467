import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Mutation } from '../mutants/mutant.ts';
import { mutants } from '../mutants/mutants.ts';
import { stackMutants } from '../mutants/stack-mutants.ts';

/*
 * The mutants themselves, which only long tests apply. These tests read the source, so they would
 * fail for any mutant: no mutant may name this file in `killedBy`.
 */

const ROOT = join(import.meta.dirname, '../..');

describe('every mutant', () => {
  const mutations: Mutation[] = [...mutants, ...Object.values(stackMutants).flat()];

  it('matches the source exactly once and changes it', () => {
    const files = new Set(mutations.map(({ file }) => file));
    const sources = new Map(
      [...files].map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]),
    );

    const stale = mutations.filter(
      ({ file, from, to }) => sources.get(file)?.split(from).length !== 2 || from === to,
    );

    expect(stale.map(({ file, from }) => `${file}: ${from}`)).toEqual([]);
  });

  it('names existing test files', () => {
    const named = new Set(
      mutants.flatMap(({ killedBy }) => (killedBy.length > 0 ? killedBy : ['none'])),
    );

    expect([...named].filter((test) => !existsSync(join(ROOT, test)))).toEqual([]);
  });

  it('is listed only once', () => {
    const names = mutants.map(({ file, from, to }) => JSON.stringify([file, from, to]));

    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });
});
