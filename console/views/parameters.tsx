import { useRef, useState } from 'preact/hooks';
import type { Parameter } from '../api/generated/types.gen.ts';
import type { Problem, Success } from '../api/request.ts';
import { Confirm } from '../components/confirm.tsx';
import { Conflict } from '../components/conflict.tsx';
import { useEditing } from '../components/editing.ts';
import { CheckField, Form, TextField } from '../components/form.tsx';
import { Badge } from '../components/icon.tsx';
import { useLoad } from '../components/load.ts';
import { Copy } from '../components/parts.tsx';
import { Alert, Waiting } from '../components/problem.tsx';
import { nameOf, textOf } from '../form.ts';
import { notice, send, texts } from '../state.ts';
import { fill } from '../text.ts';

/** An integration has at most 90 parameters. */
const ALL = 100;

interface Properties {
  readonly integrationId: number;
  readonly onChanged: () => void;
}

/** The parameters of an integration by name, each edited where it stands. */
export function Parameters({ integrationId, onChanged }: Properties) {
  const t = texts();
  const { answer, shown, reload } = useLoad(String(integrationId), () =>
    send('GET /api/utm-integration-confs', {
      query: { 'integrationId.equals': integrationId, size: ALL, sort: 'confName,asc' },
    }),
  );
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const section = useRef<HTMLElement>(null);
  const changed = () => {
    reload();
    onChanged();
  };
  const toggle = (id: number) =>
    setOpen((before) =>
      before.has(id)
        ? new Set([...before].filter((other) => other !== id))
        : new Set([...before, id]),
    );
  const saveAll = () => {
    for (const form of section.current?.querySelectorAll('form') ?? []) form.requestSubmit();
  };
  return (
    <section class="card" ref={section}>
      <h2>{t.parameters}</h2>
      {!answer && <Waiting />}
      {answer && !answer.ok && <Alert problem={answer.problem} onRetry={reload} />}
      {shown?.data.length === 0 && <p>{t.noParameters}</p>}
      {shown && shown.data.length > 0 && (
        <table class="parameters">
          <caption>{t.parameters}</caption>
          <thead>
            <tr>
              <th scope="col">{t.name}</th>
              <th scope="col">{t.value}</th>
              <th scope="col">{t.description}</th>
              <td />
            </tr>
          </thead>
          <tbody translate={false}>
            {shown.data.map((parameter) => (
              <Row
                key={parameter.id}
                parameter={parameter}
                isOpen={open.has(parameter.id)}
                onToggle={() => toggle(parameter.id)}
                onChanged={changed}
              />
            ))}
          </tbody>
        </table>
      )}
      {open.size > 1 && (
        <p>
          <button type="button" class="primary" onClick={saveAll}>
            {fill(t.saveAll, { n: open.size })}
          </button>
        </p>
      )}
      <NewParameter integrationId={integrationId} onCreated={changed} />
    </section>
  );
}

interface RowProperties {
  readonly parameter: Parameter;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
  readonly onChanged: () => void;
}

function Row({ parameter, isOpen, onToggle, onChanged }: RowProperties) {
  const t = texts();
  const { id, confName: name, confValue, confDescription, secret = false } = parameter;
  const [shown, setShown] = useState(false);
  const remove = async (): Promise<Problem | undefined> => {
    const answer = await send('DELETE /api/utm-integration-confs/{id}', { path: { id } });
    if (!answer.ok) return answer.problem;
    notice.value = fill(t.deleted, { name });
    onChanged();
    return undefined;
  };
  if (isOpen)
    return (
      <tr>
        <td colSpan={4}>
          <EditParameter id={id} onClose={onToggle} onSaved={onChanged} />
        </td>
      </tr>
    );
  return (
    <tr>
      <th scope="row">{name}</th>
      <td data-label={t.value}>
        {secret && <Badge tone="accent" icon="lock" text={t.secretSet} />}
        {!secret && (
          <span class="actions">
            {shown ? <output>{confValue}</output> : <span class="hint">{t.hidden}</span>}
            <button
              type="button"
              aria-label={fill(shown ? t.hideValue : t.showValue, { name })}
              onClick={() => setShown(!shown)}
            >
              {shown ? t.hide : t.showShort}
            </button>
            {shown && <Copy text={confValue} label={name} />}
          </span>
        )}
      </td>
      <td data-label={confDescription ? t.description : undefined}>{confDescription}</td>
      <td>
        <span class="actions">
          <button type="button" aria-label={fill(t.editName, { name })} onClick={onToggle}>
            {t.edit}
          </button>
          <Confirm action={fill(t.deleteThis, { name })} short={t.delete} onConfirm={remove} danger>
            <p>{t.deleteParameterText}</p>
          </Confirm>
        </span>
      </td>
    </tr>
  );
}

