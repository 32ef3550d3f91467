import type { ComponentChildren } from 'preact';
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
        <a href={hereWith(sortedBy(query.value, field, sort))}>{label}</a>
      </div>
    </th>
  );
}
