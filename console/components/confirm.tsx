import type { ComponentChildren } from 'preact';
import { useContext, useRef, useState } from 'preact/hooks';
import type { Problem } from '../api/request.ts';
import { isSameName, textOf } from '../form.ts';
import { texts } from '../state.ts';
import { fill } from '../text.ts';
import { Dialog } from './dialog.tsx';
import { TextField } from './fields.tsx';
import { Form, ManagedContext, UNMANAGED } from './form.tsx';

interface DialogProperties {
  /** The verb with its object, as on the button that opens the dialog. */
  readonly action: string;
  readonly children?: ComponentChildren;
  /** What has to be typed, where the action cannot be undone. */
  readonly typed?: string;
  readonly danger?: boolean;
  /** Receives the values of the fields among the children. */
  readonly onConfirm: (values: FormData) => Promise<Problem | undefined>;
  /** After the action as well. */
  readonly onClose: () => void;
}

interface Properties extends Omit<DialogProperties, 'onClose'> {
  /** What the button shows of the action, in a row that names the object. */
  readonly short?: string;
  /** The id of the text that says why the action is impossible now; the button keeps the focus. */
  readonly disabledBy?: string | undefined;
}

export function Confirm({ short, disabledBy, ...others }: Properties) {
  const { action, danger = false } = others;
  const [open, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        class={danger ? 'danger' : undefined}
        aria-disabled={disabledBy !== undefined || undefined}
        aria-describedby={disabledBy}
        aria-label={short && action}
        onClick={() => setOpen(disabledBy === undefined)}
      >
        {short ?? action}
      </button>
      {open && <ConfirmDialog {...others} onClose={() => setOpen(false)} />}
    </>
  );
}

export function ConfirmDialog(properties: DialogProperties) {
  const { action, children, typed, danger = false, onConfirm, onClose } = properties;
  const t = texts();
  const { by } = useContext(ManagedContext);
  const confirming = useRef(false);
  // While the action is under way the dialog stays: it shows why that was rejected.
  const cancel = () => {
    if (!confirming.current) onClose();
  };
  const confirm = async (values: FormData): Promise<Problem | undefined> => {
    if (typed !== undefined && !isSameName(textOf(values, 'typed'), typed))
      return { status: 0, message: 'typed', fieldErrors: [] };
    confirming.current = true;
    const problem = await onConfirm(values).finally(() => {
      confirming.current = false;
    });
    if (!problem) onClose();
    return problem;
  };
  return (
    <Dialog title={action} onClose={cancel}>
      {/* Its own form asks nothing: the dialog is the question. */}
      <ManagedContext.Provider value={UNMANAGED}>
        <Form
          submit={action}
          danger={danger}
          onSave={confirm}
          texts={{ typed: fill(t.typeNameWrong, { name: typed }) }}
          others={
            <button type="button" onClick={cancel}>
              {t.cancel}
            </button>
          }
        >
          {children}
          {by !== undefined && (
            <p>{fill(danger ? t.managedDeletion : t.managedChange, { name: by })}</p>
          )}
          {typed !== undefined && (
            <TextField name="typed" label={fill(t.typeName, { name: typed })} verbatim />
          )}
        </Form>
      </ManagedContext.Provider>
    </Dialog>
  );
}
