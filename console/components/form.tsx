import { type ComponentChildren, createContext, Fragment, type RefObject } from 'preact';
import { useContext, useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Problem } from '../api/request.ts';
import type { Draft } from '../drafts.ts';
import { errorsByField, fieldErrorText, fieldOfMessage, problemText } from '../form.ts';
import { notice, texts } from '../state.ts';
import { type Changes, type DraftOptions, dataOf, useChanges } from './changes.ts';
import { FieldContext } from './fields.tsx';
import { ProblemText } from './problem.tsx';

/** Saves the values, of which some were edited; the problem if that was refused. */
export type Save = (values: FormData, edited: ReadonlySet<string>) => Promise<Problem | undefined>;

interface ManagedBy {
  /** The name of the files that manage what forms inside change. */
  readonly by: string | undefined;
  /** Asks once before the first change. */
  readonly mayChange: () => Promise<boolean>;
}

export const UNMANAGED: ManagedBy = { by: undefined, mayChange: async () => true };
export const ManagedContext = createContext(UNMANAGED);

interface Properties {
  readonly onSave: Save;
  readonly submit: string;
  readonly children: ComponentChildren;
  /** Texts for messages that mean something particular here. */
  readonly texts?: Readonly<Record<string, string>>;
  readonly others?: ComponentChildren;
  /** Keeps changes for a reload, and asks before they are left; not for forms with a password. */
  readonly draft?: DraftOptions;
  /** Closes the form. What was typed is discarded. */
  readonly onClose?: () => void;
  /** Learns how to save the form while it has changes; returns a function that forgets it. */
  readonly registerSubmit?: (submit: Submit) => () => void;
  readonly danger?: boolean;
}

export type Submit = () => Promise<Problem | undefined>;

/** A form that is gone before its turn comes is not saved. */
const DISCARDED: Problem = { status: 0, message: 'discarded', fieldErrors: [] };

/** Its fields are never set again after they were shown first, so they keep what was typed. */
export function Form(properties: Properties) {
  const { submit: label, children, others, draft, onClose, danger = false } = properties;
  const id = useId();
  const form = useRef<HTMLFormElement>(null);
  const summary = useRef<HTMLDivElement>(null);
  const labels = useRef(new Map<string, string>()).current;
  const changes = useChanges(form, draft);
  const { edited, restored } = changes;
  const { problem, setProblem, onSubmit } = useSubmit(form, summary, changes, properties);
  const errors = errorTexts(problem, labels, properties.texts);
  const isChanged = edited.size > 0 || !!restored;
  const discard = () => {
    setProblem(undefined);
    changes.discard();
    onClose?.();
  };
  const onInput = () => {
    notice.value = '';
    changes.update();
  };
  return (
    <form ref={form} noValidate onSubmit={onSubmit} onInput={onInput}>
      <FieldContext.Provider value={{ id, labels, errors, edited }}>
        {problem && (
          <div class="notice refused" role="alert" tabIndex={-1} ref={summary}>
            <Summary
              problem={problem}
              errors={errors}
              labels={labels}
              id={id}
              texts={properties.texts}
            />
          </div>
        )}
        {restored && <Restored draft={restored} />}
        <Fragment key={changes.round}>{children}</Fragment>
      </FieldContext.Provider>
      <p class="actions">
        <button type="submit" class={danger ? 'danger' : 'primary'}>
          {label}
        </button>
        {(isChanged || onClose) && (
          <button type="button" onClick={discard}>
            {isChanged ? texts().discard : texts().cancel}
          </button>
        )}
        {others}
      </p>
    </form>
  );
}

/** Saves the form once at a time, and shows why that was refused. */
function useSubmit(
  form: RefObject<HTMLFormElement | null>,
  summary: RefObject<HTMLDivElement | null>,
  changes: Changes,
  { onSave, registerSubmit }: Properties,
) {
  const { mayChange } = useContext(ManagedContext);
  const saving = useRef<Promise<Problem | undefined>>(undefined);
  const focusesSummary = useRef(false);
  const [problem, setProblem] = useState<Problem>();
  const saveOnce: Submit = async () => {
    if (!form.current) return DISCARDED;
    const values = dataOf(form.current);
    const refused = await onSave(values, changes.editedIn(values));
    setProblem(refused);
    if (!refused) changes.saved(values);
    return refused;
  };
  const submit: Submit = () => {
    // A second Enter must not save twice, and a disabled button would lose the focus.
    saving.current ??= saveOnce().finally(() => {
      saving.current = undefined;
    });
    return saving.current;
  };
  const latest = useRef(submit);
  latest.current = submit;
  const isEdited = changes.edited.size > 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is registered calls the latest.
  useEffect(() => (isEdited ? registerSubmit?.(() => latest.current()) : undefined), [isEdited]);
  // Before painting: afterwards it would interrupt whoever types on, and the effect of the first
  // render, which may still be due, would cancel it.
  useLayoutEffect(() => {
    if (problem && focusesSummary.current) summary.current?.focus();
    focusesSummary.current = false;
  }, [problem, summary]);
  const onSubmit = async (event: Event) => {
    event.preventDefault();
    const isChange = changes.editedIn(dataOf(form.current)).size > 0;
    if (isChange && !(await mayChange())) return;
    focusesSummary.current = true;
    void submit();
  };
  return { problem, setProblem, onSubmit };
}

/** Says after a reload that nothing is saved, and what has to be typed again. */
function Restored({ draft }: { draft: Draft }) {
  const t = texts();
  return (
    <p class="notice">
      {t.restored} {Object.values(draft.typed).includes(null) && t.secretNotKept}
    </p>
  );
}

function errorTexts(
  problem: Problem | undefined,
  labels: ReadonlyMap<string, string>,
  own: Readonly<Record<string, string>> | undefined,
): ReadonlyMap<string, string> {
  const errors = new Map<string, string>();
  if (!problem) return errors;
  const t = texts();
  const shown = new Set(labels.keys());
  for (const [name, error] of errorsByField(problem, shown).byField)
    errors.set(name, fieldErrorText(error, t));
  const field = fieldOfMessage(problem, shown);
  if (field) errors.set(field, own?.[problem.message] ?? problemText(problem, t));
  return errors;
}

interface SummaryProperties {
  readonly problem: Problem;
  readonly errors: ReadonlyMap<string, string>;
  readonly labels: ReadonlyMap<string, string>;
  readonly id: string;
  readonly texts: Readonly<Record<string, string>> | undefined;
}

function Summary({ problem, errors, labels, id, texts: own }: SummaryProperties) {
  const t = texts();
  const { others } = errorsByField(problem, new Set(labels.keys()));
  const toField = (event: Event, name: string) => {
    event.preventDefault();
    document.getElementById(`${id}-${name}`)?.focus();
  };
  return (
    <>
      <h2>{t.errorSummary}</h2>
      {(errors.size === 0 || others.length > 0) && (
        <p>
          <ProblemText problem={problem} text={own?.[problem.message]} />
        </p>
      )}
      {errors.size + others.length > 0 && (
        <ul>
          {[...errors].map(([name, text]) => (
            <li key={name}>
              <a href={`#${id}-${name}`} onClick={(event) => toField(event, name)}>
                {labels.get(name)}: {text}
              </a>
            </li>
          ))}
          {others.map((error) => (
            <li key={error.field}>
              {error.field}: {fieldErrorText(error, t)}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
