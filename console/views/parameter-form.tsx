import { useState } from 'preact/hooks';
import type { Parameter } from '../api/generated/types.gen.ts';
import type { Success } from '../api/request.ts';
import { Conflict } from '../components/conflict.tsx';
import { useEditing } from '../components/editing.ts';
import { CheckField, TextField } from '../components/fields.tsx';
import { Form, type Submit } from '../components/form.tsx';
import { useLoad } from '../components/load.ts';
import { Alert, Waiting } from '../components/problem.tsx';
import { draftOf } from '../drafts.ts';
import { nameOf, textOf } from '../form.ts';
import { send, texts } from '../state.ts';

/** Names the form of a parameter, and is the target of its audit events. */
export const formOf = (id: number): string => `parameter/${id}`;

/** Names the form of a new parameter. */
export const NEW = 'new-parameter';

interface ParameterFields extends Readonly<Record<string, unknown>> {
  readonly confName: string;
  readonly confValue: string;
  readonly confDescription: string;
  readonly secret: boolean;
}

/** What the form shows of a value. Of a secret nothing: a mask would be edited by mistake. */
const shownValue = (parameter?: Parameter): string =>
  parameter && !parameter.secret ? parameter.confValue : '';

export const fieldsOf = (values: FormData): ParameterFields => ({
  confName: nameOf(values, 'confName'),
  // A form has other line breaks than its text area.
  confValue: textOf(values, 'confValue').replace(/\r\n?/g, '\n'),
  confDescription: textOf(values, 'confDescription'),
  secret: values.has('secret'),
});

/** The value of a secret, also one that becomes or was one. */
export const secretsOf = (values: FormData, parameter?: Parameter): readonly string[] =>
  parameter?.secret || values.has('secret') ? ['confValue'] : [];

interface EditProperties {
  readonly id: number;
  readonly registerSubmit: (submit: Submit) => () => void;
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

/** Loads the parameter again, because a list has no ETag to save it with. */
export function EditParameter({ id, ...others }: EditProperties) {
  const { answer, reload } = useLoad('', () =>
    send('GET /api/utm-integration-confs/{id}', { path: { id } }),
  );
  if (!answer) return <Waiting />;
  if (!answer.ok) return <Alert problem={answer.problem} onRetry={reload} />;
  return <ParameterForm loaded={answer} {...others} />;
}

interface FormProperties extends Omit<EditProperties, 'id'> {
  readonly loaded: Success<Parameter>;
}

function ParameterForm({ loaded, registerSubmit, onClose, onSaved }: FormProperties) {
  const t = texts();
  const [comparing, setComparing] = useState(false);
  const { id, integration } = loaded.data;
  const editing = useEditing<Parameter, ParameterFields>({
    labels: {
      confName: t.name,
      confValue: t.value,
      confDescription: t.description,
      secret: t.secret,
    },
    form: formOf(id),
    loaded,
    put: (fields, { etag: ifMatch }) =>
      send(
        'PUT /api/utm-integration-confs',
        { body: { ...fields, id, integration: { id: integration.id } } },
        { ifMatch },
      ),
    get: () => send('GET /api/utm-integration-confs/{id}', { path: { id } }),
    onSaved: () => {
      onSaved();
      onClose();
    },
    onDiscarded: onSaved,
  });
  const { current, conflict, draft, formKey } = editing;
  return (
    <>
      <Form
        key={formKey}
        submit={t.save}
        onSave={(values, edited) => editing.save(fieldsOf(values), edited)}
        registerSubmit={registerSubmit}
        onClose={onClose}
        draft={{ ...draft, secrets: (values) => secretsOf(values, current.data) }}
        others={
          conflict && (
            <button type="button" onClick={() => setComparing(true)}>
              {t.compare}
            </button>
          )
        }
      >
        <ParameterFormFields parameter={current.data} />
      </Form>
      {/* Not at once: several rows that are saved together can have one each. */}
      {comparing && (
        <Conflict
          editing={{
            ...editing,
            close: () => setComparing(false),
            discard: () => {
              setComparing(false);
              editing.discard();
            },
          }}
          target={formOf(id)}
          show={(field, value) =>
            field === 'secret' ? (value ? t.yes : t.no) : String(value || '–')
          }
        />
      )}
    </>
  );
}

/**
 * After a reload several forms can be open, so none takes the focus. A form in a row has no hints
 * about limits: it says which one is exceeded.
 */
export function ParameterFormFields({ parameter }: { parameter?: Parameter }) {
  const t = texts();
  const ifNew = (hint: string) => (parameter ? undefined : hint);
  const [isRestored] = useState(
    () => draftOf(parameter ? formOf(parameter.id) : NEW) !== undefined,
  );
  return (
    <div class="pairs">
      <TextField
        name="confName"
        label={t.name}
        hint={ifNew(t.nameLimit)}
        value={parameter?.confName}
        verbatim
        focused={!parameter && !isRestored}
      />
      <TextField
        name="confValue"
        label={t.value}
        hint={parameter?.secret ? t.secretKept : ifNew(t.valueLimit)}
        value={shownValue(parameter)}
        optional={parameter?.secret ?? false}
        lines={1}
        verbatim
        focused={!!parameter && !isRestored}
      />
      <TextField
        name="confDescription"
        label={t.description}
        hint={ifNew(t.descriptionLimit)}
        value={parameter?.confDescription}
        optional
      />
      <CheckField
        name="secret"
        label={t.secret}
        hint={ifNew(t.secretHint)}
        checked={parameter?.secret ?? false}
      />
    </div>
  );
}
