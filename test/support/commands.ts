import fc from 'fast-check';
import type { Act, Doing, State } from './model.ts';

/*
 * Random commands. They name things by number, so that every command means something in every state, and a sequence
 * stays one when fast-check takes commands away from it.
 */

/** One change or look, about the n-th thing of its kind. */
export interface Command {
  readonly do: Doing;
  /** Which session calls. */
  readonly by: number;
  /** What it is about. */
  readonly whom: number;
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

/** A fault of the transaction of a command. The answer must be as without it. */
export interface Trouble {
  readonly fault: 'conflict' | 'error-before' | 'error-after' | 'lost';
  /** The item that a conflict is about; any. */
  readonly item?: string;
  /** How often: after three the SDK has given up, and we ask again. */
  readonly times: 1 | 3;
}

/** What is done at once: one command, or two whose transactions wait for each other. */
export interface Step {
  readonly commands: readonly Command[];
  readonly inTurn: boolean;
  readonly trouble?: Trouble | undefined;
}

const LOGINS = ['admin', 'ann', 'bob', 'cy'];
const EMAILS = ['ann@example.com', 'Ann@Example.com', 'bob@example.com', 'straße@example.com', 'STRASSE@example.com'];
const ROLES = [['ROLE_ADMIN'], ['ROLE_ADMIN', 'ROLE_USER'], ['ROLE_USER'], []];
const PASSWORDS = ['admin', 'user', 'ann.', 'other'];

const one = <T>(...values: T[]) => fc.constantFrom(...values);
const optional = { requiredKeys: [] };

/** What never was. */
const NOBODY = 99;
/** Administrators above all. */
const by = fc.oneof({ weight: 4, arbitrary: one(0, 1) }, { weight: 2, arbitrary: fc.nat(5) });
const whom = fc.oneof({ weight: 4, arbitrary: one(0, 1) }, { weight: 5, arbitrary: fc.nat(5) }, one(NOBODY));
const ifMatch = one('none', 'none', 'none', 'this', 'older') as fc.Arbitrary<Command['ifMatch']>;

const command = (doing: Doing, fields: fc.Arbitrary<Fields> = fc.constant({})): fc.Arbitrary<Command> =>
  fc.record({ do: fc.constant(doing), by, whom, fields, ifMatch });

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
  fc.record({ login, email, activated, authorities }, { requiredKeys: ['login', 'email'] }) as fc.Arbitrary<Fields>,
);
const leaving = fc.oneof(
  command('update user', one({ authorities: ['ROLE_USER'] }, { activated: false })),
  command('delete user'),
);
/** Two administrators stop each other, or themselves, from administering. */
const rivals = fc.tuple(leaving, leaving, one(0, 1)).map(([first, second, aim]): [Command, Command] => [
  { ...first, by: 0, whom: aim, ifMatch: 'none' },
  { ...second, by: 1, whom: 1 - aim, ifMatch: 'none' },
]);

/** Cheap ones, and such as meet each other. */
const change = fc.oneof(
  { weight: 4, arbitrary: createUser },
  { weight: 6, arbitrary: updateUser },
  { weight: 2, arbitrary: command('delete user') },
  { weight: 2, arbitrary: leaving },
  {
    weight: 2,
    arbitrary: command('update account', fc.record({ email, firstName }, optional) as fc.Arbitrary<Fields>),
  },
  { weight: 2, arbitrary: command('create integration', fc.record({ text })) },
  { weight: 1, arbitrary: command('update integration', fc.record({ text, activated })) },
  { weight: 1, arbitrary: command('delete integration') },
  { weight: 2, arbitrary: command('report restart', fc.record({ number: fc.nat(2) })) },
  { weight: 2, arbitrary: command('create parameter', fc.record({ text })) },
  { weight: 3, arbitrary: command('update parameter', fc.record({ text, number: fc.nat(3) })) },
  { weight: 1, arbitrary: command('delete parameter') },
);

const alone = fc.oneof(
  { weight: 40, arbitrary: change },
  { weight: 3, arbitrary: command('read user') },
  // Each of these costs a hash or two, and the last one a second.
  { weight: 1, arbitrary: command('create user', fc.record({ login, email, authorities, password })) },
  { weight: 2, arbitrary: command('change password', fc.record({ text: password, password })) },
  { weight: 2, arbitrary: command('use key', fc.record({ password })) },
  { weight: 2, arbitrary: command('log in', fc.record({ password })) },
);
const rarely = fc.oneof(
  { weight: 100, arbitrary: alone },
  { weight: 1, arbitrary: command('ask for key', fc.record({ email })) },
);

const item = one('ADMINS/*', 'LOGIN#*', 'EMAIL#*', 'USER/*', 'TOTAL/*', 'INTEGRATION/*');
const trouble: fc.Arbitrary<Trouble> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ fault: fc.constant('conflict' as const), item, times: fc.constant(1 as const) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      fault: one('error-before', 'error-after', 'lost'),
      times: one(1, 3),
    }) as fc.Arbitrary<Trouble>,
  },
);

