import { useState } from 'preact/hooks';
import type { Role, User as UserData } from '../api/generated/types.gen.ts';
import type { Success } from '../api/request.ts';
import { actionOf, changeText } from '../audit.ts';
import { Confirm } from '../components/confirm.tsx';
import { Conflict } from '../components/conflict.tsx';
import { useEditing } from '../components/editing.ts';
import { Form } from '../components/form.tsx';
import { useLoad } from '../components/load.ts';
import { Managed, ManagedBadge } from '../components/managed.tsx';
import { Copy, Time } from '../components/parts.tsx';
import { Alert, Waiting } from '../components/problem.tsx';
import { Screen } from '../components/screen.tsx';
import { changesOf } from '../conflict.ts';
import { navigate } from '../navigation.ts';
import { BASE, userPath, withQuery } from '../route.ts';
import { account, isAdministrator, language, loadAccount, send, texts } from '../state.ts';
import { dateTime, fill } from '../text.ts';
import { UserIdentities } from './identities.tsx';
import { Activation, UserSessions, UserTokens } from './user-access.tsx';
import { rolesText } from './user-badges.tsx';
import { type EditingUser, type UserFields, UserFormFields, userFieldsOf } from './user-form.tsx';

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
      {answer?.ok && <ManagedBadge by={answer.data.managedBy} />}
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

function EditUser({ loaded }: { loaded: Success<UserData> }) {
  const t = texts();
  const { id, login } = loaded.data;
  const [sessionsKey, setSessionsKey] = useState(0);
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
        <Activation editing={editing} onSessionsEnded={() => setSessionsKey(sessionsKey + 1)} />
      </div>
      <div>
        <div class="card">
          <Managed by={user.managedBy}>
            <Form
              key={formKey}
              submit={t.save}
              onSave={(values, edited) => save(userFieldsOf(values), edited)}
              draft={editing.draft}
            >
              <UserFormFields user={user} />
            </Form>
          </Managed>
          <Conflict
            editing={editing}
            target={`user/${id}`}
            show={(field, value) =>
              field === 'authorities' ? rolesText(value as Role[]) : String(value || '–')
            }
          />
        </div>
        <UserSessions key={sessionsKey} login={user.login} />
        <UserTokens key={`tokens ${sessionsKey}`} login={user.login} />
        <UserIdentities editing={editing} onSessionsEnded={() => setSessionsKey(sessionsKey + 1)} />
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
  const trail = withQuery(`${BASE}/audit`, { 'target.equals': target });
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
        <a href={trail} aria-label={fill(t.trailOf, { name: user.login })}>
          {t.auditTrail}
        </a>
      </p>
    </section>
  );
}

function Deletion({ editing }: { editing: EditingUser }) {
  const t = texts();
  const { etag: ifMatch, data } = editing.current;
  const { login } = data;
  const action = fill(t.deleteThis, { name: login });
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
      <Managed by={data.managedBy}>
        <Confirm action={action} short={t.delete} typed={login} onConfirm={remove} danger>
          <p>{t.deleteUserText}</p>
        </Confirm>
      </Managed>
    </section>
  );
}
