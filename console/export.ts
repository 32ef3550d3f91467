import type { Answer, Problem } from './api/request.ts';
import { csvLine } from './csv.ts';
import type { Query } from './list.ts';

/** The rows of one request. Larger pages would spend the read budget of the account. */
const ROWS_PER_PAGE = '100';

interface Download<Row> {
  readonly heads: readonly string[];
  readonly cells: (row: Row) => readonly unknown[];
  readonly separator: string;
  readonly load: (query: Query) => Promise<Answer<readonly Row[]>>;
  readonly query: Query;
  readonly onProgress: (rows: number, total: number | undefined) => void;
  readonly signal: AbortSignal;
  readonly wait: (seconds: number) => Promise<void>;
}

/**
 * All rows of a list as the parts of a CSV file, page by page. A page that is rejected because the
 * budget is spent is requested again; undefined if the download was cancelled.
 */
export async function csvOf<Row>(download: Download<Row>): Promise<string[] | Problem | undefined> {
  const { heads, cells, separator, load, onProgress, signal, wait } = download;
  // A byte order mark, without which spreadsheets read the file as another encoding.
  const parts = [`\uFEFF${csvLine(heads, separator)}`];
  let rows = 0;
  const { page: _page, cursor: _cursor, ...filter } = download.query;
  let next: Query | undefined = { ...filter, size: ROWS_PER_PAGE };
  while (next) {
    const answer: Answer<readonly Row[]> = await load(next);
    if (signal.aborted) return undefined;
    if (!answer.ok) {
      const { status, retryAfterSeconds } = answer.problem;
      if (status !== 429) return answer.problem;
      await wait(retryAfterSeconds ?? 1);
      if (signal.aborted) return undefined;
      continue;
    }
    parts.push(answer.data.map((row) => csvLine(cells(row), separator)).join(''));
    rows += answer.data.length;
    onProgress(rows, answer.total);
    next = answer.links.next;
  }
  return parts;
}
