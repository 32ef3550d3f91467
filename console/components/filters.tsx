import { useLayoutEffect, useRef } from 'preact/hooks';
import { filtersOf, withChanges } from '../list.ts';
import { hereWith, navigate, query } from '../navigation.ts';
import { language, texts } from '../state.ts';
import { boundOf, dateTime, dayOf, fill } from '../text.ts';
import { Icon } from './icon.tsx';

export interface Filter {
  readonly name: string;
  readonly label: string;
  readonly options?: readonly (readonly [value: string, label: string])[];
  /**
   * The field that everybody uses; options to choose with one click; a day in the zone of the
   * browser, from its beginning or to its end; or set by links only, and shown once it is set, as
   * it is or as an exact time. Otherwise it is offered behind a button.
   */
  readonly as?: 'search' | 'chips' | 'from' | 'until' | 'link' | 'instant';
  /** The filters that are answered at once in a list of any size, such as `login.equals`. */
  readonly exact?: readonly (readonly [name: string, label: string])[];
}

export function Filters({ filters }: { filters: readonly Filter[] }) {
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
    const entries = [...values.entries()].map(([name, value]) => {
      const [text, set] = [String(value).trim(), shown[name] ?? ''];
      // A link sets an exact time, of which the field shows the day.
      return [name, text === shownIn(filters, name, set) ? set : askedFor(filters, name, text)];
    });
    form.current?.querySelector('details')?.removeAttribute('open');
    void navigate(hereWith(withChanges(query.value, Object.fromEntries(entries))));
  };
  const more = filters.filter(({ as }) => !as || as === 'from' || as === 'until');
  return (
    <search>
      <form ref={form} aria-label={t.filter} onSubmit={onSubmit}>
        {filters
          .filter(({ as }) => as === 'search')
          .map(({ name, label }) => (
            <p class="find" key={name}>
              <Icon name="search" />
              <input
                name={name}
                type="text"
                aria-label={label}
                placeholder={label}
                autocomplete="off"
                spellcheck={false}
                onKeyDown={toRows}
              />
            </p>
          ))}
        {filters
          .filter(({ as }) => as === 'chips')
          .map((filter) => (
            <Chips key={filter.name} {...filter} />
          ))}
        {more.length > 0 && (
          <details class="menu">
            <summary class="brief">
              <Icon name="more" />
              <span>{t.moreFilters}</span>
            </summary>
            <div>
              {more.map((filter) => (
                <FilterField key={filter.name} {...filter} />
              ))}
              <button type="submit" class="primary">
                {t.applyFilter}
              </button>
            </div>
          </details>
        )}
      </form>
    </search>
  );
}

/** Down leads from the field to the first row. */
function toRows({ key, currentTarget }: KeyboardEvent): void {
  const list = key === 'ArrowDown' && (currentTarget as Element).closest('main');
  if (list) list.querySelector<HTMLElement>('tbody :is(input, a, button)')?.focus();
}

/** Options of which one click chooses one, and another one removes it. */
function Chips({ name, label, options = [] }: Filter) {
  const current = query.value[name];
  return (
    <ul class="chips" aria-label={label}>
      {options.map(([value, text]) => (
        <li key={value}>
          <a
            href={hereWith(withChanges(query.value, { [name]: current === value ? '' : value }))}
            aria-current={current === value ? 'true' : undefined}
          >
            {text}
          </a>
        </li>
      ))}
    </ul>
  );
}

const asOf = (filters: readonly Filter[], name: string): 'from' | 'until' | undefined => {
  const as = filters.find((filter) => filter.name === name)?.as;
  return as === 'from' || as === 'until' ? as : undefined;
};

/** What the field of a filter shows of its value. */
function shownIn(filters: readonly Filter[], name: string, value: string): string {
  const bound = asOf(filters, name);
  return bound && value ? dayOf(value, bound) : value;
}

/** The value of a filter for what its field shows. */
function askedFor(filters: readonly Filter[], name: string, value: string): string {
  const bound = asOf(filters, name);
  return bound && value ? boundOf(value, bound) : value;
}

function FilterField({ name, label, options, as }: Filter) {
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
          type={(as ? 'date' : 'text') as 'text'}
          autocomplete="off"
          spellcheck={false}
        />
      )}
    </p>
  );
}

export function SetFilters({ filters }: { filters: readonly Filter[] }) {
  const t = texts();
  const isChip = (name: string) =>
    filters.some((filter) => filter.name === name && filter.as === 'chips');
  const all = filtersOf(query.value);
  const set = all.filter(([name]) => !isChip(name));
  if (set.length === 0) return null;
  const textOf = (name: string, value: string): string => {
    const filter = filters.find((known) => known.name === name);
    const exact = filters.flatMap((known) => known.exact ?? []).find(([known]) => known === name);
    const option = filter?.options?.find(([known]) => known === value)?.[1];
    const label = filter?.label ?? exact?.[1] ?? name;
    const time = filter?.as === 'instant' && Date.parse(value);
    if (time) return `${label}: ${dateTime(language.value, value)}`;
    return `${label}: ${option ?? shownIn(filters, name, value)}`;
  };
  const rest = Object.fromEntries(all.map(([name]) => [name, '']));
  return (
    <ul class="chips set" aria-label={t.filtersSet} translate={false}>
      {set.map(([name, value]) => (
        <li key={name}>
          <a
            href={hereWith(withChanges(query.value, { [name]: '' }))}
            aria-label={fill(t.removeFilter, { name: textOf(name, value) })}
          >
            {textOf(name, value)} <Icon name="cross" />
          </a>
        </li>
      ))}
      {all.length > 1 && (
        <li>
          <a href={hereWith(withChanges(query.value, rest))}>{t.clearFilter}</a>
        </li>
      )}
    </ul>
  );
}
