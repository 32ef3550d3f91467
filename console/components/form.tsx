import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Problem } from '../api/request.ts';
import {
  editedFields,
  errorsByField,
  fieldErrorText,
  fieldOfMessage,
  problemText,
} from '../form.ts';
import { watchUnsaved } from '../navigation.ts';
import { notice, texts } from '../state.ts';
import { fill } from '../text.ts';
import { ProblemText } from './problem.tsx';

interface FormContext {
  readonly id: string;
  /** The labels of the fields by name, for the summary. */
  readonly labels: Map<string, string>;
  readonly errors: ReadonlyMap<string, string>;
}

const Context = createContext<FormContext>({ id: '', labels: new Map(), errors: new Map() });

/** Saves the values, of which some were edited; the problem if that was refused. */
export type Save = (values: FormData, edited: ReadonlySet<string>) => Promise<Problem | undefined>;

interface Properties {
  readonly onSave: Save;
  readonly submit: string;
  readonly children: ComponentChildren;
  /** Texts for messages that mean something particular here. */
  readonly texts?: Readonly<Record<string, string>>;
  /** Buttons beside the one that saves. */
  readonly others?: ComponentChildren;
  /** Leaving with changes asks, unless there is nothing to lose, as with a password. */
  readonly guarded?: boolean;
  readonly danger?: boolean;
}

/**
 * A form whose fields keep what was typed: they are never set again after they were shown first,
 * so neither a refusal nor a render changes them.
 */
export function Form(properties: Properties) {
  const { onSave, submit, children, others, guarded = false, danger = false } = properties;
  const id = useId();
  const form = useRef<HTMLFormElement>(null);
  const summary = useRef<HTMLDivElement>(null);
  const labels = useRef(new Map<string, string>()).current;
  const initial = useRef(new FormData());
  const saving = useRef(false);
  const [problem, setProblem] = useState<Problem>();
  const errors = errorTexts(problem, labels, properties.texts);

  // Before the page is painted: nothing can be typed earlier.
  useLayoutEffect(() => {
    initial.current = dataOf(form.current);
    if (!guarded) return;
    return watchUnsaved(() => editedFields(initial.current, dataOf(form.current)).size > 0);
  }, [guarded]);
  useEffect(() => {
    if (problem) summary.current?.focus();
  }, [problem]);

  const onSubmit = async (event: Event) => {
    event.preventDefault();
    // A second Enter must not save twice, and a disabled button would lose the focus.
    if (saving.current) return;
    saving.current = true;
    const values = dataOf(form.current);
    const refused = await onSave(values, editedFields(initial.current, values)).finally(() => {
      saving.current = false;
    });
    setProblem(refused);
    if (!refused) initial.current = values;
  };

  return (
    <form ref={form} noValidate onSubmit={(event) => void onSubmit(event)} onInput={forgetNotice}>
      <Context.Provider value={{ id, labels, errors }}>
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
        {children}
      </Context.Provider>
      <p class="actions">
        <button type="submit" class={danger ? 'danger' : 'primary'}>
          {submit}
        </button>
        {others}
      </p>
    </form>
  );
}

/** What was saved is no longer all that the form shows. */
const forgetNotice = (): void => {
  notice.value = '';
};

const dataOf = (form: HTMLFormElement | null): FormData => new FormData(form ?? undefined);

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

function useField(name: string, label: string, hint?: string) {
  const { id, labels, errors } = useContext(Context);
  labels.set(name, label);
  useEffect(() => () => void labels.delete(name), [labels, name]);
  const fieldId = `${id}-${name}`;
  const error = errors.get(name);
  const describedBy = [hint && `${fieldId}-hint`, error && `${fieldId}-error`].filter(Boolean);
  return {
    fieldId,
    error,
    attributes: {
      'aria-describedby': describedBy.join(' ') || undefined,
      'aria-invalid': error ? true : undefined,
    },
  };
}

function Hint({ id, text }: { id: string; text?: string | undefined }) {
  return text ? (
    <span class="hint" id={`${id}-hint`}>
      {text}
    </span>
  ) : null;
}

function FieldMessage({ id, text }: { id: string; text?: string | undefined }) {
  return text ? (
    <span class="error" id={`${id}-error`}>
      {text}
    </span>
  ) : null;
}

