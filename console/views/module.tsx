import { useId, useState } from 'preact/hooks';
import type {
  ListCredentialsResponse,
  ListModuleIssuersResponse,
} from '../api/generated/types.gen.ts';
import { Confirm } from '../components/confirm.tsx';
import { SelectField, TextField } from '../components/fields.tsx';
import { Badge } from '../components/icon.tsx';
import { useLoad } from '../components/load.ts';
import { Time } from '../components/parts.tsx';
import { Alert, Waiting } from '../components/problem.tsx';
import { ShownOnce } from '../components/shown-once.tsx';
import { type Column, Table } from '../components/table.tsx';
import { nameOf, textOf } from '../form.ts';
import { isAdministrator, notice, send, texts } from '../state.ts';
import { fill } from '../text.ts';
import { LOOK } from './modules.tsx';

interface Properties {
  readonly id: number;
  readonly name: string;
}

interface ModuleProperties extends Properties {
  /** The integration as it was loaded last: after a change, something else can be wanted. */
  readonly loaded: object;
}

export function Module({ id, name, loaded }: ModuleProperties) {
  const t = texts();
  return (
    <section class="card">
      <h2>{t.module}</h2>
      <Running id={id} loaded={loaded} />
      {isAdministrator() && <Credentials id={id} name={name} />}
    </section>
  );
}

