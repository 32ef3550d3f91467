import { useEffect, useRef, useState } from 'preact/hooks';
import type { Role, User } from '../api/generated/types.gen.ts';
import { type Answer, waitFor } from '../api/request.ts';
import { type Result, runAll } from '../bulk.ts';
import { Dialog } from '../components/dialog.tsx';
import { problemText } from '../form.ts';
import { account, language, loadAccount, send, texts } from '../state.ts';
import { fill, plural } from '../text.ts';
import { roleOptions } from './user-badges.tsx';

interface Action {
  readonly label: string;
  /** Whether files say the same of a user, and undo it. */
  readonly undone?: boolean;
  readonly act: (user: User) => Promise<Answer<unknown>>;
}

const isOwn = ({ login }: User): boolean => login === account.value?.login;

/** Changes a user in the state in which it is now: the list can be old. */
async function change(
  { login }: User,
  fields: (user: User) => Partial<User>,
): Promise<Answer<unknown>> {
  const current = await send('GET /api/users/{login}', { path: { login } });
  if (!current.ok) return current;
  const { id, email } = current.data;
  const body = { id, login, email, ...fields(current.data) };
  return send('PUT /api/users', { body }, { ifMatch: current.etag });
}

const changing = (label: string, fields: (user: User) => Partial<User>): Action => ({
  label,
  undone: true,
  act: (user) => change(user, fields),
});

function stateActions(): Action[] {
  const t = texts();
  return [
    changing(t.activateMany, () => ({ activated: true })),
    changing(t.deactivateMany, () => ({ activated: false })),
    {
      label: t.endMany,
      act: ({ login }) => send('POST /api/users/{login}/end-sessions', { path: { login } }),
    },
    {
      label: t.inviteMany,
      act: ({ login }) => send('POST /api/users/{login}/invite', { path: { login } }),
    },
  ];
}

function roleActions(): Action[] {
  const t = texts();
  const withRole = (role: Role) => (user: User) => ({
    authorities: [...new Set([...user.authorities, role])],
  });
  const withoutRole = (role: Role) => (user: User) => ({
    authorities: user.authorities.filter((each) => each !== role),
  });
  return roleOptions().flatMap(({ value, label: role }): Action[] => [
    changing(fill(t.addRole, { role }), withRole(value)),
    changing(fill(t.takeRole, { role }), withoutRole(value)),
  ]);
}

interface Properties {
  readonly users: readonly User[];
  readonly onDone: () => void;
}

export function ManyUsers({ users, onDone }: Properties) {
  const t = texts();
  // With the users of that moment: the selection can change while the action is under way.
  const [chosen, setChosen] = useState<Pick<ProgressProperties, 'action' | 'users'>>();
  return (
    <>
      {stateActions().map((action) => (
        <button type="button" key={action.label} onClick={() => setChosen({ action, users })}>
          {action.label}
        </button>
      ))}
      <details class="menu up">
        <summary>{t.roles}</summary>
        <div>
          {roleActions().map((action) => (
            <button type="button" key={action.label} onClick={() => setChosen({ action, users })}>
              {action.label}
            </button>
          ))}
        </div>
      </details>
      {chosen && (
        <Progress
          {...chosen}
          onClose={(changed) => {
            setChosen(undefined);
            if (!changed) return;
            if (chosen.users.some(isOwn)) void loadAccount();
            onDone();
          }}
        />
      )}
    </>
  );
}

interface ProgressProperties {
  readonly users: readonly User[];
  readonly action: Action;
  readonly onClose: (changed: boolean) => void;
}

/** Says what will happen, does it when it is asked to, and shows a result for each person. */
function Progress({ users, action, onClose }: ProgressProperties) {
  const t = texts();
  const [results, setResults] = useState<ReadonlyMap<number, Result>>(new Map());
  const [running, setRunning] = useState<AbortController>();
  const stop = useRef<AbortController>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const run = async (items: readonly User[]) => {
    const controller = new AbortController();
    stop.current = controller;
    setRunning(controller);
    await runAll({
      items,
      act: action.act,
      onResult: ({ id }, result) => setResults((before) => new Map([...before, [id, result]])),
      signal: controller.signal,
      wait: waitFor,
    });
    setRunning(undefined);
  };
  const hasBegun = results.size > 0;
  const left = users.filter(({ id }) => results.get(id) !== 'done');
  const done = users.length - left.length;
  const close = () => !running && onClose(hasBegun);
  const managed = action.undone ? users.filter(({ managedBy }) => managedBy !== undefined) : [];
  const sets = [...new Set(managed.map(({ managedBy }) => managedBy))].join(', ');
  return (
    <Dialog title={action.label} onClose={close}>
      <p>{consequences(users)}</p>
      {managed.length > 0 && (
        <p>
          {plural(language.value, t.areManaged, managed.length)}{' '}
          {fill(t.managedChange, { name: sets })}
        </p>
      )}
      <div role="status">
        {hasBegun && <p translate={false}>{fill(t.doneOf, { n: done, total: users.length })}</p>}
      </div>
      {hasBegun && (
        <ul class="log" translate={false}>
          {users.map(({ id, login }) => (
            <li key={id}>
              {login}: {textOf(results.get(id))}
            </li>
          ))}
        </ul>
      )}
      <p class="actions">
        {running && (
          <button type="button" onClick={() => running.abort()}>
            {t.stop}
          </button>
        )}
        {!running && left.length > 0 && (
          <button type="button" class="primary" onClick={() => void run(left)}>
            {hasBegun ? fill(t.repeatFailed, { n: left.length }) : t.begin}
          </button>
        )}
        {!running && (
          <button type="button" onClick={close}>
            {hasBegun ? t.close : t.cancel}
          </button>
        )}
      </p>
    </Dialog>
  );
}

/** "7 users. 3 are administrators. One of them is you." */
function consequences(users: readonly User[]): string {
  const t = texts();
  const administrators = users.filter(({ authorities }) => authorities.includes('ROLE_ADMIN'));
  return [
    `${plural(language.value, t.usersFound, users.length)}.`,
    administrators.length > 0 && plural(language.value, t.areAdmins, administrators.length),
    users.some(isOwn) && t.oneIsYou,
  ]
    .filter(Boolean)
    .join(' ');
}

function textOf(result: Result | undefined): string {
  const t = texts();
  if (result === 'done') return t.done;
  if (result === 'running') return `${t.waiting} …`;
  if (result === 'stopped') return t.stopped;
  return typeof result === 'object' ? problemText(result, t) : '–';
}