interface FieldProperties {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly value?: string | null | undefined;
}

interface TextProperties extends FieldProperties {
  readonly type?: 'text' | 'password' | 'email';
  readonly autocomplete?: string;
  readonly optional?: boolean;
  readonly lines?: number;
  /** For names and secrets, which no keyboard must correct. */
  readonly verbatim?: boolean;
  readonly focused?: boolean;
}

/** A text field. `value` is what it shows first. */
export function TextField(properties: TextProperties) {
  const { name, label, hint, value, type = 'text', autocomplete = 'off', lines } = properties;
  const { fieldId, error, attributes } = useField(name, label, hint);
  const input = useRef<HTMLInputElement & HTMLTextAreaElement>(null);
  const [isShown, setShown] = useState(false);
  useLayoutEffect(() => {
    if (properties.focused) input.current?.focus();
  }, [properties.focused]);
  const verbatim = properties.verbatim && ({ autocapitalize: 'none', spellcheck: false } as const);
  const shared = { id: fieldId, name, ref: input, ...attributes, ...verbatim };
  return (
    <p class="field">
      <label for={fieldId}>
        {label} {properties.optional && <span class="hint">({texts().optional})</span>}
      </label>
      <Hint id={fieldId} text={hint} />
      {lines ? (
        <textarea {...shared} autocomplete={autocomplete} rows={lines} defaultValue={value ?? ''} />
      ) : (
        <input
          {...shared}
          type={(isShown ? 'text' : type) as 'text'}
          autocomplete={autocomplete}
          defaultValue={value ?? ''}
        />
      )}
      {type === 'password' && (
        <button
          type="button"
          class="quiet"
          aria-pressed={isShown}
          aria-controls={fieldId}
          aria-label={fill(texts().showField, { name: label })}
          onClick={() => setShown(!isShown)}
        >
          {texts().showShort}
        </button>
      )}
      <FieldMessage id={fieldId} text={error} />
    </p>
  );
}

interface SelectProperties extends FieldProperties {
  readonly options: readonly (readonly [value: string, label: string])[];
}

export function SelectField({ name, label, hint, value, options }: SelectProperties) {
  const { fieldId, error, attributes } = useField(name, label, hint);
  return (
    <p class="field">
      <label for={fieldId}>{label}</label>
      <Hint id={fieldId} text={hint} />
      <select id={fieldId} name={name} autocomplete="off" {...attributes}>
        {options.map(([option, text]) => (
          <option key={option} value={option} selected={option === (value ?? '')}>
            {text}
          </option>
        ))}
      </select>
      <FieldMessage id={fieldId} text={error} />
    </p>
  );
}

interface CheckProperties extends FieldProperties {
  readonly checked?: boolean;
}

export function CheckField({ name, label, hint, checked = false }: CheckProperties) {
  const { fieldId, error, attributes } = useField(name, label, hint);
  return (
    <p class="field check">
      <input id={fieldId} type="checkbox" name={name} defaultChecked={checked} {...attributes} />
      <label for={fieldId}>{label}</label>
      <Hint id={fieldId} text={hint} />
      <FieldMessage id={fieldId} text={error} />
    </p>
  );
}

interface ChecksProperties extends FieldProperties {
  readonly options: readonly {
    readonly value: string;
    readonly label: string;
    readonly hint: string;
  }[];
  readonly checked: readonly string[];
}

/** Several check boxes of one name. */
export function ChecksField({ name, label, options, checked }: ChecksProperties) {
  const { fieldId, error } = useField(name, label);
  return (
    <fieldset id={fieldId} tabIndex={-1} aria-describedby={error && `${fieldId}-error`}>
      <legend>{label}</legend>
      <FieldMessage id={fieldId} text={error} />
      {options.map((option) => (
        <p class="field check" key={option.value}>
          <input
            id={`${fieldId}-${option.value}`}
            type="checkbox"
            name={name}
            value={option.value}
            defaultChecked={checked.includes(option.value)}
            aria-describedby={`${fieldId}-${option.value}-hint`}
          />
          <label for={`${fieldId}-${option.value}`}>{option.label}</label>
          <span class="hint" id={`${fieldId}-${option.value}-hint`}>
            {option.hint}
          </span>
        </p>
      ))}
    </fieldset>
  );
}
