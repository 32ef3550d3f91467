import { useEffect, useRef, useState } from 'preact/hooks';
import type { AuditEntry } from '../api/generated/types.gen.ts';
import { actionOf, changesCell, changeText, fieldsOf, REFUSED_LOGINS } from '../audit.ts';
import { DataList } from '../components/data-list.tsx';
import type { Filter } from '../components/filters.tsx';
import { Icon } from '../components/icon.tsx';
import { ExactTime } from '../components/parts.tsx';
import { Screen } from '../components/screen.tsx';
import type { Column } from '../components/table.tsx';
import { type Query, type Sort, sortOf, withChanges } from '../list.ts';
import { hereWith, query } from '../navigation.ts';
import { BASE, integrationPath, withQuery } from '../route.ts';
import { send, texts, token, waitingForPassword } from '../state.ts';
import { boundOf, dayOf, fill, timeZone } from '../text.ts';

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

/** How often new entries are looked for, while the first page is shown. */
const LOOK_MS = 30_000;
/** How much the clock of the browser may be ahead. */
const CLOCK_SKEW_MS = 300_000;

const NEWEST_FIRST: Sort = { field: 'time', descending: true };

const alertOf = ({ action }: AuditEntry) =>
  REFUSED_LOGINS.includes(action) && <Icon name="alert" />;

export function Audit() {
  const t = texts();
  const [chosen, setChosen] = useState<AuditEntry>();
  const [round, setRound] = useState(0);
  const [shown, setShown] = useState<readonly AuditEntry[]>();
  const close = () => {
    document.querySelector<HTMLElement>('tr.chosen button')?.focus();
    setChosen(undefined);
  };
  return (
    <Screen title={t.auditTrail}>
      <NewEntries shown={shown} onShow={() => setRound(round + 1)} />
      <DataList
        key={round}
        title={t.auditTrail}
        load={(asked) => send('GET /api/audits', { query: asked })}
        onShown={setShown}
        columns={columnsOf(setChosen)}
        filters={filtersOf()}
        rowKey={({ id }) => id}
        sort={NEWEST_FIRST}
        empty={t.noEntries}
        file="audit.csv"
        heads={CSV_FIELDS}
        cells={(entry) =>
          CSV_FIELDS.map((field) =>
            field === 'changes' ? changesCell(entry.changes) : entry[field],
          )
        }
        ranges={<QuickRanges />}
        chosen={chosen?.id}
        details={chosen && <Entry entry={chosen} onClose={close} />}
      />
    </Screen>
  );
}

function QuickRanges() {
  const t = texts();
  const from = 'time.greaterThanOrEqual';
  const rangeOf = (days: number): string =>
    boundOf(dayOf(new Date(Date.now() - days * 86_400_000).toISOString(), 'from'), 'from');
  return (
    <ul class="chips" aria-label={t.ranges}>
      {[0, 7, 30].map((days) => {
        const value = rangeOf(days);
        const isSet = query.value[from] === value;
        const target = { [from]: isSet ? '' : value, 'time.lessThan': '' };
        return (
          <li key={days}>
            <a
              href={hereWith(withChanges(query.value, target))}
              aria-current={isSet ? 'true' : undefined}
            >
              {days === 0 ? t.today : fill(t.lastDays, { n: days })}
            </a>
          </li>
        );
      })}
    </ul>
  );
}

interface NewEntriesProperties {
  readonly shown: readonly AuditEntry[] | undefined;
  readonly onShow: () => void;
}

/** Says that there are entries after those that are shown, and shows them on demand. */
function NewEntries({ shown, onShow }: NewEntriesProperties) {
  const t = texts();
  const [isNew, setNew] = useState(false);
  const asked = query.value;
  const isNewestFirst =
    Number(asked.page ?? 0) === 0 && !asked.cursor && sortOf(asked, NEWEST_FIRST).descending;
  // biome-ignore lint/correctness/useExhaustiveDependencies: each query shows entries of its own.
  useEffect(() => {
    setNew(false);
    if (!shown || !isNewestFirst) return undefined;
    // Without a bound, filters that select nothing would read the whole trail again and again.
    const newest = shown[0]?.time ?? new Date(Date.now() - CLOCK_SKEW_MS).toISOString();
    const newer = {
      ...asked,
      size: 1,
      'time.greaterThan': [newest, asked['time.greaterThan'] ?? ''].sort()[1],
    };
    let current = true;
    let refused: string | undefined;
    const look = async () => {
      // Somebody who has refused to enter the password is not asked again by a timer.
      if (document.hidden || waitingForPassword.value || token.value === refused) return;
      const answer = await send('GET /api/audits', { query: newer });
      if (!current) return;
      if (!answer.ok && answer.problem.status === 401) refused = token.value;
      if (answer.ok && answer.data[0]) setNew(true);
    };
    const timer = setInterval(() => void look(), LOOK_MS);
    return () => {
      current = false;
      clearInterval(timer);
    };
  }, [shown]);
  return (
    <div role="status">
      {isNew && (
        <p>
          {t.newEntries}{' '}
          <button type="button" onClick={onShow}>
            {t.show}
          </button>
        </p>
      )}
    </div>
  );
}

