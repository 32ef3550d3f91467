import { useState } from 'preact/hooks';
import type { CreateTokenResponse, Scope } from '../api/generated/types.gen.ts';
import type { Problem } from '../api/request.ts';
import { FieldSet, SelectField, TextField } from '../components/fields.tsx';
import { Form } from '../components/form.tsx';
import { focusHeading } from '../components/screen.tsx';
import { ShownOnce } from '../components/shown-once.tsx';
import { Table } from '../components/table.tsx';
import { type Area, areaNames, scopeText, Tokens } from '../components/tokens.tsx';
import { nameOf, textOf } from '../form.ts';
import { language, notice, send, texts } from '../state.ts';
import { boundOf, DAY_MS } from '../text.ts';
import { AccountScreen } from './account.tsx';

/** The caller's API tokens. A new one is shown once, until it is kept. */
export function OwnTokens() {
  const t = texts();
  const [created, setCreated] = useState<CreateTokenResponse>();
  const [round, setRound] = useState(0);
  const create = async (values: FormData): Promise<Problem | undefined> => {
    const body = {
      name: nameOf(values, 'name'),
      scopes: scopesOf(values),
      expires: expiryOf(values),
    };
    const answer = await send('POST /api/account/tokens', { body });
    if (!answer.ok) return besideLastDay(answer.problem, values);
    notice.value = '';
    setCreated(answer.data);
    setRound(round + 1);
    return undefined;
  };
  const remove = async (series: string) => {
    const answer = await send('POST /api/account/tokens/{series}/delete', { path: { series } });
    if (answer.ok && series === created?.series) setCreated(undefined);
    return answer;
  };
  const onKept = () => {
    setCreated(undefined);
    focusHeading();
  };
  return (
    <AccountScreen title={t.apiTokens}>
      <p>{t.tokensText}</p>
      <Tokens key={round} load={() => send('GET /api/account/tokens', {})} remove={remove} />
      {created ? (
        <ShownOnce
          text={t.tokenOnce}
          values={[[t.apiToken, created.token]]}
          done={t.tokenKept}
          onKept={onKept}
        />
      ) : (
        <Form submit={t.createToken} onSave={create} draft={{ name: 'token' }}>
          <NewToken />
        </Form>
      )}
    </AccountScreen>
  );
}

function NewToken() {
  const t = texts();
  return (
    <>
      <h2>{t.newToken}</h2>
      <TextField name="name" label={t.name} hint={t.tokenNameHint} />
      <ScopesField />
      <div class="pairs">
        <SelectField
          name="expires"
          label={t.expires}
          value={String(30 * DAY_MS)}
          options={lifeOptions()}
        />
        <TextField name="lastDay" label={t.lastDay} type="date" optional />
      </div>
    </>
  );
}

const HOUR_MS = 3_600_000;
/** How long a new token can live, in milliseconds. */
const LIVES = [
  [10, 'minute', HOUR_MS / 6],
  [1, 'day', DAY_MS],
  [30, 'day', 30 * DAY_MS],
  [90, 'day', 90 * DAY_MS],
  // Less an hour: the clock of the browser may be ahead, and 365 days are often the maximum.
  [1, 'year', 365 * DAY_MS - HOUR_MS],
] as const;

function lifeOptions(): [value: string, label: string][] {
  const format = new Intl.RelativeTimeFormat(language.value);
  return LIVES.map(([count, unit, ms]) => [String(ms), format.format(count, unit)]);
}

function expiryOf(values: FormData): string {
  const lastDay = textOf(values, 'lastDay');
  const ms = Number(textOf(values, 'expires'));
  return lastDay ? boundOf(lastDay, 'until') : new Date(Date.now() + ms).toISOString();
}

/** Shows an error of the expiry at the last day, if one was entered. */
function besideLastDay(problem: Problem, values: FormData): Problem {
  if (!textOf(values, 'lastDay')) return problem;
  const fieldErrors = problem.fieldErrors.map((error) =>
    error.field === 'expires' ? { ...error, field: 'lastDay' } : error,
  );
  return { ...problem, fieldErrors };
}

/** The scope to write of an area, if it has one. */
const TO_WRITE: {
  readonly [Name in Area]: Extract<Scope, Name | `${Name}:write`> extends never
    ? undefined
    : Extract<Scope, Name | `${Name}:write`>;
} = {
  account: undefined,
  users: 'users:write',
  sessions: 'sessions:write',
  integrations: 'integrations:write',
  parameters: 'parameters:write',
  modules: 'modules:write',
  plans: 'plans:write',
  'audit-trail': undefined,
  status: 'status:write',
  scim: 'scim',
};

function ScopesField() {
  const t = texts();
  const check = (scope: Scope) => (
    <input type="checkbox" name="scopes" value={scope} aria-label={scopeText(scope)} />
  );
  return (
    <FieldSet name="scopes" label={t.scopes} hint={t.scopesHint}>
      <Table
        columns={[
          { field: 'area', label: t.area, cell: (area) => areaNames()[area] },
          {
            field: 'read',
            label: t.read,
            width: 'w6',
            cell: (area) => (area === 'scim' ? '–' : check(`${area}:read`)),
          },
          {
            field: 'write',
            label: t.write,
            width: 'w6',
            cell: (area) => (TO_WRITE[area] ? check(TO_WRITE[area]) : '–'),
          },
        ]}
        rows={Object.keys(TO_WRITE) as Area[]}
        rowKey={(area) => area}
        caption={t.scopes}
      />
    </FieldSet>
  );
}

/** Omits a read scope if the write scope of its area, which includes it, is chosen. */
function scopesOf(values: FormData): Scope[] {
  const scopes = values.getAll('scopes') as Scope[];
  const isIncluded = (scope: Scope) =>
    scope.endsWith(':read') && scopes.includes(scope.replace(':read', ':write') as Scope);
  return scopes.filter((scope) => !isIncluded(scope));
}
