import { useEffect, useRef, useState } from 'preact/hooks';
import { type Answer, type Problem, waitFor } from '../api/request.ts';
import { separatorIn } from '../csv.ts';
import { csvOf } from '../export.ts';
import type { Query } from '../list.ts';
import { language, texts } from '../state.ts';
import { fill } from '../text.ts';
import { Icon } from './icon.tsx';
import { Alert } from './problem.tsx';

interface Properties<Row> {
  readonly load: (query: Query) => Promise<Answer<readonly Row[]>>;
  readonly query: Query;
  readonly file: string;
  readonly heads: readonly string[];
  readonly cells: (row: Row) => readonly unknown[];
}

export function Download<Row>({ load, query, file, heads, cells }: Properties<Row>) {
  const t = texts();
  const [progress, setProgress] = useState<{ rows: number; total: number | undefined }>();
  const [problem, setProblem] = useState<Problem>();
  const running = useRef<AbortController>(null);
  useEffect(() => () => running.current?.abort(), []);

  const start = async () => {
    running.current = new AbortController();
    const { signal } = running.current;
    setProblem(undefined);
    setProgress({ rows: 0, total: undefined });
    const onProgress = (rows: number, total: number | undefined) => setProgress({ rows, total });
    const separator = separatorIn(language.value);
    const parts = await csvOf({
      heads,
      cells,
      separator,
      load,
      query,
      onProgress,
      signal,
      wait: waitFor,
    });
    if (signal.aborted) return;
    setProgress(undefined);
    if (Array.isArray(parts)) save(file, parts);
    else setProblem(parts);
  };
  const cancel = () => {
    running.current?.abort();
    setProgress(undefined);
  };
  return (
    <div class="actions">
      <button
        type="button"
        aria-label={progress ? undefined : t.csvLong}
        onClick={() => (progress ? cancel() : void start())}
      >
        <Icon name={progress ? 'cross' : 'download'} />
        <span>{progress ? t.csvCancel : t.csv}</span>
      </button>
      <div role="status">
        {progress && fill(t.csvProgress, { n: progress.rows, total: progress.total ?? '…' })}
      </div>
      {problem && <Alert problem={problem} />}
    </div>
  );
}

function save(file: string, parts: string[]): void {
  const url = URL.createObjectURL(new Blob(parts, { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = file;
  link.click();
  URL.revokeObjectURL(url);
}
