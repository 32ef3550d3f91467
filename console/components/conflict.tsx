import { useState } from 'preact/hooks';
import { type Difference, differences, merged } from '../conflict.ts';
import { isAdministrator, language, send, texts } from '../state.ts';
import { dateTime, fill } from '../text.ts';
import { Dialog } from './dialog.tsx';
import type { EditConflict, Editing } from './editing.ts';
import { useLoad } from './load.ts';
import { Alert } from './problem.tsx';

type Fields = Readonly<Record<string, unknown>>;

interface Properties<Entity extends object, T extends Fields> {
  readonly editing: Editing<Entity, T>;
  /** The target of the audit events of the entity. */
  readonly target: string;
  readonly show?: (field: string, value: unknown) => string;
}

export function Conflict<Entity extends object, T extends Fields>(
  properties: Properties<Entity, T>,
) {
  const { conflict } = properties.editing;
  return conflict ? <Choices {...properties} conflict={conflict} /> : null;
}

function Choices<Entity extends object, T extends Fields>({
  editing,
  conflict,
  target,
  show,
}: Properties<Entity, T> & { readonly conflict: EditConflict<Entity, T> }) {
  const { labels, current, refused, resolve, discard, close } = editing;
  const t = texts();
  const [choices, setChoices] = useState<Readonly<Record<string, 'mine' | 'theirs'>>>({});
  const found = differences(Object.keys(labels), current.data, conflict.mine, conflict.theirs.data);
  return (
    <Dialog title={t.conflict} onClose={close}>
      {isAdministrator() ? (
        <LastChange key={conflict.theirs.etag} target={target} />
      ) : (
        <p>{t.conflictUnknown}</p>
      )}
      {refused && <Alert problem={refused} />}
      <p>{found.length > 0 ? t.conflictChoose : t.conflictSame}</p>
      {found.map((difference) => (
        <Choice
          key={difference.field}
          label={labels[difference.field] ?? difference.field}
          difference={difference}
          show={show}
          chosen={choices[difference.field] ?? difference.keep}
          onChoose={(side) => setChoices({ ...choices, [difference.field]: side })}
        />
      ))}
      <p class="actions">
        <button
          type="button"
          class="primary"
          onClick={() => resolve(merged(conflict.mine, found, choices))}
        >
          {t.conflictSave}
        </button>
        <button type="button" onClick={discard}>
          {t.conflictTheirs}
        </button>
        <button type="button" onClick={close}>
          {t.cancel}
        </button>
      </p>
    </Dialog>
  );
}

/** The target has other entries as well, such as the log-ins of a user. */
const UPDATES = 'user.updated,account.updated,integration.updated,parameter.updated';

function LastChange({ target }: { target: string }) {
  const t = texts();
  const query = { 'target.equals': target, 'action.in': UPDATES, size: 1 };
  const { answer } = useLoad(target, () => send('GET /api/audits', { query }));
  const entry = answer?.ok ? answer.data[0] : undefined;
  const time = entry && dateTime(language.value, entry.time);
  return <p>{entry ? fill(t.conflictBy, { name: entry.actor, time }) : t.conflictUnknown}</p>;
}

interface ChoiceProperties {
  readonly label: string;
  readonly difference: Difference;
  readonly show: ((field: string, value: unknown) => string) | undefined;
  readonly chosen: 'mine' | 'theirs';
  readonly onChoose: (side: 'mine' | 'theirs') => void;
}

function Choice({ label, difference, show, chosen, onChoose }: ChoiceProperties) {
  const t = texts();
  const { field, base } = difference;
  const shown = (value: unknown): string => show?.(field, value) ?? (String(value ?? '') || '–');
  const sides = [
    ['theirs', t.theirs],
    ['mine', t.mine],
  ] as const;
  return (
    <fieldset>
      <legend>{label}</legend>
      <p class="hint">
        {t.before}: {shown(base)}
      </p>
      {sides.map(([side, text]) => (
        <p class="field check" key={side}>
          <input
            type="radio"
            id={`conflict-${field}-${side}`}
            name={`conflict-${field}`}
            checked={chosen === side}
            onChange={() => onChoose(side)}
          />
          <label for={`conflict-${field}-${side}`}>
            {text}: {shown(difference[side])}
          </label>
        </p>
      ))}
    </fieldset>
  );
}
