/*
 * The contract in small: what Gatehouse must answer and what must be true afterwards, with neither table nor concurrency.
 * Things are called by handles of the model's own; the ids of the service are bound to them by whoever compares.
 */

interface User {
  readonly login: string;
  readonly email: string;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly activated: boolean;
  readonly authorities: readonly string[];
  readonly createdBy: string;
  readonly lastModifiedBy: string;
  readonly password: string | undefined;
  readonly passwordChanges: number;
  /** How often the address has changed, by its spelling. */
  readonly addressChanges: number;
  readonly version: number;
}

interface Integration {
  readonly name: string;
  readonly description: string | null;
  readonly active: boolean;
  readonly module: { readonly needsRestart: boolean; readonly changes: number } | null;
  readonly version: number;
}

interface Parameter {
  readonly integration: string;
  readonly confName: string;
  readonly confValue: string;
  readonly version: number;
}

/** A token: it changes things until the password changes by another one. */
interface Session {
  readonly user: string;
  readonly stale: boolean;
}

/** What is mailed to set a password with. */
interface ResetKey {
  readonly user: string;
  readonly addressChanges: number;
  readonly passwordChanges: number;
}

/** All that is true, by handles. What is gone is not there. */
export interface State {
  readonly users: Record<string, User>;
  readonly integrations: Record<string, Integration>;
  readonly parameters: Record<string, Parameter>;
  readonly sessions: Record<string, Session>;
  readonly keys: Record<string, ResetKey>;
}

type If = { /** If-Match. */ readonly version?: number | undefined };
type By = { /** A session. */ readonly by: string };
type New = { /** The handle of what comes to be. */ readonly as: string };
type Person = Partial<Pick<User, 'firstName' | 'email'>>;
type Roles = Partial<Pick<User, 'activated' | 'authorities'>>;
type Owned = Pick<Parameter, 'confName' | 'confValue' | 'integration'>;

/** All that can be asked, by what it does. */
export interface Acts {
  'create user': By & New & Roles & Pick<User, 'login' | 'email' | 'password'> & { firstName?: string | null };
  'update user': By & If & Roles & Pick<User, 'login' | 'email'> & { user: string; firstName?: string | null };
  'delete user': By & If & { login: string };
  'update account': By & Person;
  'change password': By & { from: string; to: string };
  'ask for key': New & { email: string };
  'use key': { key: string; to: string };
  'log in': New & { login: string; password: string };
  'read user': { login: string };
  'create integration': By & New & Pick<Integration, 'name'>;
  'update integration': By &
    If & { integration: string } & Pick<Integration, 'name' | 'active'> & {
      description?: string | null;
    };
  'delete integration': By & If & { integration: string };
  'report restart': By & { integration: string; changes: number };
  'create parameter': By & New & Owned;
  'update parameter': By & If & Owned & { parameter: string };
  'delete parameter': By & If & { parameter: string };
}
export type Doing = keyof Acts;
export type Act<D extends Doing = Doing> = { [K in D]: { readonly do: K } & Acts[K] }[D];

/** What must be answered: with an ETag and a body where the contract has them, handles for ids. */
export interface Answer {
  readonly status: number;
  readonly message?: string;
  readonly version?: number;
  readonly body?: object;
}

/** What comes of an act: the answer, and what is true then. */
export function perform(before: State, act: Act): { answer: Answer; state: State } {
  const state = structuredClone(before);
  try {
    const rule = RULES[act.do] as (state: Draft, act: Act) => Answer;
    return { answer: rule(state, act), state };
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    return { answer: refusal.answer, state: before };
  }
}

/** The lists that must be shown, handles for ids. */
export function shown(state: State) {
  return {
    users: Object.entries(state.users).map(([id, user]) => userShown(id, user)),
    integrations: Object.entries(state.integrations).map(([id, integration]) => integrationShown(id, integration)),
    parameters: Object.keys(state.parameters).map((id) => parameterShown(state, id)),
  };
}

/** Several spellings, one address. */
export const addressOf = (email: string): string => email.toLowerCase().replace('ß', 'ss');

type Draft = { -readonly [K in keyof State]: State[K] };

class Refusal extends Error {
  readonly answer: Answer;
  constructor(status: number, message = `error.http.${status}`) {
    super(message);
    this.answer = { status, message };
  }
}

const demand = (allowed: boolean, status: number, message?: string): void => {
  if (!allowed) throw new Refusal(status, message);
};

/** Who calls, if the table says now that they may. */
function caller(state: State, { by }: By, roles: readonly string[], whenGone = 403): [handle: string, user: User] {
  const { user: handle, stale } = state.sessions[by] as Session;
  const user = state.users[handle];
  if (!user) throw new Refusal(whenGone);
  const entitled = roles.length === 0 || roles.some((role) => user.authorities.includes(role));
  demand(user.activated && !stale && entitled, 403);
  return [handle, user];
}

