import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Answer, Problem } from '../api/request.ts';
import {
  type Links,
  type Query,
  rangeOf,
  type Sort,
  sortedBy,
  sortOf,
  withFilter,
} from '../list.ts';
import { path, query } from '../navigation.ts';
import { withQuery } from '../route.ts';
import { language, texts } from '../state.ts';
import { fill, type PluralForms, plural } from '../text.ts';
import { Download } from './download.tsx';
import { type Filter, Filters, SetFilters } from './filters.tsx';
import { Icon } from './icon.tsx';
import { useLoad } from './load.ts';
import { Alert, Waiting } from './problem.tsx';

export interface Column<Row> {
  readonly field: string;
  readonly label: string;
  readonly cell: (row: Row) => ComponentChildren;
  readonly sortable?: boolean;
  /** Of what has about one length; the other columns share the rest. */
  readonly width?: 'w4' | 'w6' | 'w8' | 'w12' | 'w14';
}

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
  /** The key of the row whose details are shown beside the list. */
  readonly chosen?: string | number | undefined;
  readonly beside?: ComponentChildren;
}

const SIZE = 20;

/** A list with its filters, its order and its pages, all of which are in the address. */
export function DataList<Row>(list: List<Row>) {
  const { title, load, filters, rowKey, sort, counted, empty } = list;
  const t = texts();
  const { answer, loading, reload } = useLoad(JSON.stringify(query.value), () => load(query.value));
  const look = useLook(list.file);
  const [selected, setSelected] = useState<ReadonlyMap<string | number, Row>>(new Map());
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
        <div class={list.beside ? 'columns' : undefined}>
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
          {list.beside}
        </div>
      )}
      {answer?.ok && rows.length === 0 && !answer.links.next && (
        <NothingThere>{empty}</NothingThere>
      )}
      {answer?.ok && rows.length === 0 && answer.links.next && <EmptyPage filters={filters} />}
      {answer?.ok && <Pager links={answer.links} />}
      {list.many && selected.size > 0 && (
        <Selected
          list={list}
          many={list.many}
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

interface SelectedProperties<Row> {
  readonly list: List<Row>;
  readonly many: NonNullable<List<Row>['many']>;
  readonly selected: ReadonlyMap<string | number, Row>;
  readonly onSelect: (selected: ReadonlyMap<string | number, Row>) => void;
  readonly onDone: () => void;
}

/** So many rows are changed at once at most. */
const SELECTED_MAX = 1000;

/** What can be done to the rows that are selected, also on other pages. */
function Selected<Row>({ list, many, selected, onSelect, onDone }: SelectedProperties<Row>) {
  const t = texts();
  const [problem, setProblem] = useState<Problem>();
  const selectAll = async () => {
    const found = new Map(selected);
    const { page: _page, cursor: _cursor, ...filter } = query.value;
    let next: Query | undefined = { ...filter, size: '100' };
    while (next && found.size < SELECTED_MAX) {
      const answer: Answer<readonly Row[]> = await list.load(next);
      if (!answer.ok) return setProblem(answer.problem);
      for (const row of answer.data) found.set(list.rowKey(row), row);
      next = answer.links.next;
    }
    setProblem(undefined);
    onSelect(found);
  };
  return (
    <section class="selected" aria-label={t.selection}>
      <p role="status" translate={false}>
        {fill(t.selected, { n: selected.size })}
      </p>
      {many.actions([...selected.values()], onDone)}
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

/** A later page is empty because the list has become shorter, or the address was edited. */
function NothingThere({ children }: { children: ComponentChildren }) {
  const t = texts();
  const isLater = Number(query.value.page ?? 0) > 0 || query.value.cursor !== undefined;
  if (!isLater) return <p>{children}</p>;
  return (
    <p>
      {t.beyondEnd} <a href={to(withFilter(query.value, {}))}>{t.first}</a>
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
          <a key={other} href={to(withFilter(query.value, { [name]: '', [other]: value }))}>
            {fill(t.exactly, { label, value })}
          </a>
        ));
      })}
    </p>
  );
}

const to = (target: Query): string => withQuery(path.value, target);

/** What somebody has chosen to see of a list, kept in this browser. */
interface ChosenLook {
  readonly hidden: ReadonlySet<string>;
  readonly comfortable: boolean;
  readonly choose: (hidden: ReadonlySet<string>, comfortable: boolean) => void;
}

