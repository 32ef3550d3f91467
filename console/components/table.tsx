import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { type Sort, sortedBy, sortOf } from '../list.ts';
import { hereWith, query } from '../navigation.ts';
import { texts } from '../state.ts';
import { fill } from '../text.ts';

export interface Column<Row> {
  readonly field: string;
  readonly label: string;
  readonly cell: (row: Row) => ComponentChildren;
  readonly sortable?: boolean;
  /** Of what has about one length; the other columns share the rest. */
  readonly width?: 'w4' | 'w6' | 'w8' | 'w12' | 'w14';
  /** Where there is no room for all columns, those with the highest rank are hidden first. */
  readonly rank?: 1 | 2 | 3;
}

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
  const last = useRef<string | number>(undefined);
  const toggled = (row: Row, isSelected: boolean, isRange: boolean) => {
    const next = new Map(selection?.selected);
    const to = rows.indexOf(row);
    const from = isRange ? rows.findIndex((other) => rowKey(other) === last.current) : to;
    for (const each of from < 0 ? [row] : rows.slice(Math.min(from, to), Math.max(from, to) + 1))
      if (isSelected) next.set(rowKey(each), each);
      else next.delete(rowKey(each));
    last.current = rowKey(row);
    selection?.onSelect(next);
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveElementInteractions: the check boxes have the focus.
    <table
      aria-busy={busy}
      class={comfortable ? 'lines comfortable' : 'lines'}
      onKeyDown={selection && moveFocus}
    >
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
                  onClick={({ currentTarget, shiftKey }) =>
                    toggled(row, currentTarget.checked, shiftKey)
                  }
                />
              </td>
            )}
            {columns.map((column, index) =>
              index === 0 ? (
                <th scope="row" key={column.field}>
                  <div>{column.cell(row)}</div>
                </th>
              ) : (
                <td
                  key={column.field}
                  class={classOf(column)}
                  data-label={column.label || undefined}
                >
                  <div>{column.cell(row)}</div>
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Moves the focus between the check boxes of the rows. */
function moveFocus(event: KeyboardEvent): void {
  const table = event.currentTarget as HTMLTableElement;
  const boxes = [...table.querySelectorAll<HTMLElement>('tbody td > [type=checkbox]')];
  const at = boxes.indexOf(event.target as HTMLElement);
  const to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: boxes.length - 1 }[event.key];
  if (at < 0 || to === undefined) return;
  event.preventDefault();
  boxes[to]?.focus();
}

const classOf = ({ width, rank }: Pick<Column<never>, 'width' | 'rank'>): string | undefined =>
  [width, rank && `r${rank}`].filter(Boolean).join(' ') || undefined;

function Head<Row>({ column, sort }: { column: Column<Row>; sort: Sort | undefined }) {
  const { field, label, sortable } = column;
  if (!sort || !sortable)
    return label ? (
      <th scope="col" class={classOf(column)}>
        <div>{label}</div>
      </th>
    ) : (
      <td class={classOf(column)} />
    );
  const current = sortOf(query.value, sort);
  const direction = current.descending ? 'descending' : 'ascending';
  return (
    <th
      scope="col"
      class={classOf(column)}
      aria-sort={current.field === field ? direction : 'none'}
    >
      <div>
        <a href={hereWith(sortedBy(query.value, field, sort))}>{label}</a>
      </div>
    </th>
  );
}
