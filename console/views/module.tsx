import { useState } from 'preact/hooks';
import type {
  CreateCredentialResponse,
  ListCredentialsResponse,
} from '../../examples/client/types.gen.ts';
import { Confirm } from '../components/confirm.tsx';
import { type Column, Table } from '../components/data-list.tsx';
import { useLoad } from '../components/load.ts';
import { Copy, Time } from '../components/parts.tsx';
import { Alert, Waiting } from '../components/problem.tsx';
import { focusHeading } from '../components/screen.tsx';
import * as Operations from '../operations.ts';
import { isAdministrator, notice, send, texts } from '../state.ts';
import { fill } from '../text.ts';

interface Properties {
  readonly id: number;
  readonly name: string;
}

interface ModuleProperties extends Properties {
  /** The integration as it was loaded last: after a change, something else can be wanted. */
  readonly loaded: object;
}

/** What is wanted of the module of an integration, what it runs, and how it authenticates itself. */
export function Module({ id, name, loaded }: ModuleProperties) {
  const t = texts();
  return (
    <section>
      <h2>{t.module}</h2>
      <Running id={id} loaded={loaded} />
      {isAdministrator() && <Credentials id={id} name={name} />}
    </section>
  );
}

function Running({ id, loaded }: Pick<ModuleProperties, 'id' | 'loaded'>) {
  const t = texts();
  const { answer, reload } = useLoad(loaded, () =>
    send(Operations.listModules, { query: { 'id.equals': id } }),
  );
  if (!answer) return <Waiting />;
  if (!answer.ok) return <Alert problem={answer.problem} onRetry={reload} />;
  const [module] = answer.data;
  if (!module) return null;
  const { progress, wanted, running, failed, reason, lastSeen } = module;
  return (
    <>
      <p>{fill(t.moduleProgress[progress], { running, failed, reason: reason ?? '–' })}</p>
      <dl>
        <dt>{t.moduleWanted}</dt>
        <dd>{wanted}</dd>
        <dt>{t.moduleRunning}</dt>
        <dd>{running ?? '–'}</dd>
        <dt>{t.moduleSeen}</dt>
        <dd>
          <Time instant={lastSeen} />
        </dd>
      </dl>
    </>
  );
}

function Credentials({ id, name }: Properties) {
  const t = texts();
  const [created, setCreated] = useState<CreateCredentialResponse>();
  const { answer, shown, reload } = useLoad(String(id), () =>
    send(Operations.listCredentials, { path: { id } }),
  );
  const create = async () => {
    const result = await send(Operations.createCredential, { path: { id }, body: {} });
    if (!result.ok) return result.problem;
    setCreated(result.data);
    reload();
    return undefined;
  };
  const remove = async (clientId: string) => {
    const result = await send(Operations.deleteCredential, { path: { id, clientId } });
    if (!result.ok) return result.problem;
    if (created?.clientId === clientId) setCreated(undefined);
    notice.value = fill(t.deleted, { name: clientId });
    reload();
    focusHeading();
    return undefined;
  };
  return (
    <>
      <h3>{t.credentials}</h3>
      {!answer && <Waiting />}
      {answer && !answer.ok && <Alert problem={answer.problem} onRetry={reload} />}
      <div role="status">{created && <Secret created={created} />}</div>
      {shown?.data.length === 0 && <p>{t.noCredentials}</p>}
      {shown && shown.data.length > 0 && (
        <Table
          columns={columnsOf(remove)}
          rows={shown.data}
          rowKey={({ clientId }) => clientId}
          caption={t.credentials}
        />
      )}
      <Confirm action={fill(t.newCredential, { name })} onConfirm={create}>
        <p>{t.newCredentialText}</p>
      </Confirm>
    </>
  );
}

/** The secret is in this response only. */
function Secret({ created: { clientId, clientSecret } }: { created: CreateCredentialResponse }) {
  const t = texts();
  return (
    <div class="notice">
      <p>{t.secretOnce}</p>
      <p>
        {t.clientId}: <code>{clientId}</code> <Copy text={clientId} label={t.clientId} />
      </p>
      <p>
        {t.secret}: <code>{clientSecret}</code> <Copy text={clientSecret} label={t.secret} />
      </p>
    </div>
  );
}

function columnsOf(
  remove: (clientId: string) => ReturnType<Parameters<typeof Confirm>[0]['onConfirm']>,
) {
  const t = texts();
  const columns: Column<ListCredentialsResponse[number]>[] = [
    { field: 'clientId', label: t.clientId, cell: ({ clientId }) => clientId },
    { field: 'createdBy', label: t.createdByLabel, cell: ({ createdBy }) => createdBy },
    { field: 'expires', label: t.expires, cell: ({ expires }) => <Time instant={expires} /> },
    { field: 'lastUsed', label: t.lastUsed, cell: ({ lastUsed }) => <Time instant={lastUsed} /> },
    {
      field: 'delete',
      label: '',
      cell: ({ clientId }) => (
        <Confirm
          action={fill(t.deleteThis, { name: clientId })}
          onConfirm={() => remove(clientId)}
          danger
        >
          <p>{t.deleteCredentialText}</p>
        </Confirm>
      ),
    },
  ];
  return columns;
}
