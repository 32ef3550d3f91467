import fc from 'fast-check';
import type { ModelRequest, OperationName, State } from './model.ts';

/*
 * Random commands. They refer to entities by number, so that every command is valid in every state
 * and a sequence remains valid when fast-check shrinks it.
 */

/** One write or read of the n-th entity of its kind. */
export interface Command {
  readonly do: OperationName;
  /** The number of the calling session. */
  readonly callerSession: number;
  /** The number of the target. */
  readonly target: number;
  readonly fields: Fields;
  readonly ifMatch: 'none' | 'this' | 'older';
}

interface Fields {
  readonly login?: string;
  readonly email?: string;
  readonly activated?: boolean;
  readonly authorities?: string[];
  readonly firstName?: string | null;
  readonly password?: string;
  readonly text?: string;
  readonly number?: number;
}

const one = <T>(...values: T[]) => fc.constantFrom(...values);
/** One of these, by their weights. */
const oneOf = <T>(...weighted: (readonly [weight: number, arbitrary: fc.Arbitrary<T>])[]) =>
  fc.oneof(...weighted.map(([weight, arbitrary]) => ({ weight, arbitrary })));
/** Any of these fields, or none. */
const some = (fields: Record<string, fc.Arbitrary<unknown>>, requiredKeys: string[] = []) =>
  fc.record(fields, { requiredKeys }) as fc.Arbitrary<Fields>;

/** The number of an entity that never existed. */
const UNKNOWN_NUMBER = 99;
/** Sessions and targets are mostly administrators'. */
const callerSession = oneOf([4, one(0, 1)], [2, fc.nat(5)]);
const target = oneOf([4, one(0, 1)], [5, fc.nat(5)], [1, one(UNKNOWN_NUMBER)]);
const ifMatch = one('none', 'none', 'none', 'this', 'older') as fc.Arbitrary<Command['ifMatch']>;

const command = (
  operation: OperationName,
  fields: fc.Arbitrary<Fields> = fc.constant({}),
): fc.Arbitrary<Command> =>
  fc.record({ do: fc.constant(operation), callerSession, target, fields, ifMatch });

const login = one('admin', 'ann', 'bob', 'cy');
const email = one(
  'ann@example.com',
  'Ann@Example.com',
  'bob@example.com',
  'straße@example.com',
  'STRASSE@example.com',
);
const authorities = one(['ROLE_ADMIN'], ['ROLE_ADMIN', 'ROLE_USER'], ['ROLE_USER'], []);
const activated = one(true, true, false);
const firstName = one('First', null);
const password = one('admin', 'user', 'ann.', 'other');
const text = one('One', 'Two');

const updateUser = command(
  'update user',
  some({ login, email, activated, authorities, firstName }),
);
const createUser = command(
  'create user',
  some({ login, email, activated, authorities }, ['login', 'email']),
);
const revocation = fc.oneof(
  command('update user', one({ authorities: ['ROLE_USER'] }, { activated: false })),
  command('delete user'),
);
/** Changes without password hashing. */
const change = oneOf(
  [4, createUser],
  [6, updateUser],
  [2, command('delete user')],
  [2, revocation],
  [2, command('update account', some({ email, firstName }))],
  [2, command('create integration', fc.record({ text }))],
  [1, command('update integration', fc.record({ text, activated }))],
  [1, command('delete integration')],
  [2, command('report restart', fc.record({ number: fc.nat(2) }))],
  [2, command('create parameter', fc.record({ text }))],
  [3, command('update parameter', fc.record({ text, number: fc.nat(3) }))],
  [1, command('delete parameter')],
  [2, command('create credential')],
  [1, command('delete credential')],
);

const code = oneOf([8, one(0, 1)], [1, one(10)]);
const logIn = command('log in', some({ password, number: code }));

/** Rare, because a caller without a session changes nothing more. */
const endingOfSessions = fc.oneof(
  command('log out'),
  command('end other sessions'),
  command('end sessions of'),
  command('remove factor'),
);

const singleCommand = oneOf(
  [40, change],
  [3, command('read user')],
  [6, command('read module', fc.record({ number: fc.nat(4) }))],
  [2, command('read account')],
  [1, endingOfSessions],
  // Each of these computes one or two password hashes.
  [1, command('create user', fc.record({ login, email, authorities, password }))],
  [2, command('change password', fc.record({ text: password, password }))],
  [2, command('finish reset', fc.record({ password }))],
  [3, logIn],
  [1, command('disable factor', fc.record({ password, number: code }))],
);
const anyCommand = oneOf([100, singleCommand], [1, command('request reset', fc.record({ email }))]);

