import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { texts } from '../state.ts';
import { fill } from '../text.ts';
import { Badge } from './icon.tsx';

interface FormContext {
  readonly id: string;
  readonly labels: Map<string, string>;
  readonly errors: ReadonlyMap<string, string>;
  readonly edited: ReadonlySet<string>;
}

/** What a form tells its fields. */
export const FieldContext = createContext<FormContext>({
  id: '',
  labels: new Map(),
  errors: new Map(),
  edited: new Set(),
});

function useField(name: string, label: string, hint?: string) {
  const { id, labels, errors, edited } = useContext(FieldContext);
  labels.set(name, label);
  useEffect(() => () => void labels.delete(name), [labels, name]);
  const fieldId = `${id}-${name}`;
  const error = errors.get(name);
  const describedBy = [hint && `${fieldId}-hint`, error && `${fieldId}-error`].filter(Boolean);
  return {
    fieldId,
    error,
    mark: edited.has(name) && <Badge tone="warning" text={texts().unsaved} />,
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
  readonly hint?: string | undefined;
  readonly value?: string | null | undefined;
}

interface TextProperties extends FieldProperties {
  readonly type?: 'text' | 'password' | 'email' | 'date';
  readonly autocomplete?: string;
  readonly optional?: boolean;
  readonly lines?: number;
  /** For names and secrets, which no keyboard must correct. */
  readonly verbatim?: boolean;
  readonly focused?: boolean;
}

export function TextField(properties: TextProperties) {
  const { name, label, hint, value, type = 'text', autocomplete = 'off', lines } = properties;
  const { fieldId, error, mark, attributes } = useField(name, label, hint);
  const input = useRef<HTMLInputElement & HTMLTextAreaElement>(null);
  const [isShown, setShown] = useState(false);
  useLayoutEffect(() => {
    if (!properties.focused) return;
    input.current?.focus();
    // What is typed replaces the value.
    input.current?.select();
  }, [properties.focused]);
  const verbatim = properties.verbatim && ({ autocapitalize: 'none', spellcheck: false } as const);
  const shared = { id: fieldId, name, ref: input, ...attributes, ...verbatim };
  return (
    <p class="field">
      <label for={fieldId}>
        {label} {properties.optional && <span class="hint">({texts().optional})</span>} {mark}
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
  const { fieldId, error, mark, attributes } = useField(name, label, hint);
  return (
    <p class="field">
      <label for={fieldId}>
        {label} {mark}
      </label>
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
  const { fieldId, error, mark, attributes } = useField(name, label, hint);
  return (
    <p class="field check">
      <input id={fieldId} type="checkbox" name={name} defaultChecked={checked} {...attributes} />
      <label for={fieldId}>
        {label} {mark}
      </label>
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

export function ChecksField({ name, label, options, checked }: ChecksProperties) {
  const fieldId = `${useContext(FieldContext).id}-${name}`;
  return (
    <FieldSet name={name} label={label}>
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
    </FieldSet>
  );
}

type SetProperties = Pick<FieldProperties, 'name' | 'label' | 'hint'> & {
  readonly children: ComponentChildren;
};

/** Check boxes that all have one name. */
export function FieldSet({ name, label, hint, children }: SetProperties) {
  const { fieldId, error, mark, attributes } = useField(name, label, hint);
  return (
    <fieldset id={fieldId} tabIndex={-1} aria-describedby={attributes['aria-describedby']}>
      <legend>
        {label} {mark}
      </legend>
      {hint && (
        <p class="hint" id={`${fieldId}-hint`}>
          {hint}
        </p>
      )}
      <FieldMessage id={fieldId} text={error} />
      {children}
    </fieldset>
  );
}
