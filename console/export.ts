import type { Answer, Problem, Success } from './api/request.ts';
import { csvLine } from './csv.ts';
import type { Query } from './list.ts';

/** The rows of one request. Larger pages would spend the read budget of the account. */
const ROWS_PER_PAGE = '100';

interface Pages<Row> {
  readonly load: (query: Query) => Promise<Answer<readonly Row[]>>;
  readonly query: Query;
  /** Ends the reading before the next page. */
  readonly signal: AbortSignal;
  readonly wait: (seconds: number) => Promise<void>;
  readonly onPage: (page: Success<readonly Row[]>) => void;
}

/**
 * Reads all rows of a list, whatever its page, page by page. A page that is rejected because the
 * budget is spent is requested again. Returns why another one was rejected.
 */
export async function readPages<Row>(pages: Pages<Row>): Promise<Problem | undefined> {
  const { load, signal, wait, onPage } = pages;
  const { page: _page, cursor: _cursor, ...filter } = pages.query;
  let next: Query | undefined = { ...filter, size: ROWS_PER_PAGE };
  while (next && !signal.aborted) {
    const answer: Answer<readonly Row[]> = await load(next);
    if (signal.aborted) break;
    if (answer.ok) {
      onPage(answer);
      next = answer.links.next;
      continue;
    }
    const { status, retryAfterSeconds } = answer.problem;
    if (status !== 429) return answer.problem;
    await wait(retryAfterSeconds ?? 1);
  }
  return undefined;
}

interface Download<Row> extends Omit<Pages<Row>, 'onPage'> {
  readonly heads: readonly string[];
  readonly cells: (row: Row) => readonly unknown[];
  readonly separator: string;
  readonly onProgress: (rows: number, total: number | undefined) => void;
}

/** All rows of a list as the parts of a CSV file; undefined if the download was cancelled. */
export async function csvOf<Row>(download: Download<Row>): Promise<string[] | Problem | undefined> {
  const { heads, cells, separator, onProgress, signal } = download;
  // A byte order mark, without which spreadsheets read the file as another encoding.
  const parts = [`\uFEFF${csvLine(heads, separator)}`];
  let rows = 0;
  const onPage = ({ data, total }: Success<readonly Row[]>) => {
    parts.push(data.map((row) => csvLine(cells(row), separator)).join(''));
    rows += data.length;
    onProgress(rows, total);
  };
  const problem = await readPages({ ...download, onPage });
  return problem ?? (signal.aborted ? undefined : parts);
}
