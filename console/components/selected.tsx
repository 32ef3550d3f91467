import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Answer, type Problem, waitFor } from '../api/request.ts';
import { readPages } from '../export.ts';
import type { Query } from '../list.ts';
import { query } from '../navigation.ts';
import { texts } from '../state.ts';
import { fill } from '../text.ts';
import { Alert } from './problem.tsx';

interface SelectedProperties<Row> {
  readonly load: (query: Query) => Promise<Answer<readonly Row[]>>;
  readonly rowKey: (row: Row) => string | number;
  readonly actions: (rows: readonly Row[], onDone: () => void) => ComponentChildren;
  readonly selected: ReadonlyMap<string | number, Row>;
  readonly onSelect: (selected: ReadonlyMap<string | number, Row>) => void;
  readonly onDone: () => void;
}

/** So many rows are changed at once at most. */
const SELECTED_MAX = 1000;

/** What can be done to the rows that are selected, also on other pages. */
export function Selected<Row>(properties: SelectedProperties<Row>) {
  const { load, rowKey, actions, selected, onSelect, onDone } = properties;
  const t = texts();
  const [problem, setProblem] = useState<Problem>();
  const reading = useRef<AbortController>(null);
  useEffect(
    () => () => {
      reading.current?.abort();
      reading.current = null;
    },
    [],
  );
  const selectAll = async () => {
    const controller = new AbortController();
    reading.current = controller;
    const found = new Map(selected);
    const refused = await readPages({
      load,
      query: query.value,
      signal: controller.signal,
      wait: waitFor,
      onPage: ({ data }) => {
        for (const row of data) if (found.size < SELECTED_MAX) found.set(rowKey(row), row);
        if (found.size >= SELECTED_MAX) controller.abort();
      },
    });
    // The selection was cleared meanwhile.
    if (reading.current !== controller) return;
    setProblem(refused);
    if (!refused) onSelect(found);
  };
  return (
    <section class="selected" aria-label={t.selection}>
      <p role="status" translate={false}>
        {fill(t.selected, { n: selected.size })}
      </p>
      {actions([...selected.values()], onDone)}
      <button type="button" onClick={() => void selectAll()}>
        {t.selectAll}
      </button>
      <button type="button" onClick={() => onSelect(new Map())}>
        {t.selectNone}
      </button>
      {problem && <Alert problem={problem} />}
    </section>
  );
}
