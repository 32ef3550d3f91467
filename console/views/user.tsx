import { useState } from 'preact/hooks';
import type { Role, User as UserData } from '../api/generated/types.gen.ts';
import type { Success } from '../api/request.ts';
import { actionOf, changeText } from '../audit.ts';
import { Confirm } from '../components/confirm.tsx';
import { Conflict } from '../components/conflict.tsx';
import { type Editing, useEditing } from '../components/editing.ts';
import { Form } from '../components/form.tsx';
import { Badge } from '../components/icon.tsx';
import { useLoad } from '../components/load.ts';
import { Copy, Time } from '../components/parts.tsx';
import { Alert, Waiting } from '../components/problem.tsx';
import { Screen } from '../components/screen.tsx';
import { Sessions, useEnding } from '../components/sessions.tsx';
import { changesOf } from '../conflict.ts';
import { navigate } from '../navigation.ts';
import { BASE, userPath, withQuery } from '../route.ts';
import { account, isAdministrator, language, loadAccount, notice, send, texts } from '../state.ts';
import { DAY_MS, dateTime, fill } from '../text.ts';
import { FactorBadge, rolesText, StateBadge } from './user-badges.tsx';
import { type UserFields, UserFormFields, userFieldsOf } from './user-form.tsx';

export function User({ login }: { login: string }) {
  const t = texts();
  const title = fill(t.editUser, { login });
  const { answer, reload } = useLoad(login, () =>
    send('GET /api/users/{login}', { path: { login } }),
  );
  return (
    <Screen title={title} above={[`${BASE}/users`, t.users]}>
      {!answer && <Waiting />}
      {answer && !answer.ok && <Alert problem={answer.problem} onRetry={reload} />}
      {answer?.ok &&
        (isAdministrator() ? (
          <EditUser key={login} loaded={answer} />
        ) : (
          <ReadUser user={answer.data} />
        ))}
    </Screen>
  );
}

function ReadUser({ user }: { user: UserData }) {
  const t = texts();
  const facts = [
    [t.login, user.login],
    [t.name, [user.firstName, user.lastName].filter(Boolean).join(' ')],
    [t.email, user.email],
    [t.roles, rolesText(user.authorities)],
    [t.state, user.activated ? t.activated : t.deactivated],
  ] as const;
  return (
    <>
      <dl>
        {facts.map(([label, value]) => [
          <dt key={label}>{label}</dt>,
          <dd key={value}>{value}</dd>,
        ])}
      </dl>
      <History user={user} />
    </>
  );
}

function History({ user }: { user: UserData }) {
  const t = texts();
  const textOf = (text: string, name: string, time: string) =>
    fill(text, { name, time: dateTime(language.value, time) });
  return (
    <>
      <p>
        {t.id}: {user.id} <Copy text={String(user.id)} label={t.id} />
      </p>
      <p class="hint">
        {textOf(t.createdBy, user.createdBy, user.createdDate)}{' '}
        {textOf(t.modifiedBy, user.lastModifiedBy, user.lastModifiedDate)}
      </p>
    </>
  );
}

type EditingUser = Editing<UserData, UserFields>;

function EditUser({ loaded }: { loaded: Success<UserData> }) {
  const t = texts();
  const { id, login } = loaded.data;
  const [rounds, setRounds] = useState(0);
  const editing = useEditing<UserData, UserFields>({
    form: 'user',
    labels: {
      login: t.login,
      email: t.email,
      firstName: t.firstName,
      lastName: t.lastName,
      langKey: t.language,
      authorities: t.roles,
    },
    loaded,
    put: ({ login: name, email, ...others }, { data, etag: ifMatch }) => {
      const body = { id, login: name, email, ...changesOf(data, others) };
      return send('PUT /api/users', { body }, { ifMatch });
    },
    get: () => send('GET /api/users/{login}', { path: { login } }),
    onSaved: ({ data }) => {
      if (login === account.value?.login) void loadAccount();
      if (data.login !== login)
        void navigate(userPath(data.login), { replace: true, saved: true, say: t.saved });
    },
  });
  const { current, formKey, save } = editing;
  const user = current.data;
  return (
    <div class="columns user">
      <div>
        <Activation editing={editing} onSessionsEnded={() => setRounds(rounds + 1)} />
        <Factor editing={editing} />
      </div>
      <div>
        <div class="card">
          <Form
            key={formKey}
            submit={t.save}
            onSave={(values, edited) => save(userFieldsOf(values), edited)}
            draft={editing.draft}
          >
            <UserFormFields user={user} />
          </Form>
          <Conflict
            editing={editing}
            target={`user/${id}`}
            show={(field, value) =>
              field === 'authorities' ? rolesText(value as Role[]) : String(value || '–')
            }
          />
        </div>
        <UserSessions key={rounds} login={user.login} />
      </div>
      <div>
        <LastChanges user={user} />
        <Deletion editing={editing} />
      </div>
    </div>
  );
}

/** What was done to the user last, and the way to everything. */
function LastChanges({ user }: { user: UserData }) {
  const t = texts();
  const target = `user/${user.id}`;
  const { answer } = useLoad(user, () =>
    send('GET /api/audits', { query: { 'target.equals': target, size: 5 } }),
  );
  return (
    <section class="card">
      <h2>{t.lastChanges}</h2>
      {!answer && <Waiting />}
      {answer?.ok && (
        <ul class="log">
          {answer.data.map((entry) => (
            <li key={entry.id}>
              <span>
                {actionOf(entry, t)}{' '}
                <span class="hint">
                  {entry.changes
                    .filter(({ field }) => field === 'authorities')
                    .map((change) => changeText(change, t))}
                </span>
              </span>{' '}
              <Time instant={entry.time} />
            </li>
          ))}
        </ul>
      )}
      <p>
        <a href={withQuery(`${BASE}/audit`, { 'target.equals': target })}>
          {fill(t.trailOf, { name: user.login })}
        </a>
      </p>
    </section>
  );
}