/** Random sequences of commands. */
export const sequences = fc.array(anyCommand, { maxLength: 20, size: 'max' });

/** Resolves a command in this state; `name` becomes the handle of a created entity. */
export function requestFor(
  { do: operation, callerSession, target, fields, ifMatch }: Command,
  state: State,
  name: string,
): ModelRequest {
  const nth = (entities: object, number = target): string => {
    const handles = Object.keys(entities);
    return (number === UNKNOWN_NUMBER ? undefined : handles[number % handles.length]) ?? 'none';
  };
  // Administrators come first, so that most callers are authorized.
  const administratorRank = (handle: string) => {
    const { activated, authorities } = state.users[handle] ?? {};
    return activated && authorities?.includes('ROLE_ADMIN') ? 0 : 1;
  };
  const sortedBy = <T>(entities: Record<string, T>, rank: (handle: string, entity: T) => number) =>
    Object.fromEntries(
      Object.entries(entities).toSorted(([a, one], [b, other]) => rank(a, one) - rank(b, other)),
    );
  const caller = nth(
    sortedBy(state.sessions, (_, { user, ended }) => Number(ended) * 2 + administratorRank(user)),
    callerSession,
  );
  const user = nth(sortedBy(state.users, administratorRank));
  const integration = nth(state.integrations);
  const parameter = nth(state.parameters);
  const credential = nth(state.credentials);
  const { login = 'none', email = 'none@example.com', password } = state.users[user] ?? {};
  const version = (entity: { version: number } | undefined) =>
    ifMatch === 'none' || !entity ? undefined : entity.version - (ifMatch === 'older' ? 1 : 0);
  const { text = 'Text', number = 0 } = fields;
  const call = { do: operation, callerSession: caller };
  const fieldsOf: Record<OperationName, () => object> = {
    'create user': () => ({
      login: 'dot',
      email: 'dot@example.com',
      password: undefined,
      ...fields,
      as: name,
    }),
    'update user': () => ({ login, email, ...fields, user, version: version(state.users[user]) }),
    'delete user': () => ({ login, version: version(state.users[user]) }),
    'update account': () => fields,
    'change password': () => {
      // Mostly the caller's current password.
      const own = state.users[state.sessions[caller]?.user ?? '']?.password ?? text;
      return { from: number === 0 ? own : text, to: fields.password ?? text };
    },
    'request reset': () => ({ as: name, email: fields.email ?? email }),
    'finish reset': () => ({ key: nth(state.keys), to: fields.password ?? text }),
    'log in': () => ({
      as: name,
      login,
      password: target < 4 ? (password ?? text) : text,
      code: fields.number,
    }),
    'disable factor': () => ({
      password: state.users[state.sessions[caller]?.user ?? '']?.password ?? text,
      code: number,
    }),
    'remove factor': () => ({ login }),
    'read user': () => ({ login }),
    'read account': () => ({}),
    'log out': () => ({}),
    'end other sessions': () => ({}),
    'end sessions of': () => ({ login }),
    'create integration': () => ({ as: name, name: text }),
    'update integration': () => ({
      integration,
      name: text,
      active: fields.activated ?? true,
      version: version(state.integrations[integration]),
    }),
    'delete integration': () => ({
      integration,
      version: version(state.integrations[integration]),
    }),
    'report restart': () => ({ integration, changes: number }),
    'create parameter': () => ({
      as: name,
      integration,
      confName: text,
      confValue: `value of ${name}`,
    }),
    'update parameter': () => {
      const stored = state.parameters[parameter];
      return {
        parameter,
        // Sometimes an integration that does not own the parameter.
        integration: number > 0 ? (stored?.integration ?? integration) : integration,
        confName: text,
        confValue: `by ${name}`,
        version: version(stored),
      };
    },
    'delete parameter': () => ({ parameter, version: version(state.parameters[parameter]) }),
    'create credential': () => ({ as: name, integration }),
    'delete credential': () => ({
      credential,
      integration: state.credentials[credential]?.integration ?? integration,
    }),
    'read module': () => {
      // Sometimes another integration than the module's.
      const own = state.credentials[credential]?.integration ?? integration;
      const wanted = state.integrations[own]?.wanted ?? 0;
      const held = { none: undefined, this: wanted, older: wanted - 1 }[ifMatch];
      return { credential, integration: number > 0 ? own : integration, held };
    },
  };
  const isPublic = ['request reset', 'finish reset', 'log in', 'read module'].includes(operation);
  const request = fieldsOf[operation]();
  return (isPublic ? { ...request, do: operation } : { ...request, ...call }) as ModelRequest;
}
