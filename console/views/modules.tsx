import type { ListModulesResponse } from '../api/generated/types.gen.ts';
import { type Column, DataList, type Filter } from '../components/data-list.tsx';
import { Time } from '../components/parts.tsx';
import { Screen } from '../components/screen.tsx';
import { integrationPath } from '../route.ts';
import { send, texts } from '../state.ts';

type Listed = ListModulesResponse[number];

const PROGRESS = ['failed', 'behind', 'unseen', 'current'] as const;
const CSV_FIELDS = [
  'id',
  'name',
  'active',
  'progress',
  'wanted',
  'running',
  'failed',
  'reason',
  'lastSeen',
  'flapping',
  'credentials',
  'credentialsExpire',
] as const satisfies readonly (keyof Listed)[];

/** What the modules of all integrations run. */
export function Modules() {
  const t = texts();
  return (
    <Screen title={t.modules}>
      <DataList
        title={t.modules}
        load={(query) => send('GET /api/modules', { query })}
        columns={columnsOf()}
        filters={filtersOf()}
        rowKey={({ id }) => id}
        sort={{ field: 'id', descending: false }}
        counted={t.modulesFound}
        empty={t.noModules}
        file="modules.csv"
        heads={CSV_FIELDS}
        cells={(module) => CSV_FIELDS.map((field) => module[field])}
      />
    </Screen>
  );
}

function filtersOf(): Filter[] {
  const t = texts();
  return [
    { name: 'name.contains', label: t.integration },
    {
      name: 'progress.equals',
      label: t.state,
      options: PROGRESS.map((value) => [value, t.progress[value]] as const),
    },
    { name: 'credentialsExpire.lessThan', label: t.expireBefore, type: 'from' },
  ];
}

function columnsOf(): Column<Listed>[] {
  const t = texts();
  return [
    {
      field: 'name',
      label: t.integration,
      sortable: true,
      cell: ({ id, name }) => <a href={integrationPath(id)}>{name}</a>,
    },
    { field: 'id', label: t.id, sortable: true, cell: ({ id }) => id },
    {
      field: 'progress',
      label: t.state,
      sortable: true,
      words: true,
      cell: ({ progress, flapping }) =>
        [t.progress[progress], flapping && t.flapping].filter(Boolean).join(', '),
    },
    { field: 'wanted', label: t.wanted, cell: ({ wanted }) => wanted },
    { field: 'running', label: t.running, cell: ({ running }) => running ?? '–' },
    {
      field: 'lastSeen',
      label: t.moduleSeen,
      sortable: true,
      words: true,
      cell: ({ lastSeen }) => <Time instant={lastSeen} />,
    },
    {
      field: 'credentialsExpire',
      label: t.expires,
      sortable: true,
      words: true,
      cell: ({ credentialsExpire }) => <Time instant={credentialsExpire} />,
    },
  ];
}
