import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { Parameter } from '../api/generated/types.gen.ts';
import { type Problem, waitFor } from '../api/request.ts';
import { type Outcome, type Result, runAll } from '../bulk.ts';
import { Confirm } from '../components/confirm.tsx';
import { Form, ManagedContext, type Submit } from '../components/form.tsx';
import { Badge } from '../components/icon.tsx';
import { useLoad } from '../components/load.ts';
import { Copy } from '../components/parts.tsx';
import { Alert, Waiting } from '../components/problem.tsx';
import { draftOf } from '../drafts.ts';
import { notice, send, texts } from '../state.ts';
import { fill } from '../text.ts';
import {
  EditParameter,
  fieldsOf,
  formOf,
  NEW,
  ParameterFormFields,
  secretsOf,
} from './parameter-form.tsx';

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
  const { edited, results, runs, register, saveAll, saved, forget } = useSaveAll(onChanged);
  const ids = [...results.keys()];
  const done = ids.filter((id) => results.get(id) === 'done');
  // biome-ignore lint/correctness/useExhaustiveDependencies: leads to what was refused in a run.
  useEffect(() => table.current?.querySelector<HTMLElement>('[role=alert]')?.focus(), [runs]);
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
              registerSubmit={register}
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
function useSaveAll(onChanged: () => void) {
  const [edited, setEdited] = useState<ReadonlyMap<number, Submit>>(new Map());
  const [results, setResults] = useState<ReadonlyMap<number, Result>>(new Map());
  const [runs, setRuns] = useState(0);
  const running = useRef(false);
  const { mayChange } = useContext(ManagedContext);
  const register = (id: number, submit: Submit) => {
    setEdited((before) => new Map([...before, [id, submit]]));
    return () => setEdited((before) => new Map([...before].filter(([other]) => other !== id)));
  };
  const act = async ([, submit]: [number, Submit]): Promise<Outcome> => {
    const problem = await submit();
    return problem ? { ok: false, problem } : { ok: true };
  };
  const saveAll = async () => {
    if (running.current || !(await mayChange())) return;
    running.current = true;
    setResults(new Map([...edited].map(([id]) => [id, 'running'])));
    await runAll({
      items: [...edited],
      act,
      onResult: ([id], result) => setResults((before) => new Map([...before, [id, result]])),
      wait: waitFor,
    });
    running.current = false;
    setRuns(runs + 1);
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
  return { edited, results, runs, register, saveAll, saved, forget };
}

interface RowProperties {
  readonly parameter: Parameter;
  readonly isSaved: boolean;
  readonly onOpen: () => void;
  readonly registerSubmit: (id: number, submit: Submit) => () => void;
  readonly onChanged: () => void;
}

function Row({ parameter, isSaved, onOpen, registerSubmit, onChanged }: RowProperties) {
  const t = texts();
  const {
    id,
    confName: name,
    confValue,
    confDescription,
    secret = false,
    secretVersion,
  } = parameter;
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
            registerSubmit={(submit) => registerSubmit(id, submit)}
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
        {secretVersion && <span class="hint"> {fill(t.secretVersion, secretVersion)}</span>}
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
