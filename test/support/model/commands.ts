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

/** A fault injected into the transaction of a command, which must not change the response. */
export interface TransactionFault {
  readonly fault: 'conflict' | 'error-before' | 'error-after' | 'lost';
  /** The item of a conflict; any item if missing. */
  readonly item?: string;
  /** Consecutive faults: after three the SDK gives up, and the service retries. */
  readonly times: 1 | 3;
}

/** One command, or two concurrent ones whose transactions wait for each other. */
export interface Step {
  readonly commands: readonly Command[];
  readonly sequentially: boolean;
  readonly transactionFault?: TransactionFault | undefined;
}

const LOGINS = ['admin', 'ann', 'bob', 'cy'];
const EMAILS = [
  'ann@example.com',
  'Ann@Example.com',
  'bob@example.com',
  'straße@example.com',
  'STRASSE@example.com',
];
const ROLES = [['ROLE_ADMIN'], ['ROLE_ADMIN', 'ROLE_USER'], ['ROLE_USER'], []];
const PASSWORDS = ['admin', 'user', 'ann.', 'other'];

const one = <T>(...values: T[]) => fc.constantFrom(...values);
const optional = { requiredKeys: [] };

/** The number of an entity that never existed. */
const UNKNOWN_NUMBER = 99;
/** Sessions and targets are mostly those of administrators. */
const callerSession = fc.oneof(
  { weight: 4, arbitrary: one(0, 1) },
  { weight: 2, arbitrary: fc.nat(5) },
);
const target = fc.oneof(
  { weight: 4, arbitrary: one(0, 1) },
  { weight: 5, arbitrary: fc.nat(5) },
  one(UNKNOWN_NUMBER),
);
const ifMatch = one('none', 'none', 'none', 'this', 'older') as fc.Arbitrary<Command['ifMatch']>;

const command = (
  operation: OperationName,
  fields: fc.Arbitrary<Fields> = fc.constant({}),
): fc.Arbitrary<Command> =>
  fc.record({ do: fc.constant(operation), callerSession, target, fields, ifMatch });

const login = one(...LOGINS);
const email = one(...EMAILS);
const authorities = one(...ROLES);
const activated = one(true, true, false);
const firstName = one('First', null);
const password = one(...PASSWORDS);
const text = one('One', 'Two');

const updateUser = command(
  'update user',
  fc.record({ login, email, activated, authorities, firstName }, optional) as fc.Arbitrary<Fields>,
);
const createUser = command(
  'create user',
  fc.record(
    { login, email, activated, authorities },
    { requiredKeys: ['login', 'email'] },
  ) as fc.Arbitrary<Fields>,
);
const revocation = fc.oneof(
  command('update user', one({ authorities: ['ROLE_USER'] }, { activated: false })),
  command('delete user'),
);
/** Two administrators revoke each other's rights, or their own. */
const mutualRevocation = fc
  .tuple(revocation, revocation, one(0, 1))
  .map(([first, second, target]): [Command, Command] => [
    { ...first, callerSession: 0, target, ifMatch: 'none' },
    { ...second, callerSession: 1, target: 1 - target, ifMatch: 'none' },
  ]);

/** Changes without password hashing, likely to conflict with each other. */
const change = fc.oneof(
  { weight: 4, arbitrary: createUser },
  { weight: 6, arbitrary: updateUser },
  { weight: 2, arbitrary: command('delete user') },
  { weight: 2, arbitrary: revocation },
  {
    weight: 2,
    arbitrary: command(
      'update account',
      fc.record({ email, firstName }, optional) as fc.Arbitrary<Fields>,
    ),
  },
  { weight: 2, arbitrary: command('create integration', fc.record({ text })) },
  { weight: 1, arbitrary: command('update integration', fc.record({ text, activated })) },
  { weight: 1, arbitrary: command('delete integration') },
  { weight: 2, arbitrary: command('report restart', fc.record({ number: fc.nat(2) })) },
  { weight: 2, arbitrary: command('create parameter', fc.record({ text })) },
  { weight: 3, arbitrary: command('update parameter', fc.record({ text, number: fc.nat(3) })) },
  { weight: 1, arbitrary: command('delete parameter') },
);

const singleCommand = fc.oneof(
  { weight: 40, arbitrary: change },
  { weight: 3, arbitrary: command('read user') },
  // Each of these computes one or two password hashes.
  {
    weight: 1,
    arbitrary: command('create user', fc.record({ login, email, authorities, password })),
  },
  { weight: 2, arbitrary: command('change password', fc.record({ text: password, password })) },
  { weight: 2, arbitrary: command('finish reset', fc.record({ password })) },
  { weight: 2, arbitrary: command('log in', fc.record({ password })) },
);
const anyCommand = fc.oneof(
  { weight: 100, arbitrary: singleCommand },
  { weight: 1, arbitrary: command('request reset', fc.record({ email })) },
);