const ADMINISTRATORS = ['ROLE_ADMIN'];
const INTEGRATORS = ['ROLE_ADMIN', 'ROLE_USER'];

function existing<T>(things: Record<string, T>, handle: string, message: string): T {
  const thing = things[handle];
  if (!thing) throw new Refusal(404, message);
  return thing;
}

const demandVersion = (thing: { version: number }, { version }: If) =>
  demand(version === undefined || version === thing.version, 412);

/** The rules of all users together, in the order in which they are reported. */
function demandRules(state: State, before: State, handle: string): void {
  const { [handle]: user, ...others } = state.users;
  const all = Object.values(others);
  if (user) {
    demand(!all.some(({ login }) => login === user.login), 400, 'error.userexists');
    demand(!all.some(({ email }) => addressOf(email) === addressOf(user.email)), 400, 'error.emailexists');
  }
  const administers = ({ activated, authorities }: User) => activated && authorities.includes('ROLE_ADMIN');
  const some = ({ users }: State) => Object.values(users).some(administers);
  demand(some(state) || !some(before), 400, 'error.lastadmin');
}

/** The new password stands; of all tokens only this one goes on. */
function setPassword(state: Draft, handle: string, password: string, excepted?: string): void {
  const user = state.users[handle] as User;
  state.users[handle] = { ...user, password, passwordChanges: user.passwordChanges + 1 };
  for (const [name, session] of Object.entries(state.sessions)) {
    if (session.user === handle && name !== excepted) state.sessions[name] = { ...session, stale: true };
  }
}

const isGood = (state: State, { user, addressChanges, passwordChanges }: ResetKey): boolean => {
  const owner = state.users[user];
  return (
    owner?.activated === true && owner.passwordChanges === passwordChanges && owner.addressChanges === addressChanges
  );
};

const newKey = (user: string, { addressChanges, passwordChanges }: User): ResetKey => ({
  user,
  addressChanges,
  passwordChanges,
});

const userShown = (
  id: string,
  { password: _p, passwordChanges: _c, addressChanges: _a, version: _v, ...user }: User,
) => ({
  id,
  ...user,
  imageUrl: null,
  langKey: 'en',
});

const integrationShown = (id: string, { version: _v, ...integration }: Integration) => ({
  id,
  ...integration,
  shortName: 'short',
  integrationType: 'API',
});

function parameterShown(state: State, id: string) {
  const { version: _v, integration: owner, ...parameter } = state.parameters[id] as Parameter;
  const { name, module } = state.integrations[owner] as Integration;
  return { id, integration: { id: owner, name, module }, ...parameter, confDescription: null };
}

const changed = <T extends { version: number }>(thing: T, fields: Partial<T>): T => {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return { ...thing, ...Object.fromEntries(given), version: thing.version + 1 };
};

/** A user changes; a key that was mailed to another address is worthless. */
const changedUser = (user: User, fields: Partial<User>): User => {
  const after = changed(user, fields);
  return { ...after, addressChanges: user.addressChanges + (after.email === user.email ? 0 : 1) };
};

const DONE: Answer = { status: 200 };