function useLook(list: string): ChosenLook {
  const key = `gatehouse.list.${list}`;
  const [kept, setKept] = useState(() => (localStorage.getItem(key) ?? '').split(' '));
  const [density, ...hidden] = kept;
  const choose: ChosenLook['choose'] = (fields, comfortable) => {
    const next = [comfortable ? 'comfortable' : 'compact', ...fields];
    localStorage.setItem(key, next.join(' '));
    setKept(next);
  };
  return { hidden: new Set(hidden), comfortable: density === 'comfortable', choose };
}

function Look<Row>({ columns, look }: { columns: readonly Column<Row>[]; look: ChosenLook }) {
  const t = texts();
  const { hidden, comfortable, choose } = look;
  const toggled = (field: string): ReadonlySet<string> =>
    hidden.has(field)
      ? new Set([...hidden].filter((each) => each !== field))
      : new Set([...hidden, field]);
  return (
    <details class="menu">
      <summary class="brief">
        <Icon name="columns" />
        <span>{t.columns}</span>
      </summary>
      <div>
        {columns.map(({ field, label }) => (
          <Choice
            key={field}
            label={label}
            checked={!hidden.has(field)}
            onChange={() => choose(toggled(field), comfortable)}
          />
        ))}
        <hr />
        <Choice
          label={t.comfortable}
          checked={comfortable}
          onChange={() => choose(hidden, !comfortable)}
        />
      </div>
    </details>
  );
}

interface ChoiceProperties {
  readonly label: string;
  readonly checked: boolean;
  readonly onChange: () => void;
}

const Choice = ({ label, checked, onChange }: ChoiceProperties) => (
  <label class="check">
    <input type="checkbox" checked={checked} onChange={onChange} />
    {label}
  </label>
);

interface TableProperties<Row> {
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string | number;
  readonly caption: string;
  readonly sort?: Sort;
  readonly busy?: boolean;
  readonly comfortable?: boolean;
  readonly chosen?: string | number | undefined;
  readonly selection?: Selection<Row> | undefined;
}

interface Selection<Row> {
  readonly selected: ReadonlyMap<string | number, Row>;
  readonly nameOf: (row: Row) => string;
  readonly onSelect: (selected: ReadonlyMap<string | number, Row>) => void;
}

/** The first column names the row. On a narrow screen each row becomes a block with labels. */
export function Table<Row>(properties: TableProperties<Row>) {
  const { columns, rows, rowKey, caption, sort, busy = false, comfortable = false } = properties;
  const { chosen, selection } = properties;
  const toggled = (row: Row, isSelected: boolean) => {
    const next = new Map(selection?.selected);
    if (isSelected) next.set(rowKey(row), row);
    else next.delete(rowKey(row));
    selection?.onSelect(next);
  };
  return (
    <table aria-busy={busy} class={comfortable ? 'lines comfortable' : 'lines'}>
      <caption>{caption}</caption>
      <thead>
        <tr>
          {selection && <td class="w2" />}
          {columns.map((column) => (
            <Head key={column.field} column={column} sort={sort} />
          ))}
        </tr>
      </thead>
      <tbody translate={false}>
        {rows.map((row) => (
          <tr key={rowKey(row)} class={chosen === rowKey(row) ? 'chosen' : undefined}>
            {selection && (
              <td>
                <input
                  type="checkbox"
                  aria-label={fill(texts().select, { name: selection.nameOf(row) })}
                  checked={selection.selected.has(rowKey(row))}
                  onChange={({ currentTarget }) => toggled(row, currentTarget.checked)}
                />
              </td>
            )}
            {columns.map(({ field, label, cell, width }, index) =>
              index === 0 ? (
                <th scope="row" key={field}>
                  <div>{cell(row)}</div>
                </th>
              ) : (
                <td key={field} class={width} data-label={label || undefined}>
                  <div>{cell(row)}</div>
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Head<Row>({ column, sort }: { column: Column<Row>; sort: Sort | undefined }) {
  const { field, label, sortable, width } = column;
  if (!sort || !sortable)
    return label ? (
      <th scope="col" class={width}>
        <div>{label}</div>
      </th>
    ) : (
      <td class={width} />
    );
  const current = sortOf(query.value, sort);
  const direction = current.descending ? 'descending' : 'ascending';
  return (
    <th scope="col" class={width} aria-sort={current.field === field ? direction : 'none'}>
      <div>
        <a href={to(sortedBy(query.value, field, sort))}>{label}</a>
      </div>
    </th>
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
                <a href={to(links[relation])}>{label}</a>
              </li>
            ),
        )}
      </ul>
    </nav>
  );
}
