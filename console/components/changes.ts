import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type Began, type Draft, draftOf, dropDraft, keepDraft } from '../drafts.ts';
import { editedFields } from '../form.ts';
import { watchUnsaved } from '../navigation.ts';

/** How a form that edits something keeps what was typed. */
export interface DraftOptions {
  /** Names the form on its page. */
  readonly name: string;
  readonly began?: Began;
  /** The fields whose values are secrets. */
  readonly secrets?: (values: FormData) => readonly string[];
  readonly onDiscard?: () => void;
}

export interface Changes {
  /** The names of the fields that differ from what was shown first. */
  readonly edited: ReadonlySet<string>;
  readonly restored: Draft | undefined;
  /** Changes when the fields have to show again what is stored. */
  readonly round: number;
  /** Looks for edited fields, and keeps what was typed. */
  readonly update: () => void;
  /** Shows again what is stored. */
  readonly discard: () => void;
  /** Takes the values that were saved as what the form showed first. */
  readonly saved: (values: FormData) => void;
  /** The names of the fields that differ in these values. */
  readonly editedIn: (values: FormData) => ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();

/** Which fields of a form were edited. With `options` they survive a reload of the tab. */
export function useChanges(
  form: RefObject<HTMLFormElement | null>,
  options: DraftOptions | undefined,
): Changes {
  const initial = useRef(new FormData());
  const [edited, setEdited] = useState(NONE);
  const [restored, setRestored] = useState<Draft>();
  const [round, setRound] = useState(0);
  // The latest, because what is typed during a save is a change of the state that is saved.
  const latest = useRef(options);
  latest.current = options;

  const editedIn = (values: FormData) => editedFields(initial.current, values);
  const refreshEdited = () => {
    const names = editedIn(dataOf(form.current));
    setEdited((before) => (`${[...before]}` === `${[...names]}` ? before : names));
    return names;
  };
  const keep = (before: Draft | undefined) => {
    if (!latest.current || !form.current) return;
    const { name: formName, began, secrets: secretsOf } = latest.current;
    const values = dataOf(form.current);
    const secrets = secretsOf?.(values) ?? [];
    const typed = Object.fromEntries([
      // Secrets that a reload has dropped still have to be entered again.
      ...Object.entries(before?.typed ?? {}).filter(([, kept]) => kept === null),
      ...[...refreshEdited()].map((name) => [
        name,
        secrets.includes(name) ? null : values.getAll(name).map(String),
      ]),
    ]);
    if (Object.keys(typed).length === 0) dropDraft(formName);
    else keepDraft(formName, { began: began && without(secrets, began), typed });
  };
  // Before the page is painted: nothing can be typed earlier.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the fields are new in each round.
  useLayoutEffect(() => {
    initial.current = dataOf(form.current);
    if (!options) return;
    const draft = draftOf(options.name);
    setRestored(draft);
    if (draft) show(form.current, draft);
    refreshEdited();
    return watchUnsaved(() => editedIn(dataOf(form.current)).size > 0);
  }, [round]);
  const discard = () => {
    if (options) dropDraft(options.name);
    options?.onDiscard?.();
    setRound(round + 1);
  };
  const saved = (values: FormData) => {
    initial.current = values;
    setRestored(undefined);
    // The form can be gone already.
    if (options) dropDraft(options.name);
    keep(undefined);
  };
  return { edited, restored, round, update: () => keep(restored), discard, saved, editedIn };
}

export const dataOf = (form: HTMLFormElement | null): FormData => new FormData(form ?? undefined);

/** A value that becomes a secret must not be kept as the value before the change either. */
const without = (secrets: readonly string[], { etag, fields }: Began): Began => ({
  etag,
  fields: Object.fromEntries(Object.entries(fields).filter(([name]) => !secrets.includes(name))),
});

/** Shows what was typed. The field of a secret is empty. */
function show(form: HTMLFormElement | null, { typed }: Draft): void {
  for (const field of form?.elements ?? []) {
    const { name, type, value } = field as HTMLInputElement;
    const values = typed[name];
    if (values === undefined) continue;
    if (type === 'checkbox') (field as HTMLInputElement).checked = values?.includes(value) ?? false;
    else (field as HTMLInputElement).value = values?.[0] ?? '';
  }
}
