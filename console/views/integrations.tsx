import type { Integration, IntegrationType } from '../api/generated/types.gen.ts';
import type { Problem } from '../api/request.ts';
import { DataList } from '../components/data-list.tsx';
import { CheckField, SelectField, TextField } from '../components/fields.tsx';
import type { Filter } from '../components/filters.tsx';
import { Form } from '../components/form.tsx';
import { Badge, Icon } from '../components/icon.tsx';
import { Screen } from '../components/screen.tsx';
import type { Column } from '../components/table.tsx';
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
  return (
    <Screen
      title={t.integrations}
      actions={
        managesIntegrations() && (
          <a class="button primary" href={`${BASE}/integrations/new`}>
            <Icon name="add" />
            {t.newIntegration}
          </a>
        )
      }
    >
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
    { name: 'name.contains', label: t.findIntegration, as: 'search' },
    { name: 'id.equals', label: t.id },
    { name: 'integrationType.equals', label: t.type, options: typeOptions },
    {
      name: 'active.equals',
      label: t.state,
      options: [
        ['true', t.active],
        ['false', t.inactive],
      ],
      as: 'chips',
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
      width: 'w8',
      cell: ({ integrationType }) => integrationType,
    },
    {
      field: 'active',
      label: t.state,
      sortable: true,
      width: 'w8',
      cell: ({ active }) => (
        <Badge
          tone={active ? 'good' : 'plain'}
          icon={active ? 'check' : 'cross'}
          text={active ? t.active : t.inactive}
        />
      ),
    },
    {
      field: 'module',
      label: t.restart,
      width: 'w8',
      rank: 2,
      cell: ({ module }) =>
        module?.needsRestart ? <Badge tone="warning" icon="alert" text={t.yes} /> : t.no,
    },
    { field: 'id', label: t.id, sortable: true, width: 'w4', rank: 3, cell: ({ id }) => id },
  ];
}

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
      <div class="pairs">
        <TextField name="name" label={t.name} value={integration?.name} />
        <TextField name="shortName" label={t.shortName} value={integration?.shortName} />
        <SelectField
          name="integrationType"
          label={t.type}
          value={integration?.integrationType ?? 'COLLECTOR'}
          options={typeOptions}
        />
        <CheckField name="active" label={t.active} checked={integration?.active ?? true} />
      </div>
      <TextField
        name="description"
        label={t.description}
        hint={t.descriptionLimit}
        value={integration?.description}
        lines={3}
        optional
      />
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
      <Form submit={t.createIntegration} onSave={save} draft={{ name: 'integration' }}>
        <IntegrationFormFields />
      </Form>
    </Screen>
  );
}
