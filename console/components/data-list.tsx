import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Answer } from '../api/request.ts';
import {
  filtersOf,
  type Links,
  type Query,
  rangeOf,
  type Sort,
  sortedBy,
  sortOf,
  withFilter,
} from '../list.ts';
import { navigate, path, query } from '../navigation.ts';
import { withQuery } from '../route.ts';
import { language, texts } from '../state.ts';
import { boundOf, dayOf, fill, type PluralForms, plural } from '../text.ts';
import { Download } from './download.tsx';
import { useLoad } from './load.ts';
import { Alert, Waiting } from './problem.tsx';

export interface Column<Row> {
  readonly field: string;
  readonly label: string;
  readonly cell: (row: Row) => ComponentChildren;
  readonly sortable?: boolean;
  /** Has words of the console only, which are not divided; what people type has any length. */
  readonly words?: true;
}

export interface Filter {
  /** A filter of the API, such as `login.contains`. */
  readonly name: string;
  readonly label: string;
  readonly options?: readonly (readonly [value: string, label: string])[];
  /** A day in the zone of the browser: from its beginning, or to its end. */
  readonly type?: 'from' | 'until';
  /** Is set by links only, and shown once it is set. */
  readonly hidden?: true;
  /** The filter that is answered at once in a list of any size, such as `login.equals`. */
  readonly exact?: string;
}

interface Properties<Row> {
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
}

const SIZE = 20;

/** A list with its filters, its order and its pages, all of which are in the address. */
export function DataList<Row>(properties: Properties<Row>) {
  const { title, load, columns, filters, rowKey, sort, counted, empty } = properties;
  const t = texts();
  const { answer, loading, reload } = useLoad(JSON.stringify(query.value), () => load(query.value));
  const rows = answer?.ok ? answer.data : [];
  const size = Number(query.value.size) || SIZE;
  const range = rangeOf(query.value, rows.length, size);
  const total = answer?.ok ? answer.total : undefined;
  const labels = Object.fromEntries(filters.map(({ name, label }) => [name, label]));
  const summary =
    total === undefined
      ? []
      : [
          counted && plural(language.value, counted, total),
          range && fill(t.range, { from: range[0], to: range[1], total }),
        ].filter(Boolean);
  return (
    <>
      <FilterForm filters={filters} />
      <SetFilters filters={filters} />
      <div role="status">{summary.length > 0 && <p translate={false}>{summary.join(', ')}</p>}</div>
      {answer && !answer.ok && <Alert problem={answer.problem} labels={labels} onRetry={reload} />}
      {!answer && <Waiting />}
      {rows.length > 0 && (
        <Table
          columns={columns}
          rows={rows}
          rowKey={rowKey}
          sort={sort}
          busy={loading}
          caption={title}
        />
      )}
      {answer?.ok && rows.length === 0 && !answer.links.next && (
        <NothingThere>{empty}</NothingThere>
      )}
      {answer?.ok && rows.length === 0 && answer.links.next && <EmptyPage filters={filters} />}
      {answer?.ok && <Pager links={answer.links} />}
      {rows.length > 0 && <Download {...properties} query={query.value} />}
    </>
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
    <p>
      {t.emptyPage}{' '}
      {filters.map(({ name, exact }) => {
        const value = query.value[name];
        return (
          exact &&
          value && (
            <a key={name} href={to(withFilter(query.value, { [name]: '', [exact]: value }))}>
              {fill(t.exactly, { value })}
            </a>
          )
        );
      })}
    </p>
  );
}

const to = (target: Query): string => withQuery(path.value, target);

