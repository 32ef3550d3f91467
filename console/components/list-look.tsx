import { useState } from 'preact/hooks';
import { texts } from '../state.ts';
import { Icon } from './icon.tsx';
import type { Column } from './table.tsx';

interface ChosenLook {
  readonly hidden: ReadonlySet<string>;
  readonly comfortable: boolean;
  readonly choose: (hidden: ReadonlySet<string>, comfortable: boolean) => void;
}

export function useLook(list: string): ChosenLook {
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

export function Look<Row>({
  columns,
  look,
}: {
  columns: readonly Column<Row>[];
  look: ChosenLook;
}) {
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