function Running({ id, loaded }: Pick<ModuleProperties, 'id' | 'loaded'>) {
  const t = texts();
  const { answer, reload } = useLoad(loaded, () =>
    send('GET /api/modules', { query: { 'id.equals': id } }),
  );
  if (!answer) return <Waiting />;
  if (!answer.ok) return <Alert problem={answer.problem} onRetry={reload} />;
  const [module] = answer.data;
  if (!module) return null;
  const { progress, wanted, running, failed, reason, lastSeen, flapping } = module;
  return (
    <>
      <p>
        <Badge {...LOOK[progress]} text={t.progress[progress]} />
      </p>
      <p>{fill(t.moduleProgress[progress], { running, failed, reason: reason ?? '–' })}</p>
      {flapping && <p class="notice">{t.moduleFlapping}</p>}
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

type Credential = ListCredentialsResponse[number];

/** Two active credentials, of which the newer one is to replace the former. */
interface Exchange {
  readonly former: Credential;
  readonly newer: Credential;
}

/** The exchange that is under way. The list alone shows it, so that it survives a reload. */
function exchangeOf(credentials: readonly Credential[]): Exchange | undefined {
  const [former, newer] = credentials.toSorted(
    (one, other) => Date.parse(one.createdDate) - Date.parse(other.createdDate),
  );
  return former && newer && { former, newer };
}

type Act = Parameters<typeof Confirm>[0]['onConfirm'];

function Credentials({ id, name }: Properties) {
  const t = texts();
  const reasonId = useId();
  const [created, setCreated] = useState<{ clientId: string; clientSecret: string }>();
  const { answer, shown, reload } = useLoad(String(id), () =>
    send('GET /api/utm-integrations/{id}/credentials', { path: { id } }),
  );
  const issuers = useLoad('', () => send('GET /api/module-issuers', {})).shown?.data ?? [];
  const exchange = exchangeOf(shown?.data ?? []);
  const create: Act = async (values) => {
    const issuer = textOf(values, 'issuer');
    const subject = nameOf(values, 'identity');
    const result = await send('POST /api/utm-integrations/{id}/credentials', {
      path: { id },
      body: issuer ? { identity: { issuer, subject } } : {},
    });
    if (!result.ok) return result.problem;
    const { clientId, clientSecret } = result.data;
    setCreated(clientSecret ? { clientId, clientSecret } : undefined);
    if (!clientSecret) notice.value = fill(t.identityCreated, { name: clientId });
    reload();
    return undefined;
  };
  const revoke = async (clientId: string): ReturnType<Act> => {
    const result = await send('POST /api/utm-integrations/{id}/credentials/{clientId}/delete', {
      path: { id, clientId },
    });
    if (!result.ok) return result.problem;
    if (created?.clientId === clientId) setCreated(undefined);
    notice.value = fill(t.revoked, { name: clientId });
    reload();
    return undefined;
  };
  const actions: Column<Credential> = {
    field: 'actions',
    label: '',
    cell: (credential) => (
      <div class="actions">
        <Confirm
          action={fill(t.exchangeThis, { name: credential.clientId })}
          short={t.exchange}
          onConfirm={create}
          disabledBy={exchange && reasonId}
        >
          <p>{fill(t.exchangeText, { name: credential.clientId })}</p>
          <Proof issuers={issuers} />
        </Confirm>
        <Revoke
          credential={credential}
          exchange={exchange}
          onRevoke={() => revoke(credential.clientId)}
        />
      </div>
    ),
  };
  return (
    <>
      <h3>{t.credentials}</h3>
      {!answer && <Waiting />}
      {answer && !answer.ok && <Alert problem={answer.problem} onRetry={reload} />}
      {created && (
        <ShownOnce
          key={created.clientId}
          text={t.secretOnce}
          values={[
            [t.clientId, created.clientId],
            [t.secret, created.clientSecret],
          ]}
          done={t.secretKeptDone}
          onKept={() => setCreated(undefined)}
        />
      )}
      <div role="status">{exchange && <NextStep {...exchange} />}</div>
      {exchange && (
        <p>
          <button type="button" onClick={reload}>
            {t.reloadCredentials}
          </button>
        </p>
      )}
      {shown && shown.data.length > 0 && (
        <Table
          columns={[...columns(shown.data), actions]}
          rows={shown.data}
          rowKey={({ clientId }) => clientId}
          caption={t.credentials}
        />
      )}
      {exchange && <p id={reasonId}>{t.errors['error.toomanycredentials']}</p>}
      {shown?.data.length === 0 && (
        <>
          <p>{t.noCredentials}</p>
          <Confirm action={fill(t.newCredential, { name })} onConfirm={create}>
            <Proof issuers={issuers} />
          </Confirm>
        </>
      )}
    </>
  );
}

/** By what the module authenticates itself: a secret, or what its platform states about it. */
function Proof({ issuers }: { readonly issuers: ListModuleIssuersResponse }) {
  const t = texts();
  const [chosen, setChosen] = useState('');
  const audience = issuers.find(({ issuer }) => issuer === chosen)?.audience;
  const onInput = ({ target }: Event) =>
    target instanceof HTMLSelectElement && setChosen(target.value);
  return (
    <div onInput={onInput}>
      {issuers.length > 0 && (
        <SelectField
          name="issuer"
          label={t.proof}
          options={[['', t.proofSecret], ...issuers.map(({ issuer }) => [issuer, issuer] as const)]}
        />
      )}
      {audience === undefined ? (
        <p>{t.newCredentialText}</p>
      ) : (
        <TextField
          name="identity"
          label={t.moduleSubject}
          hint={fill(t.moduleSubjectHint, { audience })}
          verbatim
        />
      )}
    </div>
  );
}

const idsOf = ({ former, newer }: Exchange) => ({
  former: former.clientId,
  newer: newer.clientId,
});

function NextStep(exchange: Exchange) {
  const t = texts();
  const { lastUsed, identity } = exchange.newer;
  const unused = identity ? t.exchangeUnusedIdentity : t.exchangeUnused;
  const step = lastUsed ? t.exchangeUsed : unused;
  return <p class="notice">{fill(step, idsOf(exchange))}</p>;
}

interface RevokeProperties {
  readonly credential: Credential;
  readonly exchange: Exchange | undefined;
  readonly onRevoke: Act;
}

function Revoke({ credential, exchange, onRevoke }: RevokeProperties) {
  const t = texts();
  const { clientId } = credential;
  const isFormer = exchange?.former.clientId === clientId;
  const isNeeded = isFormer && !exchange.newer.lastUsed;
  return (
    <Confirm
      action={fill(isFormer ? t.revokeFormer : t.revokeThis, { name: clientId })}
      short={t.revoke}
      onConfirm={onRevoke}
      danger
    >
      {isNeeded && (
        <p>
          <strong>{fill(t.revokeTooEarly, idsOf(exchange))}</strong>
        </p>
      )}
      <p>{t.revokeText}</p>
    </Confirm>
  );
}

function columns(credentials: readonly Credential[]): Column<Credential>[] {
  const t = texts();
  const proof: Column<Credential> = {
    field: 'proof',
    label: t.proof,
    cell: ({ identity }) => identity?.subject ?? t.proofSecret,
  };
  return [
    { field: 'clientId', label: t.clientId, cell: ({ clientId }) => clientId },
    ...(credentials.some(({ identity }) => identity) ? [proof] : []),
    { field: 'createdBy', label: t.createdByLabel, cell: ({ createdBy }) => createdBy },
    { field: 'expires', label: t.expires, cell: ({ expires }) => <Time instant={expires} /> },
    { field: 'lastUsed', label: t.lastUsed, cell: ({ lastUsed }) => <Time instant={lastUsed} /> },
  ];
}
