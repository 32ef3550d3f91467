import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Answer } from '../../console/api/request.ts';
import { csvCell, csvLine, separatorIn } from '../../console/csv.ts';
import { csvOf } from '../../console/export.ts';
import type { Query } from '../../console/list.ts';

describe('a cell', () => {
  it.each([
    ['=1+1', "'=1+1"],
    ['-2', "'-2"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\t=1', `"'\t'=1"`],
    ['\r=1', `"'\r'=1"`],
    ['＝1', "'＝1"],
    ["x;=cmd|'/C calc'!A0;y", `"x;'=cmd|'/C calc'!A0;y"`],
    ['=HYPERLINK("x","y")', `"'=HYPERLINK(""x"",""y"")"`],
  ])('defuses the formula %j', (value, cell) => {
    expect(csvCell(value)).toBe(cell);
  });

  it.each([
    [null, ''],
    [undefined, ''],
    [-2, '-2'],
    [true, 'true'],
    ['a,b', '"a,b"'],
    ['a;b', '"a;b"'],
    ['say "a"', '"say ""a"""'],
    [' a', '" a"'],
    ['two\nlines', '"two\nlines"'],
    [['ROLE_ADMIN', 'ROLE_USER'], 'ROLE_ADMIN ROLE_USER'],
    ['Müller', 'Müller'],
  ])('writes %j as %j', (value, cell) => {
    expect(csvCell(value)).toBe(cell);
  });

  it('is part of a line, divided as spreadsheets in the language expect', () => {
    const line = (language: string) => csvLine(['id', null, 'a,b'], separatorIn(language));

    expect([line('en'), line('de')]).toEqual(['id,,"a,b"\r\n', 'id;;"a,b"\r\n']);
  });

  it('begins no formula for a spreadsheet that divides lines at other characters', () => {
    const part = fc.constantFrom(...',;\t\r\n"\' =+-@＝＋－＠ab');
    const text = fc.string({ unit: part, maxLength: 12 });
    fc.assert(
      fc.property(text, text, fc.constantFrom(',', ';'), (one, other, separator) => {
        const line = csvLine([one, 7, other], separator);
        for (const divider of [/,/, /;/, /\t/])
          for (const cell of line.split(/[\r\n]/).flatMap((each) => each.split(divider)))
            expect([line, cell]).not.toEqual([line, expect.stringMatching(/^"*[=+\-@＝＋－＠]/)]);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('a download', () => {
  const success = (data: number[], next?: Query): Answer<number[]> => ({
    ok: true,
    data,
    total: 3,
    etag: undefined,
    alert: undefined,
    links: next ? { next } : {},
  });
  const refused = (status: number): Answer<number[]> => ({
    ok: false,
    problem: { status, message: `error.http.${status}`, fieldErrors: [], retryAfterSeconds: 9 },
  });

  function download(answers: Answer<number[]>[], controller = new AbortController()) {
    const queries: Query[] = [];
    const progress: number[] = [];
    const waited: number[] = [];
    const result = csvOf<number>({
      heads: ['n'],
      cells: (row) => [row],
      separator: ',',
      query: { page: '7', cursor: 'x', 'login.contains': 'a' },
      load: async (query) => {
        queries.push(query);
        return answers.shift() ?? refused(500);
      },
      onProgress: (rows) => {
        progress.push(rows);
        if (rows >= 3) controller.abort();
      },
      signal: controller.signal,
      wait: async (seconds) => {
        waited.push(seconds);
      },
    });
    return { result, queries, progress, waited };
  }

  it('follows the pages of the filter from the first to the last', async () => {
    const { result, queries, progress } = download([success([1], { cursor: 'b' }), success([2])]);

    expect(await result).toEqual(['\uFEFFn\r\n', '1\r\n', '2\r\n']);
    expect(queries).toEqual([{ size: '100', 'login.contains': 'a' }, { cursor: 'b' }]);
    expect(progress).toEqual([1, 2]);
  });

  it('waits after 429 and requests the page again', async () => {
    const { result, waited } = download([refused(429), success([1])]);

    expect(await result).toHaveLength(2);
    expect(waited).toEqual([9]);
  });

  it('ends with the problem of another refusal', async () => {
    expect(await download([refused(400)]).result).toMatchObject({ status: 400 });
  });

  it('requests no further page and has no file when it is cancelled', async () => {
    const { result, queries } = download([success([1, 2, 3], { cursor: 'b' }), success([4])]);

    expect(await result).toBeUndefined();
    expect(queries).toHaveLength(1);
  });
});