const item = one('ADMINS/*', 'LOGIN#*', 'EMAIL#*', 'USER/*', 'TOTAL/*', 'INTEGRATION/*');
const transactionFault: fc.Arbitrary<TransactionFault> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      fault: fc.constant('conflict' as const),
      item,
      times: fc.constant(1 as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      fault: one('error-before', 'error-after', 'lost'),
      times: one(1, 3),
    }) as fc.Arbitrary<TransactionFault>,
  },
);

/** The same command twice, as by a double click. */
const twice = fc.oneof(revocation, change).map((same): [Command, Command] => [same, same]);

const two = (pair: fc.Arbitrary<[Command, Command]>): fc.Arbitrary<Step> =>
  fc.record({ commands: pair, sequentially: fc.boolean() });

/** Random sequences of steps. */
export const steps = fc.array(
  fc.oneof(
    {
      weight: 12,
      arbitrary: fc.record({ commands: fc.tuple(anyCommand), sequentially: fc.constant(false) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        commands: fc.tuple(change),
        sequentially: fc.constant(false),
        transactionFault,
      }),
    },
    { weight: 3, arbitrary: two(fc.tuple(change, change)) },
    {
      weight: 2,
      arbitrary: two(fc.oneof(fc.tuple(revocation, revocation), mutualRevocation, twice)),
    },
  ) as fc.Arbitrary<Step>,
  { maxLength: 16, size: 'max' },
);

/** Random commands of concurrent clients on users. */
export const userCommands = fc.oneof(
  { weight: 3, arbitrary: createUser },
  { weight: 5, arbitrary: updateUser },
  { weight: 1, arbitrary: command('delete user') },
  { weight: 2, arbitrary: revocation },
  { weight: 2, arbitrary: command('read user') },
);

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
  const bySession = Object.entries(state.sessions).toSorted(
    ([, a], [, b]) =>
      Number(a.stale) - Number(b.stale) || administratorRank(a.user) - administratorRank(b.user),
  );
  const session = nth(Object.fromEntries(bySession), callerSession);
  const user = nth(
    Object.fromEntries(
      Object.entries(state.users).toSorted(
        ([a], [b]) => administratorRank(a) - administratorRank(b),
      ),
    ),
  );
  const integration = nth(state.integrations);
  const parameter = nth(state.parameters);
  const { login = 'none', email = 'none@example.com', password } = state.users[user] ?? {};
  const version = (entity: { version: number } | undefined) =>
    ifMatch === 'none' || !entity ? undefined : entity.version - (ifMatch === 'older' ? 1 : 0);
  const { text = 'Text', number = 0 } = fields;
  const creation = { callerSession: session, as: name };

  switch (operation) {
    case 'create user':
      return {
        login: 'dot',
        email: 'dot@example.com',
        password: undefined,
        ...fields,
        do: operation,
        ...creation,
      };
    case 'update user':
      return {
        login,
        email,
        ...fields,
        do: operation,
        callerSession: session,
        user,
        version: version(state.users[user]),
      };
    case 'delete user':
      return { do: operation, callerSession: session, login, version: version(state.users[user]) };
    case 'update account':
      return { ...fields, do: operation, callerSession: session };
    case 'change password': {
      // Mostly the caller's current password.
      const own = state.users[state.sessions[session]?.user ?? '']?.password ?? text;
      return {
        do: operation,
        callerSession: session,
        from: number === 0 ? own : text,
        to: fields.password ?? text,
      };
    }
    case 'request reset':
      return { do: operation, as: name, email: fields.email ?? email };
    case 'finish reset':
      return { do: operation, key: nth(state.keys), to: fields.password ?? text };
    case 'log in':
      return { do: operation, as: name, login, password: target < 4 ? (password ?? text) : text };
    case 'read user':
      return { do: operation, login };
    case 'create integration':
      return { do: operation, ...creation, name: text };
    case 'update integration': {
      const { active = true } = { active: fields.activated };
      return {
        do: operation,
        callerSession: session,
        integration,
        name: text,
        active,
        version: version(state.integrations[integration]),
      };
    }
    case 'delete integration':
      return {
        do: operation,
        callerSession: session,
        integration,
        version: version(state.integrations[integration]),
      };
    case 'report restart':
      return { do: operation, callerSession: session, integration, changes: number };
    case 'create parameter':
      return {
        do: operation,
        ...creation,
        integration,
        confName: text,
        confValue: `value of ${name}`,
      };
    case 'update parameter': {
      // Sometimes an integration that does not own the parameter.
      const owner =
        number > 0 ? (state.parameters[parameter]?.integration ?? integration) : integration;
      const currentVersion = version(state.parameters[parameter]);
      return {
        do: operation,
        callerSession: session,
        parameter,
        integration: owner,
        confName: text,
        confValue: `by ${name}`,
        version: currentVersion,
      };
    }
    case 'delete parameter':
      return {
        do: operation,
        callerSession: session,
        parameter,
        version: version(state.parameters[parameter]),
      };
  }
}
