import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Problem } from '../api/request.ts';
import { isSameName, textOf } from '../form.ts';
import { texts } from '../state.ts';
import { fill } from '../text.ts';
import { Dialog } from './dialog.tsx';
import { TextField } from './fields.tsx';
import { Form } from './form.tsx';

interface Properties {
  /** The verb with its object, as on the button that opens the dialog. */
  readonly action: string;
  /** What the button shows of it, in a row that names the object. */
  readonly short?: string;
  readonly children: ComponentChildren;
  /** What has to be typed, where the action cannot be undone. */
  readonly typed?: string;
  readonly danger?: boolean;
  /** The id of the text that says why the action is impossible now; the button keeps the focus. */
  readonly disabledBy?: string | undefined;
  readonly onConfirm: () => Promise<Problem | undefined>;
}

export function Confirm(properties: Properties) {
  const { action, short, children, typed, danger = false, disabledBy, onConfirm } = properties;
  const t = texts();
  const [open, setOpen] = useState(false);
  const close = () => setOpen(false);
  const confirm = async (values: FormData): Promise<Problem | undefined> => {
    if (typed !== undefined && !isSameName(textOf(values, 'typed'), typed))
      return { status: 0, message: 'typed', fieldErrors: [] };
    const problem = await onConfirm();
    if (!problem) close();
    return problem;
  };
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
      {open && (
        <Dialog title={action} onClose={close}>
          <Form
            submit={action}
            danger={danger}
            onSave={confirm}
            texts={{ typed: fill(t.typeNameWrong, { name: typed }) }}
            others={
              <button type="button" onClick={close}>
                {t.cancel}
              </button>
            }
          >
            {children}
            {typed !== undefined && (
              <TextField name="typed" label={fill(t.typeName, { name: typed })} verbatim />
            )}
          </Form>
        </Dialog>
      )}
    </>
  );
}
