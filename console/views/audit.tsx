import type { AuditEntry } from '../api/generated/types.gen.ts';
import { changesCell, sentenceOf } from '../audit.ts';
import { type Column, DataList, type Filter } from '../components/data-list.tsx';
import { Time } from '../components/parts.tsx';
import { Screen } from '../components/screen.tsx';
import { send, texts } from '../state.ts';
import { fill, timeZone } from '../text.ts';

const CSV_FIELDS = [
  'time',
  'actor',
  'actorId',
  'action',
  'target',
  'targetName',
  'integrationId',
  'integrationName',
  'fields',
  'changes',
  'count',
  'session',
  'source',
  'id',
] as const satisfies readonly (keyof AuditEntry)[];

export function Audit() {
  const t = texts();
  return (
    <Screen title={t.auditTrail}>
      <DataList
        title={t.auditTrail}
        load={(query) => send('GET /api/audits', { query })}
        columns={columnsOf()}
        filters={filtersOf()}
        rowKey={({ id }) => id}
        sort={{ field: 'time', descending: true }}
        empty={t.noEntries}
        file="audit.csv"
        heads={CSV_FIELDS}
        cells={(entry) =>
          CSV_FIELDS.map((field) =>
            field === 'changes' ? changesCell(entry.changes) : entry[field],
          )
        }
      />
    </Screen>
  );
}

function filtersOf(): Filter[] {
  const t = texts();
  return [
    { name: 'actor.equals', label: t.actor },
    {
      name: 'action.equals',
      label: t.action,
      options: Object.entries(t.actions).map(([action, sentence]) => [
        action,
        fill(sentence, { actor: '…', target: '…' }),
      ]),
    },
    { name: 'targetName.contains', label: t.target },
    { name: 'added.equals', label: t.roleGranted, options: Object.entries(t.roleNames) },
    { name: 'removed.equals', label: t.roleTaken, options: Object.entries(t.roleNames) },
    { name: 'source.equals', label: t.source },
    { name: 'time.greaterThanOrEqual', label: t.from, type: 'from' },
    { name: 'time.lessThan', label: t.until, type: 'until' },
    { name: 'target.equals', label: t.target, hidden: true },
    { name: 'integrationId.equals', label: t.integrations, hidden: true },
  ];
}

function columnsOf(): Column<AuditEntry>[] {
  const t = texts();
  return [
    {
      field: 'time',
      label: `${t.time} (${timeZone()})`,
      sortable: true,
      cell: ({ time }) => <Time instant={time} />,
    },
    {
      field: 'action',
      label: t.action,
      cell: (entry) => (
        <>
          {sentenceOf(entry, t)}
          <details>
            <summary>{t.entryJson}</summary>
            <pre>{JSON.stringify(entry, null, 2)}</pre>
          </details>
        </>
      ),
    },
  ];
}