function FilterForm({ filters }: { filters: readonly Filter[] }) {
  const t = texts();
  const form = useRef<HTMLFormElement>(null);
  const shown = query.value;
  // The fields show what is set, also after Back. Only a navigation sets them: a list that arrives
  // must not remove what was typed.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a signal has another value after each.
  useLayoutEffect(() => {
    const fields = form.current?.querySelectorAll<HTMLInputElement | HTMLSelectElement>(
      'input, select',
    );
    for (const field of fields ?? [])
      field.value = shownIn(filters, field.name, shown[field.name] ?? '');
  }, [shown]);
  const onSubmit = (event: Event) => {
    event.preventDefault();
    const values = new FormData(form.current ?? undefined);
    const entries = [...values.entries()].map(([name, value]) => [
      name,
      askedFor(filters, name, String(value).trim()),
    ]);
    void navigate(to(withFilter(query.value, Object.fromEntries(entries))));
  };
  return (
    <search class="filter">
      <form ref={form} aria-label={t.filter} onSubmit={onSubmit}>
        {filters
          .filter(({ hidden }) => !hidden)
          .map((filter) => (
            <FilterField key={filter.name} {...filter} />
          ))}
        <p>
          <button type="submit">{t.applyFilter}</button>
        </p>
      </form>
    </search>
  );
}

const typeOf = (filters: readonly Filter[], name: string) =>
  filters.find((filter) => filter.name === name)?.type;

/** What the field of a filter shows of its value. */
function shownIn(filters: readonly Filter[], name: string, value: string): string {
  const type = typeOf(filters, name);
  return type && value ? dayOf(value, type) : value;
}

/** The value of a filter for what its field shows. */
function askedFor(filters: readonly Filter[], name: string, value: string): string {
  const type = typeOf(filters, name);
  return type && value ? boundOf(value, type) : value;
}

function FilterField({ name, label, options, type }: Omit<Filter, 'hidden'>) {
  const id = `filter-${name}`;
  return (
    <p class="field">
      <label for={id}>{label}</label>
      {options ? (
        <select id={id} name={name}>
          {[['', texts().any] as const, ...options].map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          name={name}
          type={(type ? 'date' : 'text') as 'text'}
          autocomplete="off"
          spellcheck={false}
        />
      )}
    </p>
  );
}

function SetFilters({ filters }: { filters: readonly Filter[] }) {
  const t = texts();
  const set = filtersOf(query.value);
  if (set.length === 0) return null;
  const textOf = (name: string, value: string): string => {
    const filter = filters.find((known) => known.name === name || known.exact === name);
    const option = filter?.options?.find(([known]) => known === value)?.[1];
    return `${filter?.label ?? name}: ${option ?? shownIn(filters, name, value)}`;
  };
  const rest = Object.fromEntries(set.map(([name]) => [name, '']));
  return (
    <ul class="chips" aria-label={t.filtersSet}>
      {set.map(([name, value]) => (
        <li key={name}>
          <a
            href={to(withFilter(query.value, { [name]: '' }))}
            aria-label={fill(t.removeFilter, { name: textOf(name, value) })}
          >
            {textOf(name, value)} <span aria-hidden="true">✕</span>
          </a>
        </li>
      ))}
      {set.length > 1 && (
        <li>
          <a href={to(withFilter(query.value, rest))}>{t.clearFilter}</a>
        </li>
      )}
    </ul>
  );
}

interface TableProperties<Row> {
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string | number;
  readonly caption: string;
  readonly sort?: Sort;
  readonly busy?: boolean;
}

/** The first column names the row. On a narrow screen each row becomes a block with labels. */
export function Table<Row>(properties: TableProperties<Row>) {
  const { columns, rows, rowKey, caption, sort, busy = false } = properties;
  return (
    <table aria-busy={busy}>
      <caption>{caption}</caption>
      <thead>
        <tr>
          {columns.map((column) => (
            <Head key={column.field} column={column} sort={sort} />
          ))}
        </tr>
      </thead>
      <tbody translate={false}>
        {rows.map((row) => (
          <tr key={rowKey(row)}>
            {columns.map(({ field, label, cell, words }, index) =>
              index === 0 ? (
                <th scope="row" key={field}>
                  {cell(row)}
                </th>
              ) : (
                <td key={field} class={words && 'words'} data-label={label || undefined}>
                  {cell(row)}
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
  const { field, label, sortable } = column;
  if (!sort || !sortable) return label ? <th scope="col">{label}</th> : <td />;
  const current = sortOf(query.value, sort);
  const direction = current.descending ? 'descending' : 'ascending';
  return (
    <th scope="col" aria-sort={current.field === field ? direction : 'none'}>
      <a href={to(sortedBy(query.value, field, sort))}>{label}</a>
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
