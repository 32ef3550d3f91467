import { useEffect, useRef, useState } from 'preact/hooks';
import type { Parameter } from '../api/generated/types.gen.ts';
import { type Problem, type Success, waitFor } from '../api/request.ts';
import { type Outcome, type Result, runAll } from '../bulk.ts';
import { Confirm } from '../components/confirm.tsx';
import { Conflict } from '../components/conflict.tsx';
import { useEditing } from '../components/editing.ts';
import { CheckField, Form, type Submit, TextField } from '../components/form.tsx';
import { Badge } from '../components/icon.tsx';
import { useLoad } from '../components/load.ts';
import { Copy } from '../components/parts.tsx';
import { Alert, Waiting } from '../components/problem.tsx';
import { draftOf } from '../drafts.ts';
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
  const changed = () => {
    reload();
    onChanged();
  };
  return (
    <section class="card">
      <h2>{t.parameters}</h2>
      {!answer && <Waiting />}
      {answer && !answer.ok && <Alert problem={answer.problem} onRetry={reload} />}
      {shown?.data.length === 0 && <p>{t.noParameters}</p>}
      {shown && shown.data.length > 0 && (
        <ParameterTable parameters={shown.data} onChanged={changed} />
      )}
      <NewParameter integrationId={integrationId} onCreated={changed} />
    </section>
  );
}

interface TableProperties {
  readonly parameters: readonly Parameter[];
  readonly onChanged: () => void;
}

function ParameterTable({ parameters, onChanged }: TableProperties) {
  const t = texts();
  const table = useRef<HTMLTableElement>(null);
  const { edited, results, rounds, edit, saveAll, saved, forget } = useRows(onChanged);
  const ids = [...results.keys()];
  const done = ids.filter((id) => results.get(id) === 'done');
  // biome-ignore lint/correctness/useExhaustiveDependencies: leads to what was refused in a round.
  useEffect(() => table.current?.querySelector<HTMLElement>('[role=alert]')?.focus(), [rounds]);
  return (
    <>
      <table class="parameters" ref={table}>
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
          {parameters.map((parameter) => (
            <Row
              key={parameter.id}
              parameter={parameter}
              isSaved={results.get(parameter.id) === 'done'}
              onOpen={forget}
              onEdited={edit}
              onChanged={saved}
            />
          ))}
        </tbody>
      </table>
      <div role="status">
        {ids.length > 0 && <p>{fill(t.doneOf, { n: done.length, total: ids.length })}</p>}
      </div>
      {edited.size > 1 && (
        <div class="selected">
          <button type="button" class="primary" onClick={() => void saveAll()}>
            {fill(t.saveAll, { n: edited.size })}
          </button>
        </div>
      )}
    </>
  );
}

/** Saves the edited rows together, with a result for each. */
function useRows(onChanged: () => void) {
  const [edited, setEdited] = useState<ReadonlyMap<number, Submit>>(new Map());
  const [results, setResults] = useState<ReadonlyMap<number, Result>>(new Map());
  const [rounds, setRounds] = useState(0);
  const running = useRef(false);
  const edit = (id: number, submit: Submit) => {
    setEdited((before) => new Map([...before, [id, submit]]));
    return () => setEdited((before) => new Map([...before].filter(([other]) => other !== id)));
  };
  const act = async ([, submit]: [number, Submit]): Promise<Outcome> => {
    const problem = await submit();
    return problem ? { ok: false, problem } : { ok: true };
  };
  const saveAll = async () => {
    if (running.current) return;
    running.current = true;
    setResults(new Map([...edited].map(([id]) => [id, 'running'])));
    await runAll({
      items: [...edited],
      act,
      onResult: ([id], result) => setResults((before) => new Map([...before, [id, result]])),
      wait: waitFor,
    });
    running.current = false;
    setRounds(rounds + 1);
    // Each row says it for itself.
    notice.value = '';
    onChanged();
  };
  const forget = () => setResults(new Map());
  const saved = () => {
    // The list is loaded once for all.
    if (running.current) return;
    forget();
    onChanged();
  };
  return { edited, results, rounds, edit, saveAll, saved, forget };
}

