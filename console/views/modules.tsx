import type { ListModulesResponse } from '../api/generated/types.gen.ts';
import { DataList } from '../components/data-list.tsx';
import type { Filter } from '../components/filters.tsx';
import { Badge, type IconName, type Tone } from '../components/icon.tsx';
import { Time } from '../components/parts.tsx';
import { Screen } from '../components/screen.tsx';
import type { Column } from '../components/table.tsx';
import { integrationPath } from '../route.ts';
import { send, texts } from '../state.ts';

type Listed = ListModulesResponse[number];

const PROGRESS = ['failed', 'behind', 'unseen', 'current'] as const;
export const LOOK = {
  failed: { tone: 'bad', icon: 'alert' },
  behind: { tone: 'warning', icon: 'clock' },
  unseen: { tone: 'plain', icon: 'cross' },
  current: { tone: 'good', icon: 'check' },
} as const satisfies Record<Listed['progress'], { tone: Tone; icon: IconName }>;

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
    { name: 'name.contains', label: t.findIntegration, as: 'search' },
    {
      name: 'progress.equals',
      label: t.state,
      options: PROGRESS.map((value) => [value, t.progress[value]] as const),
      as: 'chips',
    },
    { name: 'credentialsExpire.lessThan', label: t.expireBefore, as: 'from' },
    {
      name: 'active.equals',
      label: t.integration,
      options: [
        ['true', t.active],
        ['false', t.inactive],
      ],
      as: 'link',
    },
    { name: 'lastSeen.lessThan', label: t.seenBefore, as: 'instant' },
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
    {
      field: 'progress',
      label: t.state,
      sortable: true,
      width: 'w8',
      cell: ({ progress, flapping }) => (
        <>
          <Badge {...LOOK[progress]} text={t.progress[progress]} />
          {flapping && <Badge tone="warning" icon="alert" text={t.flapping} />}
        </>
      ),
    },
    { field: 'reason', label: t.fieldNames.reason, cell: ({ reason }) => reason },
    { field: 'wanted', label: t.wanted, width: 'w6', rank: 3, cell: ({ wanted }) => wanted },
    {
      field: 'running',
      label: t.running,
      width: 'w6',
      rank: 3,
      cell: ({ running }) => running ?? '–',
    },
    {
      field: 'lastSeen',
      label: t.lastSeen,
      sortable: true,
      width: 'w6',
      cell: ({ lastSeen }) => <Time instant={lastSeen} />,
    },
    {
      field: 'credentialsExpire',
      label: t.expires,
      sortable: true,
      width: 'w8',
      rank: 1,
      // Without a credential, nothing expires.
      cell: ({ credentialsExpire }) =>
        credentialsExpire ? <Time instant={credentialsExpire} /> : '–',
    },
    { field: 'id', label: t.id, sortable: true, width: 'w4', rank: 3, cell: ({ id }) => id },
  ];
}