/** The same once more, as by a double click. */
const twice = fc.oneof(leaving, change).map((same): [Command, Command] => [same, same]);

const two = (pair: fc.Arbitrary<[Command, Command]>): fc.Arbitrary<Step> =>
  fc.record({ commands: pair, inTurn: fc.boolean() });

/** Sequences of steps. */
export const steps = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: fc.record({ commands: fc.tuple(rarely), inTurn: fc.constant(false) }) },
    {
      weight: 4,
      arbitrary: fc.record({ commands: fc.tuple(change), inTurn: fc.constant(false), trouble }),
    },
    { weight: 3, arbitrary: two(fc.tuple(change, change)) },
    { weight: 2, arbitrary: two(fc.oneof(fc.tuple(leaving, leaving), rivals, twice)) },
  ) as fc.Arbitrary<Step>,
  { maxLength: 16, size: 'max' },
);

/** What concurrent clients do to users. */
export const userCommands = fc.oneof(
  { weight: 3, arbitrary: createUser },
  { weight: 5, arbitrary: updateUser },
  { weight: 1, arbitrary: command('delete user') },
  { weight: 2, arbitrary: leaving },
  { weight: 2, arbitrary: command('read user') },
);

/** What a command means in this state; `name` is the handle of what it makes. */
export function actOf({ do: doing, by, whom, fields, ifMatch }: Command, state: State, name: string): Act {
  const nth = (things: object, number = whom): string => {
    const handles = Object.keys(things);
    return (number === NOBODY ? undefined : handles[number % handles.length]) ?? 'none';
  };
  // Who administers comes first, so that most commands come from somebody who may.
  const administers = (handle: string) => {
    const { activated, authorities } = state.users[handle] ?? {};
    return activated && authorities?.includes('ROLE_ADMIN') ? 0 : 1;
  };
  const bySession = Object.entries(state.sessions).toSorted(
    ([, a], [, b]) => Number(a.stale) - Number(b.stale) || administers(a.user) - administers(b.user),
  );
  const session = nth(Object.fromEntries(bySession), by);
  const user = nth(
    Object.fromEntries(Object.entries(state.users).toSorted(([a], [b]) => administers(a) - administers(b))),
  );
  const integration = nth(state.integrations);
  const parameter = nth(state.parameters);
  const { login = 'none', email = 'none@example.com', password } = state.users[user] ?? {};
  const version = (thing: { version: number } | undefined) =>
    ifMatch === 'none' || !thing ? undefined : thing.version - (ifMatch === 'older' ? 1 : 0);
  const { text = 'Text', number = 0 } = fields;
  const made = { by: session, as: name };

  switch (doing) {
    case 'create user':
      return { login: 'dot', email: 'dot@example.com', password: undefined, ...fields, do: doing, ...made };
    case 'update user':
      return { login, email, ...fields, do: doing, by: session, user, version: version(state.users[user]) };
    case 'delete user':
      return { do: doing, by: session, login, version: version(state.users[user]) };
    case 'update account':
      return { ...fields, do: doing, by: session };
    case 'change password': {
      // Mostly the right one: what the caller's is.
      const own = state.users[state.sessions[session]?.user ?? '']?.password ?? text;
      return { do: doing, by: session, from: number === 0 ? own : text, to: fields.password ?? text };
    }
    case 'ask for key':
      return { do: doing, as: name, email: fields.email ?? email };
    case 'use key':
      return { do: doing, key: nth(state.keys), to: fields.password ?? text };
    case 'log in':
      return { do: doing, as: name, login, password: whom < 4 ? (password ?? text) : text };
    case 'read user':
      return { do: doing, login };
    case 'create integration':
      return { do: doing, ...made, name: text };
    case 'update integration': {
      const { active = true } = { active: fields.activated };
      return {
        do: doing,
        by: session,
        integration,
        name: text,
        active,
        version: version(state.integrations[integration]),
      };
    }
    case 'delete integration':
      return { do: doing, by: session, integration, version: version(state.integrations[integration]) };
    case 'report restart':
      return { do: doing, by: session, integration, changes: number };
    case 'create parameter':
      return { do: doing, ...made, integration, confName: text, confValue: `value of ${name}` };
    case 'update parameter': {
      // Sometimes by an integration whose it is not.
      const owner = number > 0 ? (state.parameters[parameter]?.integration ?? integration) : integration;
      const version_ = version(state.parameters[parameter]);
      return {
        do: doing,
        by: session,
        parameter,
        integration: owner,
        confName: text,
        confValue: `by ${name}`,
        version: version_,
      };
    }
    case 'delete parameter':
      return { do: doing, by: session, parameter, version: version(state.parameters[parameter]) };
  }
}
