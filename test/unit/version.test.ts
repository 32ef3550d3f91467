import { describe, expect, it } from 'vitest';
import {
  firstVersion,
  isFirstVersion,
  nextVersion,
  requireVersion,
} from '../../lib/table/version.ts';

describe('a version', () => {
  it('starts with 1, followed by a random UUID', () => {
    const versions = Array.from({ length: 50 }, firstVersion);

    for (const version of versions)
      expect(version).toMatch(/^1-[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
    expect(new Set(versions).size).toBe(50);
  });

  it.each([
    ['1-AAAAAAAAAAAA', 2],
    ['9-123456789012', 10],
    ['41--_-_-_-_-_-_', 42],
  ])('%j is followed by number %i with other random bits', (version, count) => {
    const [one, other] = [nextVersion(version), nextVersion(version)];

    expect(one).toMatch(new RegExp(`^${count}-[\\da-f-]{36}$`));
    expect(one).not.toBe(other);
  });

  it.each([
    ['1-a', true],
    ['2-a', false],
    ['10-a', false],
  ])('%j is a first one: %j', (version, isFirst) => {
    expect(isFirstVersion(version)).toBe(isFirst);
  });

  it.each([
    ['3-a', undefined],
    ['3-a', ['3-a']],
    ['3-a', ['2-b', '3-a']],
  ])('%j satisfies the precondition %j', (version, expected) => {
    expect(() => requireVersion({ version }, expected)).not.toThrow();
  });

  it.each([
    ['3-a', []],
    ['3-a', ['3']],
    ['3-a', ['3-b', '2-a']],
  ])('%j does not satisfy the precondition %j', (version, expected) => {
    expect(() => requireVersion({ version }, expected)).toThrow(
      expect.objectContaining({ code: 'version-changed' }),
    );
  });
});
