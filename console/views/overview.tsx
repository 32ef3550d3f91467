import { useState } from 'preact/hooks';
import type { GetOverviewResponse } from '../api/generated/types.gen.ts';
import { actionOf, REFUSED_LOGINS } from '../audit.ts';
import { Confirm } from '../components/confirm.tsx';
import { Badge, Icon } from '../components/icon.tsx';
import { useLoad } from '../components/load.ts';
import { Time } from '../components/parts.tsx';
import { Alert, Waiting } from '../components/problem.tsx';
import { Screen } from '../components/screen.tsx';
import { BASE, userPath, withQuery } from '../route.ts';
import { account, language, send, texts } from '../state.ts';
import { DAY_MS, day, fill, type PluralForms, plural } from '../text.ts';
import { FactorBadge } from './user-badges.tsx';

type Counts = NonNullable<GetOverviewResponse['counts']>;
type Days = NonNullable<GetOverviewResponse['days']>;

/** What needs attention, what has happened, and who the administrators are. */
export function Overview() {
  const t = texts();
  const { answer, shown, reload } = useLoad('', () => send('GET /api/overview', {}));
  const count = async () => {
    const counted = await send('POST /api/overview/count', {});
    if (!counted.ok) return counted.problem;
    reload();
    return undefined;
  };
  return (
    <Screen
      title={t.overview}
      actions={
        <Confirm action={t.countNow} onConfirm={count}>
          <p>{t.countNowText}</p>
        </Confirm>
      }
    >
      {!answer && <Waiting />}
      {answer && !answer.ok && <Alert problem={answer.problem} onRetry={reload} />}
      {shown && <Shown overview={shown.data} />}
    </Screen>
  );
}

function Shown({ overview }: { overview: GetOverviewResponse }) {
  const t = texts();
  const { countedAt, counts, days, administrators, latest } = overview;
  return (
    <div class="columns">
      <div>
        <FirstSteps overview={overview} />
        <section class="card">
          <h2>{t.attention}</h2>
          {counts && countedAt ? (
            <Attention counts={counts} countedAt={countedAt} />
          ) : (
            <p>{t.notCounted}</p>
          )}
        </section>
        {days && (
          <section class="card">
            <h2>{t.activity}</h2>
            <Activity days={days} />
          </section>
        )}
      </div>
      <div>
        <section class="card">
          <h2>{t.administrators}</h2>
          <ul class="log" translate={false}>
            {administrators.map(({ login, secondFactor, lastLogin }) => (
              <li key={login}>
                <a href={userPath(login)}>{login}</a>{' '}
                <FactorBadge on={secondFactor} roles={['ROLE_ADMIN']} named />{' '}
                <Time instant={lastLogin} />
              </li>
            ))}
          </ul>
        </section>
        <section class="card">
          <h2>{t.lastChanges}</h2>
          {latest.length === 0 && <p>{t.none}</p>}
          <ul class="log" translate={false}>
            {latest.map((entry) => (
              <li key={entry.id}>
                {actionOf(entry, t)} <Time instant={entry.time} />
              </li>
            ))}
          </ul>
          <p>
            <a href={`${BASE}/audit`}>{t.auditTrail}</a>
          </p>
        </section>
      </div>
    </div>
  );
}

/** Each count that is not zero, as a link to what it counts. */
function Attention({ counts, countedAt }: { counts: Counts; countedAt: string }) {
  const t = texts();
  const rows = linksTo(countedAt)
    .map(([name, href]) => ({ name, href, n: counts[name] }))
    .filter(({ n }) => n > 0);
  return (
    <>
      {rows.length === 0 && (
        <p>
          <Badge tone="good" icon="check" text={t.nothingWrong} />
        </p>
      )}
      <ul class="attention" translate={false}>
        {rows.map(({ name, href, n }) => (
          <li key={name}>
            <a href={href}>
              <Icon name="alert" />
              {plural(language.value, t.counts[name] as PluralForms, n)}
            </a>
          </li>
        ))}
      </ul>
      <p class="hint">
        {plural(language.value, t.usersFound, counts.users)}. {t.countedAt}{' '}
        <Time instant={countedAt} />
      </p>
    </>
  );
}

