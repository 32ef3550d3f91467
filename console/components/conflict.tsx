import { useState } from 'preact/hooks';
import type { AuditEntry } from '../../examples/client/types.gen.ts';
import type { Answer } from '../api.ts';
import { type Difference, differences, merged } from '../conflict.ts';
import * as Operations from '../operations.ts';
import { isAdministrator, language, send, texts } from '../state.ts';
import { dateTime, fill } from '../text.ts';
import { Dialog } from './dialog.tsx';
import type { Clash, Editing } from './editing.ts';
import { useLoad } from './load.ts';
import { Alert } from './problem.tsx';

type Fields = Readonly<Record<string, unknown>>;

interface Properties<Entity extends object, T extends Fields> {
  readonly editing: Editing<Entity, T>;
  /** The target of the audit events of the entity. */
  readonly target: string;
  readonly show?: (field: string, value: unknown) => string;
}

/** Shows two changes of one entity, and lets somebody choose field by field. */
export function Conflict<Entity extends object, T extends Fields>(
  properties: Properties<Entity, T>,
) {
  const { clash } = properties.editing;
  return clash ? <Choices {...properties} clash={clash} /> : null;
}

function Choices<Entity extends object, T extends Fields>({
  editing,
  clash,
  target,
  show,
}: Properties<Entity, T> & { readonly clash: Clash<Entity, T> }) {
  const { labels, current, refused, resolve, discard, close } = editing;
  const t = texts();
  const [choices, setChoices] = useState<Readonly<Record<string, 'mine' | 'theirs'>>>({});
  const found = differences(Object.keys(labels), current.data, clash.mine, clash.theirs.data);
  return (
    <Dialog title={t.conflict} onClose={close}>
      <By target={target} />
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
          onClick={() => resolve(merged(clash.mine, found, choices))}
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

/** Whose change came between, from the audit trail, which administrators read. */
function By({ target }: { target: string }) {
  const t = texts();
  const query = { 'target.equals': target, size: 1 };
  const { answer } = useLoad(target, () =>
    isAdministrator() ? send(Operations.listAudits, { query }) : Promise.resolve(NOBODY),
  );
  const entry = answer?.ok ? answer.data[0] : undefined;
  const time = entry && dateTime(language.value, entry.time);
  return <p>{entry ? fill(t.conflictBy, { name: entry.actor, time }) : t.conflictUnknown}</p>;
}

const NOBODY: Answer<AuditEntry[]> = {
  ok: false,
  problem: { status: 403, message: 'error.http.403', fieldErrors: [] },
};

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