/** Everything about one entry, with what leads from it to others. */
function Entry({ entry, onClose }: { entry: AuditEntry; onClose: () => void }) {
  const t = texts();
  const heading = useRef<HTMLHeadingElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each entry takes the focus.
  useEffect(() => heading.current?.focus(), [entry.id]);
  const { time, actor, actorId, target, targetName, changes, source, count } = entry;
  const trail = (filter: Query) => withQuery(`${BASE}/audit`, filter);
  const place = placeOf(entry);
  return (
    <section class="card" aria-labelledby="entry">
      <h2 id="entry" tabIndex={-1} ref={heading}>
        {actionOf(entry, t)}
      </h2>
      <dl translate={false}>
        <dt>{t.time}</dt>
        <dd>
          <ExactTime instant={time} />
        </dd>
        <dt>{t.actor}</dt>
        <dd>
          {actorId === 0 ? (
            // No user: a module, a provider, a command, or a request without a log-in.
            actor
          ) : (
            <a href={withQuery(`${BASE}/users`, { 'id.equals': String(actorId) })}>{actor}</a>
          )}
        </dd>
        <dt>{t.target}</dt>
        <dd>{place ? <a href={place}>{targetName || target}</a> : targetName || target}</dd>
        <dt>{t.source}</dt>
        <dd>{source ?? '–'}</dd>
      </dl>
      {changes.length > 0 && (
        <ul class="log" translate={false}>
          {changes.map((change) => (
            <li key={change.field}>{changeText(change, t)}</li>
          ))}
        </ul>
      )}
      {count && <p>{fill(t.failedAttempts, { count })}</p>}
      <ul>
        <li>
          <a href={trail({ 'target.equals': target })}>
            {fill(t.trailOf, { name: targetName || target })}
          </a>
        </li>
        <li>
          <a href={trail({ 'actor.equals': actor })}>{fill(t.allBy, { name: actor })}</a>
        </li>
        {source && (
          <li>
            <a href={trail({ 'source.equals': source })}>{fill(t.allFrom, { source })}</a>
          </li>
        )}
      </ul>
      <details>
        <summary>{t.entryJson}</summary>
        <pre translate={false}>{JSON.stringify(entry, null, 2)}</pre>
      </details>
      <p>
        <button type="button" onClick={onClose}>
          {t.close}
        </button>
      </p>
    </section>
  );
}

/** The page of what an entry is about, which may be gone by now. */
function placeOf({ target, integrationId }: AuditEntry): string | undefined {
  const [kind, id = ''] = target.split('/');
  if (kind === 'user') return withQuery(`${BASE}/users`, { 'id.equals': id });
  const integration = kind === 'integration' ? id : integrationId;
  return integration ? integrationPath(integration) : undefined;
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
    { name: 'targetName.contains', label: t.findTarget, as: 'search' },
    { name: 'added.equals', label: t.roleGranted, options: Object.entries(t.roleNames) },
    { name: 'removed.equals', label: t.roleTaken, options: Object.entries(t.roleNames) },
    { name: 'source.equals', label: t.source },
    { name: 'time.greaterThanOrEqual', label: t.from, as: 'from' },
    { name: 'time.lessThan', label: t.until, as: 'until' },
    { name: 'target.equals', label: t.target, as: 'link' },
    { name: 'integrationId.equals', label: t.integration, as: 'link' },
    {
      name: 'action.in',
      label: t.action,
      options: [[REFUSED_LOGINS.join(), t.refusedLogins]],
      as: 'link',
    },
    { name: 'actorId.equals', label: t.actor, options: [['0', t.noUserActor]], as: 'link' },
    { name: 'time.greaterThan', label: t.from, as: 'instant' },
  ];
}

function columnsOf(choose: (entry: AuditEntry) => void): Column<AuditEntry>[] {
  const t = texts();
  return [
    {
      field: 'time',
      label: `${t.time} (${timeZone()})`,
      sortable: true,
      width: 'w14',
      cell: (entry) => (
        <button type="button" class="link" onClick={() => choose(entry)}>
          <ExactTime instant={entry.time} />
        </button>
      ),
    },
    { field: 'actor', label: t.actor, width: 'w8', rank: 1, cell: ({ actor }) => actor },
    {
      field: 'action',
      label: t.action,
      cell: (entry) => [alertOf(entry), ' ', actionOf(entry, t)],
    },
    {
      field: 'fields',
      label: t.fields,
      width: 'w12',
      rank: 2,
      cell: (entry) => fieldsOf(entry, t),
    },
    { field: 'source', label: t.source, width: 'w8', rank: 2, cell: ({ source }) => source },
  ];
}
