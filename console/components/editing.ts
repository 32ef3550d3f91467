import { useRef, useState } from 'preact/hooks';
import type { Answer, Problem, Success } from '../api/request.ts';
import { sameFields } from '../conflict.ts';
import { draftOf, dropDraft } from '../drafts.ts';
import { keepingUnedited } from '../form.ts';
import { notice, texts } from '../state.ts';
import type { DraftOptions } from './changes.ts';
import { focusHeading } from './screen.tsx';

/** A change that was refused with 412, and the state that is stored now. */
export interface EditConflict<Entity, Fields> {
  readonly mine: Fields;
  readonly theirs: Success<Entity>;
}

export interface Editing<Entity, Fields> {
  readonly labels: Readonly<Record<string, string>>;
  /** What the form is based on, with the ETag of that state. */
  readonly current: Success<Entity>;
  readonly setCurrent: (current: Success<Entity>) => void;
  /** Reads again what was changed outside the form; if its fields have changed, a save asks. */
  readonly refresh: () => Promise<void>;
  /** Changes when the form has to show other values than those that were typed. */
  readonly formKey: number;
  readonly draft: DraftOptions;
  readonly conflict: EditConflict<Entity, Fields> | undefined;
  /** Saves the edited fields, and nothing if there are none. */
  readonly save: (fields: Fields, edited: ReadonlySet<string>) => Promise<Problem | undefined>;
  /** Saves what was chosen of both changes. */
  readonly resolve: (chosen: Fields) => void;
  /** Shows the other change instead of the own one. */
  readonly discard: () => void;
  /** Leaves the conflict as it is, and the own change in the form. */
  readonly close: () => void;
  /** Why the choice could not be saved. */
  readonly refused: Problem | undefined;
}

interface Properties<Entity, Fields> {
  /** Names the form on its page. */
  readonly form: string;
  /**
   * Every field that the form changes: without a label, another person's change of it is
   * overwritten.
   */
  readonly labels: { readonly [K in keyof Fields]: string };
  readonly loaded: Success<Entity>;
  /** Saves the fields, or what differs in them from `base`, on condition that this is stored. */
  readonly put: (fields: Fields, base: Success<Entity>) => Promise<Answer<Entity>>;
  readonly get: () => Promise<Answer<Entity>>;
  readonly onSaved?: (saved: Success<Entity>) => void;
  /** The other change is shown instead of the own one; without it, `onSaved` is called. */
  readonly onDiscarded?: (theirs: Success<Entity>) => void;
}

/** How often changes of nothing in the form are passed over. */
const RETRIES_MAX = 3;

/**
 * Saves an entity in the state in which it was read; after another change, offers a choice between
 * both.
 */
export function useEditing<Entity extends object, Fields extends object>(
  properties: Properties<Entity, Fields>,
): Editing<Entity, Fields> {
  const { form, labels, loaded, put, get, onSaved, onDiscarded = onSaved } = properties;
  const based = useCurrent(form, loaded, Object.keys(labels), get);
  const { current, setCurrent } = based;
  const [formKey, setFormKey] = useState(0);
  const [conflict, setConflict] = useState<EditConflict<Entity, Fields>>();
  const [refused, setRefused] = useState<Problem>();

  const show = (state: Success<Entity>, onShown: typeof onSaved) => {
    dropDraft(form);
    setConflict(undefined);
    setRefused(undefined);
    setCurrent(state);
    setFormKey((before) => before + 1);
    focusHeading();
    onShown?.(state);
  };
  const attempt = async (
    fields: Fields,
    base: Success<Entity>,
    retries = RETRIES_MAX,
  ): Promise<Answer<Entity>> => {
    notice.value = '';
    const answer = await put(fields, base);
    if (answer.ok) {
      notice.value = texts().saved;
      return answer;
    }
    if (answer.problem.status !== 412 || retries === 0) return answer;
    const theirs = await get();
    if (!theirs.ok) return theirs;
    // Something else has changed, such as the state of a user or the flag of a module.
    if (sameFields(Object.keys(labels), base.data, theirs.data))
      return attempt(fields, theirs, retries - 1);
    setConflict({ mine: fields, theirs });
    return answer;
  };
  const save: Editing<Entity, Fields>['save'] = async (values, edited) => {
    if (edited.size === 0) {
      notice.value = texts().nothingChanged;
      return undefined;
    }
    const fields = keepingUnedited(values, current.data as Record<string, unknown>, edited);
    const answer = await attempt(fields, current);
    if (!answer.ok) return answer.problem;
    setCurrent(answer);
    onSaved?.(answer);
    return undefined;
  };
  const resolving = useRef(false);
  const resolve = async (chosen: Fields): Promise<void> => {
    // A second click must not save twice.
    if (resolving.current || !conflict) return;
    resolving.current = true;
    setRefused(undefined);
    const answer = await attempt(chosen, conflict.theirs).finally(() => {
      resolving.current = false;
    });
    if (!answer.ok) {
      setRefused(answer.problem);
      return;
    }
    show(answer, onSaved);
  };
  const close = () => {
    setConflict(undefined);
    setRefused(undefined);
  };
  return {
    labels,
    ...based,
    formKey,
    conflict,
    save,
    resolve: (chosen) => void resolve(chosen),
    discard: () => conflict && show(conflict.theirs, onDiscarded),
    close,
    refused,
  };
}

/** The state that the form is based on: with a draft, the one with which the draft began. */
function useCurrent<Entity extends object>(
  form: string,
  loaded: Success<Entity>,
  names: readonly string[],
  get: () => Promise<Answer<Entity>>,
) {
  const [state, setState] = useState(loaded);
  const [began, setBegan] = useState(() => draftOf(form)?.began);
  const current: Success<Entity> = began
    ? { ...state, etag: began.etag, data: { ...state.data, ...began.fields } }
    : state;
  const setCurrent = (newState: Success<Entity>) => {
    setBegan(undefined);
    setState(newState);
  };
  const data = current.data as Readonly<Record<string, unknown>>;
  const fields = Object.fromEntries(names.map((name) => [name, data[name]]));
  const refresh = async () => {
    const found = await get();
    if (!found.ok) return;
    const isSame = sameFields(names, current.data, found.data);
    setCurrent(
      isSame ? found : { ...found, etag: current.etag, data: { ...found.data, ...fields } },
    );
  };
  const draft: DraftOptions = {
    name: form,
    began: { etag: current.etag, fields },
    onDiscard: () => setBegan(undefined),
  };
  return { current, setCurrent, refresh, draft };
}
