import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Answer } from '../api/request.ts';
import { type Links, type Query, rangeOf, type Sort, withChanges } from '../list.ts';
import { hereWith, query } from '../navigation.ts';
import { language, texts } from '../state.ts';
import { fill, type PluralForms, plural } from '../text.ts';
import { Download } from './download.tsx';
import { type Filter, Filters, SetFilters } from './filters.tsx';
import { Look, useLook } from './list-look.tsx';
import { useLoad } from './load.ts';
import { Alert, Waiting } from './problem.tsx';
import { Selected } from './selected.tsx';
import { type Column, Table } from './table.tsx';

export interface List<Row> {
  readonly title: string;
  readonly load: (query: Query) => Promise<Answer<readonly Row[]>>;
  readonly columns: readonly Column<Row>[];
  readonly filters: readonly Filter[];
  readonly rowKey: (row: Row) => string | number;
  readonly sort: Sort;
  readonly counted?: PluralForms;
  readonly empty: ComponentChildren;
  readonly file: string;
  readonly heads: readonly string[];
  readonly cells: (row: Row) => readonly unknown[];
  /** What can be done to several rows at once, and what a row is called. */
  readonly many?: {
    readonly nameOf: (row: Row) => string;
    readonly actions: (rows: readonly Row[], onDone: () => void) => ComponentChildren;
  };
  /** Filters of a list of its own kind, in the line of all filters. */
  readonly ranges?: ComponentChildren;
  /** Is told what the list shows; undefined while it loads, and if that fails. */
  readonly onShown?: (rows: readonly Row[] | undefined) => void;
  /** The key of the row whose details are shown over the end of the rows. */
  readonly chosen?: string | number | undefined;
  readonly details?: ComponentChildren;
}

const SIZE = 20;

/** A list with its filters, its order and its pages, all of which are in the address. */
export function DataList<Row>(list: List<Row>) {
  const { title, load, filters, rowKey, sort, counted, empty, onShown } = list;
  const t = texts();
  const { answer, loading, reload } = useLoad(JSON.stringify(query.value), () => load(query.value));
  const look = useLook(list.file);
  const [selected, setSelected] = useState<ReadonlyMap<string | number, Row>>(new Map());
  useEffect(
    () => onShown?.(answer?.ok && !loading ? answer.data : undefined),
    [answer, loading, onShown],
  );
  const rows = answer?.ok ? answer.data : [];
  const size = Number(query.value.size) || SIZE;
  const range = rangeOf(query.value, rows.length, size);
  const total = answer?.ok ? answer.total : undefined;
  const labels = Object.fromEntries(filters.map(({ name, label }) => [name, label]));
  const summary =
    total === undefined
      ? []
      : [
          range && (query.value.page || total > rows.length)
            ? fill(t.range, { from: range[0], to: range[1], total })
            : counted && plural(language.value, counted, total),
        ].filter(Boolean);
  const [first, ...others] = list.columns;
  const columns = first ? [first, ...others.filter(({ field }) => !look.hidden.has(field))] : [];
  return (
    <>
      <div class="toolbar">
        <Filters filters={filters} />
        {list.ranges}
        <Look columns={others} look={look} />
        {rows.length > 0 && <Download {...list} query={query.value} />}
        <div role="status" class="count">
          {summary.length > 0 && <p translate={false}>{summary.join(', ')}</p>}
        </div>
      </div>
      <SetFilters filters={filters} />
      {answer && !answer.ok && <Alert problem={answer.problem} labels={labels} onRetry={reload} />}
      {!answer && <Waiting />}
      {rows.length > 0 && (
        <div class="over">
          <div>
            <Table
              columns={columns}
              rows={rows}
              rowKey={rowKey}
              sort={sort}
              busy={loading}
              caption={title}
              comfortable={look.comfortable}
              chosen={list.chosen}
              selection={list.many && { selected, nameOf: list.many.nameOf, onSelect: setSelected }}
            />
          </div>
          {list.details}
        </div>
      )}
      {answer?.ok && rows.length === 0 && !answer.links.next && (
        <NothingThere>{empty}</NothingThere>
      )}
      {answer?.ok && rows.length === 0 && answer.links.next && <EmptyPage filters={filters} />}
      {answer?.ok && <Pager links={answer.links} />}
      {list.many && selected.size > 0 && (
        <Selected
          load={load}
          rowKey={rowKey}
          actions={list.many.actions}
          selected={selected}
          onSelect={setSelected}
          onDone={() => {
            setSelected(new Map());
            reload();
          }}
        />
      )}
    </>
  );
}

/** A later page is empty because the list has become shorter, or the address was edited. */
function NothingThere({ children }: { children: ComponentChildren }) {
  const t = texts();
  const isLater = Number(query.value.page ?? 0) > 0 || query.value.cursor !== undefined;
  if (!isLater) return <p class="card empty">{children}</p>;
  return (
    <p>
      {t.beyondEnd} <a href={hereWith(withChanges(query.value, {}))}>{t.first}</a>
    </p>
  );
}

/** A filter of a long list is applied step by step, and this step has found nothing. */
function EmptyPage({ filters }: { filters: readonly Filter[] }) {
  const t = texts();
  return (
    <p class="actions">
      {t.emptyPage}
      {filters.flatMap(({ name, exact = [] }) => {
        const value = query.value[name];
        if (!value) return [];
        return exact.map(([other, label]) => (
          <a key={other} href={hereWith(withChanges(query.value, { [name]: '', [other]: value }))}>
            {fill(t.exactly, { label, value })}
          </a>
        ));
      })}
    </p>
  );
}

function Pager({ links }: { links: Links }) {
  const t = texts();
  const steps = [
    ['first', t.first],
    ['prev', t.previous],
    ['next', t.next],
    ['last', t.last],
  ] as const;
  if (!links.next && !links.prev) return null;
  return (
    <nav class="pager" aria-label={t.pages}>
      <ul>
        {steps.map(
          ([relation, label]) =>
            links[relation] && (
              <li key={relation}>
                <a href={hereWith(links[relation])}>{label}</a>
              </li>
            ),
        )}
      </ul>
    </nav>
  );
}
