import type { Integration as IntegrationData } from '../api/generated/types.gen.ts';
import type { Success } from '../api/request.ts';
import { Confirm } from '../components/confirm.tsx';
import { Conflict } from '../components/conflict.tsx';
import { useEditing } from '../components/editing.ts';
import { Form } from '../components/form.tsx';
import { useLoad } from '../components/load.ts';
import { Managed, ManagedBadge } from '../components/managed.tsx';
import { Copy } from '../components/parts.tsx';
import { Alert, Waiting } from '../components/problem.tsx';
import { Screen } from '../components/screen.tsx';
import { navigate } from '../navigation.ts';
import { BASE, withQuery } from '../route.ts';
import { isAdministrator, managesIntegrations, send, texts } from '../state.ts';
import { fill } from '../text.ts';
import {
  type IntegrationFields,
  IntegrationFormFields,
  integrationFieldsOf,
} from './integrations.tsx';
import { Module } from './module.tsx';
import { Parameters } from './parameters.tsx';

export function Integration({ id }: { id: string }) {
  const t = texts();
  const path = { id: Number(id) };
  const { answer, shown, reload } = useLoad(id, () =>
    send('GET /api/utm-integrations/{id}', { path }),
  );
  return (
    <Screen
      above={[`${BASE}/integrations`, t.integrations]}
      title={shown ? shown.data.name : `${t.integration} ${id}`}
    >
      {!answer && <Waiting />}
      {answer && !answer.ok && <Alert problem={answer.problem} onRetry={reload} />}
      {shown && <ManagedBadge by={shown.data.managedBy} />}
      {shown &&
        (managesIntegrations() ? (
          <EditIntegration key={id} loaded={shown} onChanged={reload} />
        ) : (
          <ReadIntegration integration={shown.data} />
        ))}
    </Screen>
  );
}

function ReadIntegration({ integration }: { integration: IntegrationData }) {
  const t = texts();
  const { name, shortName, description, integrationType, active } = integration;
  return (
    <>
      <dl>
        <dt>{t.name}</dt>
        <dd>{name}</dd>
        <dt>{t.shortName}</dt>
        <dd>{shortName}</dd>
        <dt>{t.description}</dt>
        <dd>{description ?? '–'}</dd>
        <dt>{t.type}</dt>
        <dd>{integrationType}</dd>
        <dt>{t.state}</dt>
        <dd>{active ? t.active : t.inactive}</dd>
      </dl>
      <Restart module={integration.module} />
    </>
  );
}

function Restart({ module }: { module: IntegrationData['module'] }) {
  const t = texts();
  if (!module) return null;
  return (
    <div class="notice">
      {module.needsRestart && (
        <p>
          <strong>{t.restart}</strong>
        </p>
      )}
      <p>{module.needsRestart ? t.restartText : t.restartNone}</p>
    </div>
  );
}

interface Properties {
  readonly loaded: Success<IntegrationData>;
  /** The integration or a parameter was changed, which the title and its module show. */
  readonly onChanged: () => void;
}

function EditIntegration({ loaded, onChanged }: Properties) {
  const t = texts();
  const { id } = loaded.data;
  const editing = useEditing<IntegrationData, IntegrationFields>({
    form: 'integration',
    labels: {
      name: t.name,
      shortName: t.shortName,
      description: t.description,
      integrationType: t.type,
      active: t.state,
    },
    loaded,
    put: (fields, { etag: ifMatch }) =>
      send('PUT /api/utm-integrations', { body: { ...fields, id } }, { ifMatch }),
    get: () => send('GET /api/utm-integrations/{id}', { path: { id } }),
    onSaved: onChanged,
  });
  const { current, formKey, save } = editing;
  const integration = current.data;
  const trail = withQuery(`${BASE}/audit`, { 'integrationId.equals': String(id) });
  return (
    <div class="columns late">
      <div>
        {/* As last loaded: a change of a parameter sets the flag, and leaves the form as it is. */}
        <Restart module={loaded.data.module} />
        <Managed by={integration.managedBy}>
          <Parameters integrationId={id} onChanged={onChanged} />
        </Managed>
        <section class="card">
          <h2>{t.settings}</h2>
          <Managed by={integration.managedBy}>
            <Form
              key={formKey}
              submit={t.save}
              onSave={(values, edited) => save(integrationFieldsOf(values), edited)}
              draft={editing.draft}
            >
              <IntegrationFormFields integration={integration} />
            </Form>
          </Managed>
          <Conflict
            editing={editing}
            target={`integration/${id}`}
            show={(field, value) => {
              if (field === 'active') return value ? t.active : t.inactive;
              return String(value || '–');
            }}
          />
        </section>
      </div>
      <div>
        <Module id={id} name={integration.name} loaded={loaded} />
        <section class="card">
          <h2>{t.more}</h2>
          <p>
            {t.id}: {id} <Copy text={String(id)} label={t.id} />
          </p>
          {isAdministrator() && (
            <p>
              <a href={trail} aria-label={fill(t.trailOf, { name: integration.name })}>
                {t.auditTrail}
              </a>
            </p>
          )}
          <Managed by={integration.managedBy}>
            <Deletion integration={integration} />
          </Managed>
        </section>
      </div>
    </div>
  );
}

/**
 * Names what goes with the integration. Without If-Match: each change of a parameter moves the
 * ETag, and the name that is typed says which integration is meant.
 */
function Deletion({ integration }: { integration: IntegrationData }) {
  const t = texts();
  const { id, name } = integration;
  const action = fill(t.deleteThis, { name });
  const remove = async () => {
    const result = await send('DELETE /api/utm-integrations/{id}', { path: { id } });
    if (!result.ok) return result.problem;
    const say = fill(t.deleted, { name });
    await navigate(`${BASE}/integrations`, { saved: true, replace: true, say });
    return undefined;
  };
  return (
    <Confirm action={action} short={t.delete} typed={name} onConfirm={remove} danger>
      <DeletedParameters id={id} />
    </Confirm>
  );
}

/** Counted when the dialog opens: parameters may have been added since the page was loaded. */
function DeletedParameters({ id }: { id: number }) {
  const query = { 'integrationId.equals': id };
  const { answer } = useLoad(String(id), () =>
    send('GET /api/utm-integration-confs/count', { query }),
  );
  return <p>{fill(texts().integrationDeleted, { n: answer?.ok ? answer.data : '…' })}</p>;
}