/** The audit trail records only the first rejection, so it cannot tell when the wait ends. */
function ThrottledLogin({ id }: Pick<UserData, 'id'>) {
  const t = texts();
  const { answer } = useLoad(String(id), () =>
    send('GET /api/audits', {
      query: {
        'target.equals': `user/${id}`,
        'action.in': 'login.throttled,session.started,password.changed,password.reset',
        size: 1,
      },
    }),
  );
  const [latest] = answer?.ok ? answer.data : [];
  if (latest?.action !== 'login.throttled') return null;
  if (Date.now() - Date.parse(latest.time) > DAY_MS) return null;
  return (
    <p>
      <Badge tone="warning" icon="alert" text={t.loginThrottled} /> <Time instant={latest.time} />
      <span class="hint">{t.loginThrottledText}</span>
    </p>
  );
}

interface ActivationProperties {
  readonly editing: EditingUser;
  readonly onSessionsEnded: () => void;
}

function Activation({ editing, onSessionsEnded }: ActivationProperties) {
  const t = texts();
  const { current, setCurrent } = editing;
  const { login, email, activated, lastLogin, state, invitedUntil } = current.data;
  const ending = useEnding(onSessionsEnded);
  const endAll = () => send('POST /api/users/{login}/end-sessions', { path: { login } });
  const invite = async () => {
    const answer = await send('POST /api/users/{login}/invite', { path: { login } });
    if (!answer.ok) return answer.problem;
    notice.value = fill(t.invitedAgain, { email });
    return undefined;
  };
  const put = ({ data: { id, login, email }, etag }: Success<UserData>) =>
    send(
      'PUT /api/users',
      { body: { id, login, email, activated: !activated } },
      { ifMatch: etag },
    );
  const change = async () => {
    const answer = await put(current);
    if (answer.ok) setCurrent(answer);
    else return answer.problem.status === 412 ? changeAfterOther() : answer.problem;
    return undefined;
  };
  // The form still shows what was read first, so it keeps that ETag: saving it then asks.
  const changeAfterOther = async () => {
    const theirs = await send('GET /api/users/{login}', { path: { login } });
    if (!theirs.ok) return theirs.problem;
    const isDone = theirs.data.activated !== activated;
    const answer = isDone ? theirs : await put(theirs);
    if (!answer.ok) return answer.problem;
    setCurrent({ ...current, data: { ...current.data, activated: !activated } });
    notice.value = t.conflictUnknown;
    return undefined;
  };
  return (
    <section class="card">
      <h2>{t.state}</h2>
      <p>
        <StateBadge user={current.data} />
      </p>
      <ThrottledLogin id={current.data.id} />
      <dl>
        <dt>{t.lastLogin}</dt>
        <dd>
          <Time instant={lastLogin} />
        </dd>
      </dl>
      {invitedUntil && (
        <p>
          {t.invitedUntil} <Time instant={invitedUntil} />
        </p>
      )}
      <div class="actions">
        {(state === 'invited' || state === 'invitationExpired') && (
          <Confirm action={t.inviteAgain} onConfirm={invite}>
            <p>{fill(t.inviteAgainText, { email })}</p>
          </Confirm>
        )}
        <Confirm action={fill(activated ? t.deactivate : t.activate, { login })} onConfirm={change}>
          {activated && <p>{t.deactivateText}</p>}
        </Confirm>
        <button type="button" onClick={() => void ending.end(endAll)}>
          {fill(t.endAll, { login })}
        </button>
      </div>
      {ending.problem && <Alert problem={ending.problem} />}
    </section>
  );
}

function UserSessions({ login }: { login: string }) {
  const t = texts();
  return (
    <section class="card">
      <h2>{t.sessions}</h2>
      <Sessions
        load={() => send('GET /api/users/{login}/sessions', { path: { login } })}
        end={(series) =>
          send('POST /api/users/{login}/sessions/{series}/end', { path: { login, series } })
        }
      />
    </section>
  );
}

function Factor({ editing }: { editing: EditingUser }) {
  const t = texts();
  const { current, setCurrent } = editing;
  const { login, secondFactor = false } = current.data;
  const isOwn = login === account.value?.login;
  const remove = async () => {
    const answer = await send('POST /api/users/{login}/second-factor/remove', { path: { login } });
    if (!answer.ok) return answer.problem;
    notice.value = t.factorRemoved;
    setCurrent({ ...current, data: { ...current.data, secondFactor: false } });
    return undefined;
  };
  return (
    <section class="card">
      <h2>{t.secondFactor}</h2>
      <p>
        <FactorBadge on={secondFactor} />
      </p>
      {secondFactor && !isOwn && (
        <Confirm action={fill(t.removeFactor, { login })} onConfirm={remove} danger>
          <p>{t.removeFactorText}</p>
        </Confirm>
      )}
    </section>
  );
}

function Deletion({ editing }: { editing: EditingUser }) {
  const t = texts();
  const { etag: ifMatch, data } = editing.current;
  const { login } = data;
  const remove = async () => {
    const answer = await send('DELETE /api/users/{login}', { path: { login } }, { ifMatch });
    if (!answer.ok) return answer.problem;
    const say = fill(t.deleted, { name: login });
    await navigate(`${BASE}/users`, { saved: true, replace: true, say });
    return undefined;
  };
  return (
    <section class="card">
      <h2>{t.more}</h2>
      <History user={data} />
      <Confirm action={fill(t.deleteThis, { name: login })} typed={login} onConfirm={remove} danger>
        <p>{t.deleteUserText}</p>
      </Confirm>
    </section>
  );
}
