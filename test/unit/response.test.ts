import { describe, expect, it } from 'vitest';
import { cursorAfter, type ListQuery, type QueryParameter } from '../../lib/contract/list-query.ts';
import { pageResponse } from '../../lib/http/response.ts';
import type { Page } from '../../lib/table/steps.ts';
import { queryOf } from '../support/doubles/rule-arguments.ts';

const pageOf = (page: Partial<Page<unknown>>): Page<unknown> => ({
  entities: [],
  total: undefined,
  more: false,
  cursor: undefined,
  ...page,
});
const list = (page: Partial<Page<unknown>>, query: Partial<ListQuery> = {}) =>
  pageResponse(pageOf(page), (entity) => entity, {
    query: queryOf(query),
    pathname: '/api/things',
  });

/** The relation and the page number of each link, in order. */
function linksOf(page: Partial<Page<unknown>>, query: Partial<ListQuery>): string[] {
  const { Link = '' } = list(page, query).headers ?? {};
  return Link === ''
    ? []
    : Link.split(',').map((link) => {
        const [, target = '', relation] = /^<\/api\/things\?(.*)>; rel="(\w+)"$/.exec(link) ?? [];
        return `${relation} ${new URLSearchParams(target).get('page')}`;
      });
}

describe('pageResponse', () => {
  it('links exactly the pages that exist, around every page boundary', () => {
    for (const size of [1, 2, 3, 5]) {
      for (let total = 0; total <= 11; total++) {
        const last = Math.max(0, Math.ceil(total / size) - 1);
        for (let page = 0; page <= last + 3; page++) {
          const more = total > (page + 1) * size;

          expect(
            linksOf({ total, more }, { page, size }),
            JSON.stringify({ size, total, page }),
          ).toEqual([
            ...(more ? [`next ${page + 1}`] : []),
            ...(page > 0 && page <= last + 1 ? [`prev ${page - 1}`] : []),
            `last ${last}`,
            'first 0',
          ]);
        }
      }
    }
  });

  it('links no last page without a total, and no previous one of the first', () => {
    expect(linksOf({ more: true }, {})).toEqual(['next 1', 'first 0']);
    expect(linksOf({ more: true }, { page: 7 })).toEqual(['next 8', 'prev 6', 'first 0']);
    expect(linksOf({ more: true }, { page: 7, after: 3 })).toEqual(['next 8', 'first 0']);
    expect(linksOf({}, { page: 7 })).toEqual(['prev 6', 'first 0']);
    expect(list({}).headers).not.toHaveProperty('X-Total-Count');
  });

  it('has the cursor in the next link only, and the parameters in all links', () => {
    const parameters: QueryParameter[] = [
      ['sort', 'name,desc'],
      ['id.in', '1,2'],
      ['id.in', '3'],
    ];
    const [cursor, size] = [cursorAfter(7), 5];
    const kept = 'sort=name%2Cdesc&id.in=1%2C2&id.in=3';

    const { headers } = list({ total: 30, more: true, cursor }, { page: 2, size, parameters });

    expect(headers?.Link).toBe(
      [
        `</api/things?page=3&size=5&${kept}&cursor=${cursor}>; rel="next"`,
        `</api/things?page=1&size=5&${kept}>; rel="prev"`,
        `</api/things?page=5&size=5&${kept}>; rel="last"`,
        `</api/things?page=0&size=5&${kept}>; rel="first"`,
      ].join(),
    );
  });
});

describe('the links of a page', () => {
  const link = (page: number, filler: string, relation: string) =>
    `</api/things?page=${page}&size=20&name.contains=${filler}>; rel="${relation}"`;
  /** The filler with which these links have this many bytes in total. */
  const fillerFor = (bytes: number, ...links: [number, string][]) => {
    const empty = links.map(([page, relation]) => link(page, '', relation)).join(',').length;
    return 'x'.repeat((bytes - empty) / links.length);
  };
  const relations = (
    filler: string,
    page: Partial<Page<unknown>>,
    query: Partial<ListQuery> = {},
  ) =>
    linksOf(page, { parameters: [['name.contains', filler]], ...query }).map(
      (each) => each.split(' ')[0],
    );

  it.each([
    ['both', '', ['last', 'first']],
    ['both but for a byte', 'x', ['last']],
  ])('have at most 8,000 bytes in total and are dropped from the end: %s', (_, more, expected) => {
    expect(relations(fillerFor(8000, [0, 'last'], [0, 'first']) + more, { total: 1 })).toEqual(
      expected,
    );
    const one = fillerFor(8000, [0, 'last']) + more;
    expect(relations(one, { total: 1 })).toEqual(more ? [] : ['last']);
  });

  it('are counted with the commas between them', () => {
    const both = fillerFor(8001, [10, 'last'], [0, 'first']);

    expect(relations(both, { total: 201 }, { page: 20 })).toEqual(['last']);
  });

  it('always include the next page, or the query is rejected by its longest parameter', () => {
    const filler = fillerFor(8000, [1, 'next']);

    expect(relations(filler, { total: 21, more: true })).toEqual(['next']);
    expect(() => relations(`${filler}x`, { total: 21, more: true })).toThrow(
      expect.objectContaining({
        code: 'invalid',
        fieldErrors: [{ field: 'name.contains', message: 'Size' }],
      }),
    );
  });

  it('are too long by the parameter that is longest when encoded', () => {
    const parameters: QueryParameter[] = [
      ['name.contains', 'x'.repeat(4000)],
      ['name.in', '('.repeat(3000)],
    ];

    expect(() => list({ total: 21, more: true }, { parameters })).toThrow(
      expect.objectContaining({ fieldErrors: [{ field: 'name.in', message: 'Size' }] }),
    );
  });
});

describe('the body of a list response', () => {
  const MOST = 5 * 1024 * 1024;
  const TOO_LARGE = expect.objectContaining({ code: 'page-too-large' });

  // Lambda returns the body, itself JSON, in a JSON string.
  it.each([
    ['ASCII letters', 'x', 1],
    ['two-byte characters', 'é', 2],
    ['quotes, which are escaped twice', '"', 4],
  ])('has at most 5 MiB of %s', (_, letter, bytes) => {
    // Two brackets, two outer quotes and two escaped inner quotes.
    const frame = 8;
    const text = letter.repeat(Math.floor((MOST - frame) / bytes));
    const rest = 'x'.repeat((MOST - frame) % bytes);

    expect(list({ entities: [text + rest] }).status).toBe(200);
    expect(() => list({ entities: [`${text + rest}x`] })).toThrow(TOO_LARGE);
  });
});
