import { useEffect, useId, useRef } from 'preact/hooks';
import { watchUnsaved } from '../navigation.ts';
import { Copy } from './parts.tsx';

interface Properties {
  readonly text: string;
  readonly values: readonly (readonly [label: string, value: string])[];
  /** What says that the values are kept. Until then, leaving the page asks. */
  readonly done: string;
  readonly onKept: () => void;
}

/**
 * Secrets that are in one response only. They take the focus, so they are in no live region: a
 * screen reader would say them twice.
 */
export function ShownOnce({ text, values, done, onKept }: Properties) {
  const labelId = useId();
  const element = useRef<HTMLDivElement>(null);
  // A layout effect would run while the dialog is still open, and nothing outside it can have
  // focus.
  useEffect(() => element.current?.focus(), []);
  useEffect(() => watchUnsaved(() => true), []);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for the fields of a form.
    <div class="notice" role="group" aria-labelledby={labelId} tabIndex={-1} ref={element}>
      <p id={labelId}>{text}</p>
      {values.map(([label, value]) => (
        <p key={label}>
          {label}: <code>{value}</code> <Copy text={value} label={label} />
        </p>
      ))}
      <p>
        <button type="button" onClick={onKept}>
          {done}
        </button>
      </p>
    </div>
  );
}
