import assert from 'node:assert/strict';
import fc from 'fast-check';
import { entityKey, type Kind } from '../../../lib/table/keys.ts';
import { findUserByLogin } from '../../../lib/users/user-table.ts';
import { expectIntact } from '../instance/intact.ts';
import type { Received } from '../instance/launch.ts';
import { comparable, httpRequestFor, withoutDates } from '../instance/requests.ts';
import { type Command, requestFor, sequences } from './commands.ts';
import { listsOf, type ModelRequest, perform, type State } from './model.ts';
import { IDS, type RestorableInstance, START, UNKNOWN_ID } from './restorable-instance.ts';

/**
 * Compares the service with the model for random sequences of all changes: every response, the
 * lists after each request, and whether the table is intact. Returns the shortest sequence found to
 * differ, with its seed, or undefined.
 */
export async function runSequences(
  instance: RestorableInstance,
  options: { readonly seed: number; readonly numRuns: number },
): Promise<string | undefined> {
  const property = fc.asyncProperty(sequences, (sequence) => runSequence(instance, sequence));
  const details = await fc.check(property, options);
  if (!details.failed) return undefined;
  const reason = details.errorInstance instanceof Error ? details.errorInstance.message : '';
  return `${fc.defaultReportMessage(details)}\n${reason}`;
}

/** Runs one sequence and fails where the service and the model differ. */
async function runSequence(
  instance: RestorableInstance,
  sequence: readonly Command[],
): Promise<void> {
  await instance.restore();
  const run = startRun(instance);
  let state = START;
  for (const [index, command] of sequence.entries())
    state = await run(state, command, `request-${index + 1}`);
}

/** Starts a run from START. The returned function sends one request. */
function startRun(instance: RestorableInstance) {
  const { gatehouse } = instance;
  // The ids, tokens and keys of the service by the handles of the model.
  const ids = new Map(IDS);
  const tokens = new Map<string, Promise<string>>();
  const keys = new Map<string, string>();
  const clientIds = new Map([['credential', instance.clientId]]);
  const idOf = (handle: string): number => ids.get(handle) ?? UNKNOWN_ID;

  /** Replaces handles with ids. */
  function withIds(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(withIds);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [
        name,
        name === 'id' ? idOf(each as string) : withIds(each),
      ]),
    );
  }

  async function send(request: ModelRequest): Promise<Received> {
    const [method, path, body] = httpRequestFor(
      request,
      idOf,
      (key) => keys.get(key) ?? 'none',
      (number) => instance.recoveryCodes[number] ?? 'none',
      (credential) => clientIds.get(credential) ?? 'none',
    );
    const version = 'version' in request ? request.version : undefined;
    const received = await gatehouse.call(method, path, {
      token:
        request.do === 'read module'
          ? await moduleTokenOf(request.credential)
          : await tokenOf('callerSession' in request ? request.callerSession : 'admin'),
      body,
      ...(version !== undefined && { headers: { 'If-Match': await etagOf(request, version) } }),
      ...('held' in request &&
        request.held !== undefined && { headers: { 'If-None-Match': `"${request.held}"` } }),
    });
    if (received.status === 201 && request.do === 'create credential')
      clientIds.set(request.as, received.body.clientId);
    else if (received.status === 201 && 'as' in request) ids.set(request.as, received.body.id);
    if (request.do === 'log in' && received.status === 200)
      tokens.set(request.as, Promise.resolve(received.body.id_token));
    return received;
  }

  /** The token of a session; START has one session per user. */
  function tokenOf(session: string): Promise<string> {
    const token = tokens.get(session) ?? instance.token(idOf(session));
    tokens.set(session, token);
    return token;
  }

  /** A token of a credential, also after it was deleted. */
  function moduleTokenOf(credential: string): Promise<string> {
    const clientId = clientIds.get(credential) ?? 'module-1-none';
    return instance.moduleToken(Number(clientId.split('-')[1]), clientId);
  }

  /** The ETag of the target of a request if it has this version, or an ETag that no entity has. */
  async function etagOf(request: ModelRequest, count: number): Promise<string> {
    const { table } = gatehouse;
    const find = (kind: Kind, handle: string) => table.get(entityKey(kind, idOf(handle)));
    const entity =
      'parameter' in request
        ? await find('CONF', request.parameter)
        : 'integration' in request
          ? await find('INTEGRATION', request.integration)
          : 'user' in request
            ? await find('USER', request.user)
            : 'login' in request && (await findUserByLogin(table, request.login));
    const version = String((entity || undefined)?.version);
    return `"${Number.parseInt(version, 10) === count ? version : `${count}-none`}"`;
  }

  /** Remembers the key in the last mail to this user. */
  async function readKey(handle: string, { users, keys: known }: State): Promise<void> {
    keys.set(handle, await gatehouse.keyMailedTo(users[known[handle]?.user ?? '']?.email ?? ''));
  }

  /** Reads the lists as a caller who may read all of them. */
  async function readLists(state: State) {
    const [reader, { passwordChanges, sessionEndings }] = Object.entries(state.users).find(
      ([, { activated, authorities }]) => activated && authorities.includes('ROLE_ADMIN'),
    ) as [string, State['users'][string]];
    const token = await instance.token(idOf(reader), passwordChanges, sessionEndings);
    const list = async (path: string) => {
      const { body } = await gatehouse.call('GET', path, { token });
      return body.map(withoutDates);
    };
    const [users, integrations, parameters] = await Promise.all([
      list('/api/users?size=2000'),
      list('/api/utm-integrations?size=2000'),
      list('/api/utm-integration-confs?size=100'),
    ]);
    return { users, integrations, parameters };
  }

  /** Sends a request and requires the response of the model, and what it leaves behind. */
  return async function run(state: State, command: Command, name: string): Promise<State> {
    const request = requestFor(command, state, name);
    const expected = perform(state, request);
    const text = `${name}: ${JSON.stringify(request)}`;
    const received = await send(request);
    assert.deepEqual(
      comparable(received, expected.response),
      withIds(expected.response),
      `${text}: the response`,
    );
    assert.deepEqual(
      byId(await readLists(expected.state)),
      byId(withIds(listsOf(expected.state)) as Lists),
      `${text}: what the lists show`,
    );
    await expectIntact(gatehouse);
    for (const handle of Object.keys(expected.state.keys))
      if (!keys.has(handle)) await readKey(handle, expected.state);
    return expected.state;
  };
}

type Lists = Record<string, { id: number }[]>;
const byId = (lists: Lists) =>
  Object.fromEntries(
    Object.entries(lists).map(([kind, list]) => [kind, list.toSorted((a, b) => a.id - b.id)]),
  );