/** The lists that the counts are the lengths of, as docs/api.md has them. */
function linksTo(countedAt: string): [name: Exclude<keyof Counts, 'users'>, href: string][] {
  const at = (days: number) => new Date(Date.parse(countedAt) + days * DAY_MS).toISOString();
  const users = (query: Record<string, string>) => withQuery(`${BASE}/users`, query);
  const modules = (query: Record<string, string>) =>
    withQuery(`${BASE}/modules`, { 'active.equals': 'true', ...query });
  return [
    [
      'administratorsWithoutSecondFactor',
      users({
        'activated.equals': 'true',
        'authorities.equals': 'ROLE_ADMIN',
        'secondFactor.equals': 'false',
      }),
    ],
    [
      'deactivatedUsersWithRoles',
      users({ 'activated.equals': 'false', 'authorities.specified': 'true' }),
    ],
    ['expiredInvitations', users({ 'state.equals': 'invitationExpired' })],
    ['usersNeverLoggedIn', users({ 'state.equals': 'neverLoggedIn' })],
    ['usersInactive', users({ 'activated.equals': 'true', 'lastLogin.lessThan': at(-90) })],
    ['modulesFailed', modules({ 'progress.equals': 'failed' })],
    ['modulesBehind', modules({ 'progress.equals': 'behind' })],
    ['modulesSilent', modules({ 'lastSeen.lessThan': at(-25 / 24) })],
    ['modulesWithExpiringCredentials', modules({ 'credentialsExpire.lessThan': at(30) })],
    [
      'refusedLogins',
      withQuery(`${BASE}/audit`, {
        'action.in': REFUSED_LOGINS.join(),
        'actorId.equals': '0',
        'time.greaterThan': at(-1),
      }),
    ],
  ];
}

/** Two bars per day, and the numbers of one day; the table has them all. */
function Activity({ days }: { days: Days }) {
  const t = texts();
  const [chosen, setChosen] = useState(days.length - 1);
  const most = Math.max(1, ...days.flatMap(({ logins, changes }) => [logins, changes]));
  const heightOf = (n: number) => (n === 0 ? 0 : Math.max(2, (n / most) * 100));
  const [first, shown] = [days[0], days[chosen]];
  if (!first || !shown) return null;
  const dayOf = ({ day: date }: Days[number]) => day(language.value, date);
  const inWords = `${dayOf(shown)}: ${t.logins} ${shown.logins}, ${t.changes} ${shown.changes}`;
  return (
    <>
      <p class="scale hint">{fill(t.maximum, { n: most })}</p>
      <div class="chart">
        <svg viewBox={`0 0 ${days.length * 20} 100`} preserveAspectRatio="none" aria-hidden="true">
          <rect class="chosen" x={chosen * 20} width="20" height="100" />
          {days.map(({ day: date, logins, changes }, index) => (
            <g key={date}>
              <Bar kind="logins" x={index * 20 + 3} height={heightOf(logins)} />
              <Bar kind="changes" x={index * 20 + 10} height={heightOf(changes)} />
            </g>
          ))}
        </svg>
        <input
          type="range"
          aria-label={t.day}
          aria-valuetext={inWords}
          max={days.length - 1}
          value={chosen}
          onInput={({ currentTarget }) => setChosen(Number(currentTarget.value))}
          onPointerMove={({ offsetX, currentTarget }) => {
            const at = Math.floor((offsetX / currentTarget.clientWidth) * days.length);
            setChosen(Math.min(Math.max(at, 0), days.length - 1));
          }}
        />
      </div>
      <p class="scale hint">
        <span>{dayOf(first)}</span>
        <span>{dayOf(days.at(-1) ?? first)}</span>
      </p>
      <p class="legend hint" translate={false}>
        {dayOf(shown)}:{' '}
        <span class="logins">
          {t.logins} {shown.logins}
        </span>{' '}
        <span class="changes">
          {t.changes} {shown.changes}
        </span>
      </p>
      <details>
        <summary>{t.asTable}</summary>
        <table>
          <caption>{t.activity}</caption>
          <thead>
            <tr>
              <th scope="col">{t.day}</th>
              <th scope="col">{t.logins}</th>
              <th scope="col">{t.changes}</th>
            </tr>
          </thead>
          <tbody translate={false}>
            {days.map(({ day: date, logins, changes }) => (
              <tr key={date}>
                <th scope="row">{day(language.value, date)}</th>
                <td data-label={t.logins}>{logins}</td>
                <td data-label={t.changes}>{changes}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </>
  );
}

const Bar = ({ kind, x, height }: { kind: string; x: number; height: number }) => (
  <rect class={kind} x={x} y={100 - height} width="6" height={height} />
);

/** What a fresh deployment needs; the list ends when everything is done. */
function FirstSteps({ overview }: { overview: GetOverviewResponse }) {
  const t = texts();
  const { answer } = useLoad('', () => send('GET /api/utm-integrations', { query: { size: 1 } }));
  if (!answer?.ok) return null;
  const steps: [text: string, href: string, done: boolean][] = [
    [t.stepAdministrator, `${BASE}/users/new`, overview.administrators.length > 1],
    [t.stepFactor, `${BASE}/account/second-factor`, account.value?.secondFactor ?? false],
    [t.stepIntegration, `${BASE}/integrations/new`, answer.data.length > 0],
  ];
  const done = steps.filter(([, , isDone]) => isDone).length;
  if (done === steps.length) return null;
  return (
    <section class="card">
      <h2>{fill(t.firstSteps, { n: done, total: steps.length })}</h2>
      <ul class="attention">
        {steps.map(([text, href, isDone]) => (
          <li key={href}>
            <a href={href} class={isDone ? 'finished' : undefined}>
              <Icon name={isDone ? 'check' : 'add'} />
              {text}
              {isDone && <span class="hint">({t.done})</span>}
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
