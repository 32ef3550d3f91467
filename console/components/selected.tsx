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
  const [busy, setBusy] = useState(false);
  const latest = useRef(selected);
  latest.current = selected;
  const reading = useRef<AbortController>(null);
  useEffect(
    () => () => {
      reading.current?.abort();
      reading.current = null;
    },
    [],
  );
  const selectAll = async () => {
    if (reading.current) return;
    const controller = new AbortController();
    reading.current = controller;
    setBusy(true);
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
    reading.current = null;
    setBusy(false);
    setProblem(refused);
    if (refused) return;
    // Rows can be selected and deselected while the others are read.
    for (const key of selected.keys()) if (!latest.current.has(key)) found.delete(key);
    onSelect(new Map([...found, ...latest.current]));
  };
  return (
    <section class="selected" aria-label={t.selection}>
      <p role="status" translate={false}>
        {fill(t.selected, { n: selected.size })}
      </p>
      {actions([...selected.values()], onDone)}
      <button type="button" aria-busy={busy} onClick={() => void selectAll()}>
        {busy ? `${t.waiting} …` : t.selectAll}
      </button>
      <button type="button" onClick={() => onSelect(new Map())}>
        {t.selectNone}
      </button>
      {problem && <Alert problem={problem} />}
    </section>
  );
}
