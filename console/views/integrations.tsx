import type { Integration, IntegrationType } from '../api/generated/types.gen.ts';
import type { Problem } from '../api/request.ts';
import { type Column, DataList, type Filter } from '../components/data-list.tsx';
import { CheckField, Form, SelectField, TextField } from '../components/form.tsx';
import { Screen } from '../components/screen.tsx';
import { nameOf, textOf } from '../form.ts';
import { navigate } from '../navigation.ts';
import { BASE, integrationPath } from '../route.ts';
import { managesIntegrations, send, texts } from '../state.ts';

/** Names of protocols and products, which are the same in all languages. */
const TYPES: readonly IntegrationType[] = [
  'COLLECTOR',
  'FORWARDER',
  'SCANNER',
  'CLOUD',
  'WEBHOOK',
  'API',
];
const typeOptions = TYPES.map((type) => [type, type] as const);

const CSV_FIELDS = [
  'id',
  'name',
  'shortName',
  'description',
  'integrationType',
  'active',
] as const satisfies readonly (keyof Integration)[];

export function Integrations() {
  const t = texts();
  const newPath = `${BASE}/integrations/new`;
  return (
    <Screen title={t.integrations}>
      {managesIntegrations() && (
        <p>
          <a class="button primary" href={newPath}>
            {t.newIntegration}
          </a>
        </p>
      )}
      <DataList
        title={t.integrations}
        load={(query) => send('GET /api/utm-integrations', { query })}
        columns={columnsOf()}
        filters={filtersOf()}
        rowKey={({ id }) => id}
        sort={{ field: 'id', descending: false }}
        counted={t.integrationsFound}
        empty={t.noIntegrations}
        file="integrations.csv"
        heads={CSV_FIELDS}
        cells={(integration) => CSV_FIELDS.map((field) => integration[field])}
      />
    </Screen>
  );
}

function filtersOf(): Filter[] {
  const t = texts();
  return [
    { name: 'name.contains', label: t.name },
    { name: 'id.equals', label: t.id },
    { name: 'integrationType.equals', label: t.type, options: typeOptions },
    {
      name: 'active.equals',
      label: t.state,
      options: [
        ['true', t.active],
        ['false', t.inactive],
      ],
    },
  ];
}

function columnsOf(): Column<Integration>[] {
  const t = texts();
  return [
    {
      field: 'name',
      label: t.name,
      sortable: true,
      cell: ({ id, name }) => <a href={integrationPath(id)}>{name}</a>,
    },
    { field: 'id', label: t.id, sortable: true, cell: ({ id }) => id },
    {
      field: 'shortName',
      label: t.shortName,
      sortable: true,
      cell: ({ shortName }) => shortName,
    },
    {
      field: 'integrationType',
      label: t.type,
      sortable: true,
      words: true,
      cell: ({ integrationType }) => integrationType,
    },
    {
      field: 'active',
      label: t.state,
      sortable: true,
      words: true,
      cell: ({ active }) => (active ? t.active : t.inactive),
    },
    {
      field: 'module',
      label: t.restart,
      cell: ({ module }) => (module?.needsRestart ? t.yes : t.no),
    },
  ];
}

/** What is changed of an integration in one form. */
export interface IntegrationFields extends Readonly<Record<string, unknown>> {
  readonly name: string;
  readonly shortName: string;
  readonly description: string;
  readonly integrationType: IntegrationType;
  readonly active: boolean;
}

export const integrationFieldsOf = (values: FormData): IntegrationFields => ({
  name: nameOf(values, 'name'),
  shortName: nameOf(values, 'shortName'),
  description: textOf(values, 'description'),
  integrationType: textOf(values, 'integrationType') as IntegrationType,
  active: values.has('active'),
});

export function IntegrationFormFields({ integration }: { integration?: Integration }) {
  const t = texts();
  return (
    <>
      <TextField name="name" label={t.name} hint={t.nameLimit} value={integration?.name} />
      <TextField
        name="shortName"
        label={t.shortName}
        hint={t.nameLimit}
        value={integration?.shortName}
      />
      <TextField
        name="description"
        label={t.description}
        hint={t.descriptionLimit}
        value={integration?.description}
        lines={3}
        optional
      />
      <SelectField
        name="integrationType"
        label={t.type}
        value={integration?.integrationType ?? 'COLLECTOR'}
        options={typeOptions}
      />
      <CheckField name="active" label={t.active} checked={integration?.active ?? true} />
    </>
  );
}

export function NewIntegration() {
  const t = texts();
  const save = async (values: FormData): Promise<Problem | undefined> => {
    const body = integrationFieldsOf(values);
    const answer = await send('POST /api/utm-integrations', { body });
    if (!answer.ok) return answer.problem;
    await navigate(integrationPath(answer.data.id), { saved: true, say: t.saved });
    return undefined;
  };
  return (
    <Screen title={t.newIntegration}>
      <Form submit={t.createIntegration} onSave={save} guarded>
        <IntegrationFormFields />
      </Form>
    </Screen>
  );
}