/** Names the form of a parameter, and is the target of its audit events. */
const formOf = (id: number): string => `parameter/${id}`;

interface RowProperties {
  readonly parameter: Parameter;
  readonly isSaved: boolean;
  readonly onOpen: () => void;
  readonly onEdited: (id: number, submit: Submit) => () => void;
  readonly onChanged: () => void;
}

function Row({ parameter, isSaved, onOpen, onEdited, onChanged }: RowProperties) {
  const t = texts();
  const { id, confName: name, confValue, confDescription, secret = false } = parameter;
  const [isOpen, setOpen] = useState(() => draftOf(formOf(id)) !== undefined);
  const [shown, setShown] = useState(false);
  const remove = async (): Promise<Problem | undefined> => {
    const answer = await send('DELETE /api/utm-integration-confs/{id}', { path: { id } });
    if (!answer.ok) return answer.problem;
    notice.value = fill(t.deleted, { name });
    onChanged();
    return undefined;
  };
  const edit = () => {
    setOpen(true);
    onOpen();
  };
  if (isOpen)
    return (
      <tr>
        <td colSpan={4}>
          <EditParameter
            id={id}
            onEdited={(submit) => onEdited(id, submit)}
            onClose={() => setOpen(false)}
            onSaved={onChanged}
          />
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
          {isSaved && <Badge tone="good" icon="check" text={t.done} />}
          <button type="button" aria-label={fill(t.editName, { name })} onClick={edit}>
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

/** The value of a secret, also one that becomes or was one. */
const secretsOf = (values: FormData, parameter?: Parameter): readonly string[] =>
  parameter?.secret || values.has('secret') ? ['confValue'] : [];

interface EditProperties {
  readonly id: number;
  readonly onEdited: (submit: Submit) => () => void;
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

/** Loads the parameter again, because a list has no ETag to save it with. */
function EditParameter({ id, ...others }: EditProperties) {
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

function ParameterForm({ loaded, onEdited, onClose, onSaved }: FormProperties) {
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
  });
  const { current, conflict, draft, formKey } = editing;
  return (
    <>
      <Form
        key={formKey}
        submit={t.save}
        onSave={(values, edited) => editing.save(fieldsOf(values), edited)}
        onEdited={onEdited}
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
 * After a reload several can be open, and none takes the focus. In a row, limits are told where
 * they are exceeded.
 */
function ParameterFormFields({ parameter }: { parameter?: Parameter }) {
  const t = texts();
  const keptHint = parameter?.secret ? t.secretKept : undefined;
  const [isRestored] = useState(() => draftOf(parameter ? formOf(parameter.id) : NEW));
  return (
    <div class="pairs">
      <TextField
        name="confName"
        label={t.name}
        hint={parameter ? undefined : t.nameLimit}
        value={parameter?.confName}
        verbatim
        focused={!parameter && !isRestored}
      />
      <TextField
        name="confValue"
        label={t.value}
        hint={parameter ? keptHint : t.valueLimit}
        value={shownValue(parameter)}
        optional={parameter?.secret ?? false}
        lines={1}
        verbatim
        focused={!!parameter && !isRestored}
      />
      <TextField
        name="confDescription"
        label={t.description}
        hint={parameter ? undefined : t.descriptionLimit}
        value={parameter?.confDescription}
        optional
      />
      <CheckField
        name="secret"
        label={t.secret}
        hint={parameter ? undefined : t.secretHint}
        checked={parameter?.secret ?? false}
      />
    </div>
  );
}

/** Names the form of a new parameter. */
const NEW = 'new-parameter';

interface NewProperties {
  readonly integrationId: number;
  readonly onCreated: () => void;
}

function NewParameter({ integrationId, onCreated }: NewProperties) {
  const t = texts();
  const [open, setOpen] = useState(() => draftOf(NEW) !== undefined);
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
        draft={{ name: NEW, secrets: secretsOf }}
        onClose={() => setOpen(false)}
      >
        <ParameterFormFields />
      </Form>
    </div>
  );
}
