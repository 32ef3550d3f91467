import { describe, expect, it } from 'vitest';
import { preconditionOf, respondConditionally } from '../../lib/http/conditional.ts';

const respond = (method: string, headers: Record<string, string>, response: object) =>
  respondConditionally(
    { headers, requestContext: { http: { method } } } as never,
    response as never,
  );
const FOUND = { status: 200, headers: { ETag: '"1-a"', Other: 'x' }, body: '{}' };
const UNCHANGED = { status: 304, headers: FOUND.headers };

describe('a read', () => {
  it.each([
    ['without a condition', {}, FOUND],
    ['that knows the entity', { 'if-none-match': '"0", W/"1-a"' }, UNCHANGED],
    ['that knows every entity', { 'if-none-match': ' * ' }, UNCHANGED],
    ['that knows another entity', { 'if-none-match': '"1-b"' }, FOUND],
    ['that expects the entity', { 'if-match': '"1-a"' }, FOUND],
  ])('%s', (_, headers, response) => {
    expect(respond('GET', headers, FOUND)).toEqual(response);
    expect(respond('HEAD', headers, FOUND)).toEqual(response);
  });

  it('that expects another entity fails with version-changed', () => {
    for (const tag of ['"1-b"', 'W/"1-a"', '"1-a" "1-b"'])
      expect(() => respond('GET', { 'if-match': tag }, FOUND)).toThrow(
        expect.objectContaining({ code: 'version-changed' }),
      );
  });

  it('of what has no ETag ignores conditions', () => {
    const list = { status: 200, body: '[]' };

    expect(respond('GET', { 'if-match': '"x"', 'if-none-match': '*' }, list)).toBe(list);
  });
});

it('the response to a change is returned unchanged', () => {
  expect(respond('PUT', { 'if-none-match': '"1-a"', 'if-match': '"x"' }, FOUND)).toBe(FOUND);
});

describe('the precondition of a change', () => {
  it.each<[string, Record<string, string>, boolean]>([
    ['the version', { 'if-match': '"1-a"' }, true],
    ['any version', { 'if-match': ' * ' }, true],
    ['one of several', { 'if-match': ',"0" , ,W/"1-a","1-a",' }, true],
    [
      'the version beside a tag beyond ASCII and an empty one',
      { 'if-match': '"ä","","1-a"' },
      true,
    ],
    ['a weak tag', { 'if-match': 'W/"1-a"' }, false],
    ['no tag', { 'if-match': '1-a' }, false],
    ['a tag in other text', { 'if-match': 'x"1-a"' }, false],
    ['a tag before other text', { 'if-match': '"1-a"x' }, false],
    ['a prefix in another case', { 'if-match': 'w/"1-a"' }, false],
    ['a tag with a space', { 'if-match': '"0 0","1-a"' }, false],
    ['a tag with a control character', { 'if-match': '"\x7f","1-a"' }, false],
    ['none of others', { 'if-none-match': '"0"' }, true],
    ['not this version', { 'if-none-match': '"0","1-a" , W/"2"' }, false],
    ['not a weak tag', { 'if-none-match': 'W/"1-a"' }, false],
    ['not any version', { 'if-none-match': ' * ' }, false],
    ['text that is no list', { 'if-none-match': 'x"1-a"' }, true],
    ['both', { 'if-match': '"1-a"', 'if-none-match': '"1-a"' }, false],
    ['another version and none of others', { 'if-match': '"7"', 'if-none-match': '"0"' }, false],
  ])('of %s %j includes it: %s', (_, headers, isIncluded) => {
    expect(preconditionOf(headers)?.includes('1-a')).toBe(isIncluded);
  });

  it('is absent without a header', () => {
    expect(preconditionOf({})).toBeUndefined();
  });
});