interface ParameterFields extends Readonly<Record<string, unknown>> {
  readonly confName: string;
  readonly confValue: string;
  readonly confDescription: string;
  readonly secret: boolean;
}

/** What the form shows of a value. Of a secret nothing: a mask would be edited by mistake. */
const shownValue = (parameter?: Parameter): string =>
  parameter && !parameter.secret ? parameter.confValue : '';

const fieldsOf = (values: FormData): ParameterFields => ({
  confName: nameOf(values, 'confName'),
  // A form has other line breaks than its text area.
  confValue: textOf(values, 'confValue').replace(/\r\n?/g, '\n'),
  confDescription: textOf(values, 'confDescription'),
  secret: values.has('secret'),
});

interface EditProperties {
  readonly id: number;
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

/** Loads the parameter again, because a list has no ETag to save it with. */
function EditParameter({ id, onClose, onSaved }: EditProperties) {
  const { answer, reload } = useLoad('', () =>
    send('GET /api/utm-integration-confs/{id}', { path: { id } }),
  );
  if (!answer) return <Waiting />;
  if (!answer.ok) return <Alert problem={answer.problem} onRetry={reload} />;
  return <ParameterForm loaded={answer} onClose={onClose} onSaved={onSaved} />;
}

interface FormProperties {
  readonly loaded: Success<Parameter>;
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

function ParameterForm({ loaded, onClose, onSaved }: FormProperties) {
  const t = texts();
  const { id, integration } = loaded.data;
  const editing = useEditing<Parameter, ParameterFields>({
    labels: {
      confName: t.name,
      confValue: t.value,
      confDescription: t.description,
      secret: t.secret,
    },
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
  });
  const { current, formKey } = editing;
  return (
    <>
      <Form
        key={formKey}
        submit={t.save}
        onSave={(values, edited) => editing.save(fieldsOf(values), edited)}
        guarded
        others={
          <button type="button" onClick={onClose}>
            {t.cancel}
          </button>
        }
      >
        <ParameterFormFields parameter={current.data} />
      </Form>
      <Conflict
        editing={editing}
        target={`parameter/${id}`}
        show={(field, value) =>
          field === 'secret' ? (value ? t.yes : t.no) : String(value || '–')
        }
      />
    </>
  );
}

function ParameterFormFields({ parameter }: { parameter?: Parameter }) {
  const t = texts();
  return (
    <>
      <TextField
        name="confName"
        label={t.name}
        hint={t.nameLimit}
        value={parameter?.confName}
        verbatim
        focused
      />
      <TextField
        name="confValue"
        label={t.value}
        hint={parameter?.secret ? t.secretKept : t.valueLimit}
        value={shownValue(parameter)}
        optional={parameter?.secret ?? false}
        lines={3}
        verbatim
      />
      <TextField
        name="confDescription"
        label={t.description}
        hint={t.descriptionLimit}
        value={parameter?.confDescription}
        optional
      />
      <CheckField
        name="secret"
        label={t.secret}
        hint={t.secretHint}
        checked={parameter?.secret ?? false}
      />
    </>
  );
}

interface NewProperties {
  readonly integrationId: number;
  readonly onCreated: () => void;
}

function NewParameter({ integrationId, onCreated }: NewProperties) {
  const t = texts();
  const [open, setOpen] = useState(false);
  const create = async (values: FormData): Promise<Problem | undefined> => {
    const body = { ...fieldsOf(values), integration: { id: integrationId } };
    notice.value = '';
    const answer = await send('POST /api/utm-integration-confs', { body });
    if (!answer.ok) return answer.problem;
    notice.value = t.saved;
    setOpen(false);
    onCreated();
    return undefined;
  };
  if (!open)
    return (
      <div>
        <button type="button" onClick={() => setOpen(true)}>
          {t.newParameter}
        </button>
      </div>
    );
  return (
    <div>
      <h3>{t.newParameter}</h3>
      <Form
        submit={t.createParameter}
        onSave={create}
        guarded
        others={
          <button type="button" onClick={() => setOpen(false)}>
            {t.cancel}
          </button>
        }
      >
        <ParameterFormFields />
      </Form>
    </div>
  );
}