const RULES: { [D in Doing]: (state: Draft, act: Acts[D]) => Answer } = {
  'create user'(state, act) {
    const before = structuredClone(state);
    const [, { login: createdBy }] = caller(state, act, ADMINISTRATORS);
    const { login, email, firstName = null, password, activated = true, authorities = [] } = act;
    const person = { login, email, firstName, lastName: null, activated, authorities };
    const counts = { passwordChanges: 0, addressChanges: 0, version: 1 };
    const user = { ...person, createdBy, lastModifiedBy: createdBy, password, ...counts };
    state.users[act.as] = user;
    demandRules(state, before, act.as);
    if (password === undefined && activated) state.keys[act.as] = newKey(act.as, user);
    return { status: 201, version: 1, body: userShown(act.as, user) };
  },

  'update user'(state, act) {
    const before = structuredClone(state);
    const [, { login: lastModifiedBy }] = caller(state, act, ADMINISTRATORS);
    const user = existing(state.users, act.user, 'error.idnotfound');
    demandVersion(user, act);
    const { login, email, firstName, activated, authorities } = act;
    const fields = { login, email, firstName, activated, authorities, lastModifiedBy };
    const after = changedUser(user, fields as Partial<User>);
    state.users[act.user] = after;
    demandRules(state, before, act.user);
    return { status: 200, version: after.version, body: userShown(act.user, after) };
  },

  'delete user'(state, act) {
    const before = structuredClone(state);
    caller(state, act, ADMINISTRATORS);
    const [[handle, user] = []] = Object.entries(state.users).filter(([, { login }]) => login === act.login);
    if (!handle || !user) throw new Refusal(404);
    demandVersion(user, act);
    delete state.users[handle];
    demandRules(state, before, handle);
    return DONE;
  },

  'update account'(state, act) {
    const before = structuredClone(state);
    const [handle, user] = caller(state, act, [], 401);
    const { firstName, email } = act;
    const isSame = <T>(wanted: T | undefined, now: T) => wanted === undefined || wanted === now;
    if (isSame(firstName, user.firstName) && isSame(email, user.email)) return DONE;
    state.users[handle] = changedUser(user, { firstName, email, lastModifiedBy: user.login } as Partial<User>);
    demandRules(state, before, handle);
    return DONE;
  },

  'change password'(state, act) {
    const [handle, user] = caller(state, act, [], 401);
    demand(user.password === act.from, 400);
    setPassword(state, handle, act.to, act.by);
    return DONE;
  },

  'ask for key'(state, act) {
    const owner = Object.entries(state.users).find(([, { email }]) => addressOf(email) === addressOf(act.email));
    if (owner?.[1].activated) state.keys[act.as] = newKey(...owner);
    return DONE;
  },

  'use key'(state, act) {
    const key = state.keys[act.key];
    if (!key || !isGood(state, key)) throw new Refusal(400);
    setPassword(state, key.user, act.to);
    return DONE;
  },

  'log in'(state, act) {
    const [[handle, user] = []] = Object.entries(state.users).filter(([, { login }]) => login === act.login);
    if (!handle || !user?.activated || user.password !== act.password) throw new Refusal(401);
    state.sessions[act.as] = { user: handle, stale: false };
    return DONE;
  },

  'read user'(state, act) {
    const [[handle, user] = []] = Object.entries(state.users).filter(([, { login }]) => login === act.login);
    if (!handle || !user) throw new Refusal(404);
    return { status: 200, version: user.version, body: userShown(handle, user) };
  },

  'create integration'(state, act) {
    caller(state, act, INTEGRATORS);
    const integration = { name: act.name, description: null, active: true, module: null, version: 1 };
    state.integrations[act.as] = integration;
    return { status: 201, version: 1, body: integrationShown(act.as, integration) };
  },

  'update integration'(state, act) {
    caller(state, act, INTEGRATORS);
    const integration = existing(state.integrations, act.integration, 'error.idnotfound');
    demandVersion(integration, act);
    const { name, description, active } = act;
    const after = changed(integration, { name, description, active } as Partial<Integration>);
    state.integrations[act.integration] = after;
    return { status: 200, version: after.version, body: integrationShown(act.integration, after) };
  },

  'delete integration'(state, act) {
    caller(state, act, INTEGRATORS);
    demandVersion(existing(state.integrations, act.integration, 'error.http.404'), act);
    delete state.integrations[act.integration];
    for (const [handle, { integration }] of Object.entries(state.parameters)) {
      if (integration === act.integration) delete state.parameters[handle];
    }
    return DONE;
  },

  'report restart'(state, act) {
    caller(state, act, INTEGRATORS);
    const integration = existing(state.integrations, act.integration, 'error.http.404');
    const { needsRestart, changes } = integration.module ?? { needsRestart: false, changes: 0 };
    demand(act.changes <= changes, 400, 'error.validation');
    const seen = needsRestart && act.changes === changes;
    const after = seen ? changed(integration, { module: { needsRestart: false, changes } }) : integration;
    state.integrations[act.integration] = after;
    return { status: 200, version: after.version, body: integrationShown(act.integration, after) };
  },

  'create parameter'(state, act) {
    caller(state, act, INTEGRATORS);
    existing(state.integrations, act.integration, 'error.idnotfound');
    const { integration, confName, confValue } = act;
    state.parameters[act.as] = { integration, confName, confValue, version: 1 };
    return { status: 201, version: 1, body: parameterShown(state, act.as) };
  },

  'update parameter'(state, act) {
    caller(state, act, INTEGRATORS);
    const integration = existing(state.integrations, act.integration, 'error.idnotfound');
    const parameter = existing(state.parameters, act.parameter, 'error.idnotfound');
    demand(parameter.integration === act.integration, 404, 'error.idnotfound');
    demandVersion(parameter, act);
    const module = { needsRestart: true, changes: (integration.module?.changes ?? 0) + 1 };
    state.integrations[act.integration] = changed(integration, { module });
    const after = changed(parameter, { confName: act.confName, confValue: act.confValue });
    state.parameters[act.parameter] = after;
    return { status: 200, version: after.version, body: parameterShown(state, act.parameter) };
  },

  'delete parameter'(state, act) {
    caller(state, act, INTEGRATORS);
    demandVersion(existing(state.parameters, act.parameter, 'error.http.404'), act);
    delete state.parameters[act.parameter];
    return DONE;
  },
};
