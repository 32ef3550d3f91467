import type { User } from '../api/generated/types.gen.ts';
import type { Success } from '../api/request.ts';
import { Confirm } from '../components/confirm.tsx';
import { Badge } from '../components/icon.tsx';
import { useLoad } from '../components/load.ts';
import { Managed } from '../components/managed.tsx';
import { Time } from '../components/parts.tsx';
import { Alert } from '../components/problem.tsx';
import { Sessions, useEnding } from '../components/sessions.tsx';
import { Tokens } from '../components/tokens.tsx';
import { account, notice, send, texts } from '../state.ts';
import { DAY_MS, fill } from '../text.ts';
import { FactorBadge, StateBadge } from './user-badges.tsx';
import type { EditingUser } from './user-form.tsx';

/**
 * The audit trail records only the first rejection, so it cannot tell when the wait ends. Only the
 * entries of a day are read.
 */
function ThrottledLogin({ id }: Pick<User, 'id'>) {
  const t = texts();
  const { answer } = useLoad(String(id), () =>
    send('GET /api/audits', {
      query: {
        'target.equals': `user/${id}`,
        'action.in': 'login.throttled,session.started,password.changed,password.reset',
        'time.greaterThan': new Date(Date.now() - DAY_MS).toISOString(),
        size: 1,
      },
    }),
  );
  const [latest] = answer?.ok ? answer.data : [];
  if (latest?.action !== 'login.throttled') return null;
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

export function Activation({ editing, onSessionsEnded }: ActivationProperties) {
  const t = texts();
  const { current, setCurrent, refresh } = editing;
  const { login, email, activated, lastLogin, state, invitedUntil } = current.data;
  const { secondFactor = false, authorities } = current.data;
  const [verb, short] = activated
    ? ([t.deactivate, t.deactivateMany] as const)
    : ([t.activate, t.activateMany] as const);
  const ending = useEnding(onSessionsEnded);
  const endAll = () => send('POST /api/users/{login}/end-sessions', { path: { login } });
  const invite = async () => {
    const answer = await send('POST /api/users/{login}/invite', { path: { login } });
    if (!answer.ok) return answer.problem;
    notice.value = fill(t.invitedAgain, { email });
    await refresh();
    return undefined;
  };
  const put = ({ data: { id, login, email }, etag }: Success<User>) =>
    send(
      'PUT /api/users',
      { body: { id, login, email, activated: !activated } },
      { ifMatch: etag },
    );
  const change = async () => {
    const answer = await put(current);
    if (!answer.ok) return answer.problem.status === 412 ? changeAfterOther() : answer.problem;
    setCurrent(answer);
    notice.value = t.saved;
    if (activated) onSessionsEnded();
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
    if (activated) onSessionsEnded();
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
        <dt>{t.secondFactor}</dt>
        <dd>
          <FactorBadge on={secondFactor} roles={authorities} />
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
        <Managed by={current.data.managedBy}>
          <Confirm action={fill(verb, { login })} short={short} onConfirm={change}>
            {activated && <p>{t.deactivateText}</p>}
          </Confirm>
        </Managed>
        <button type="button" onClick={() => void ending.end(endAll)}>
          {t.endAll}
        </button>
        <RemoveFactor editing={editing} onSessionsEnded={onSessionsEnded} />
      </div>
      {ending.problem && <Alert problem={ending.problem} />}
    </section>
  );
}

export function UserSessions({ login }: { login: string }) {
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

export function UserTokens({ login }: { login: string }) {
  const t = texts();
  return (
    <section class="card">
      <h2>{t.apiTokens}</h2>
      <Tokens
        load={() => send('GET /api/users/{login}/tokens', { path: { login } })}
        remove={(series) =>
          send('POST /api/users/{login}/tokens/{series}/delete', { path: { login, series } })
        }
      />
    </section>
  );
}

function RemoveFactor({ editing, onSessionsEnded }: ActivationProperties) {
  const t = texts();
  const { login, secondFactor } = editing.current.data;
  if (!secondFactor || login === account.value?.login) return null;
  const remove = async () => {
    const answer = await send('POST /api/users/{login}/second-factor/remove', { path: { login } });
    if (!answer.ok) return answer.problem;
    notice.value = t.factorRemoved;
    onSessionsEnded();
    await editing.refresh();
    return undefined;
  };
  return (
    <Confirm action={fill(t.removeFactor, { login })} onConfirm={remove} danger>
      <p>{t.removeFactorText}</p>
    </Confirm>
  );
}
