/*
 * A sequential model of the contract, without a table: the response to each operation and the state
 * after it. Entities have handles, which sequences.ts maps to the ids of the service.
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
  /** The number of times that all sessions were ended, by deactivations included. */
  readonly sessionEndings: number;
  /** The number of changes of the e-mail address, including changes of its spelling. */
  readonly addressChanges: number;
  /** The numbers of the unused recovery codes of a second factor, if it is on. */
  readonly factor: readonly number[] | undefined;
  readonly version: number;
}

interface Integration {
  readonly name: string;
  readonly description: string | null;
  readonly active: boolean;
  readonly module: { readonly needsRestart: boolean; readonly changes: number } | null;
  /** The number of the configuration that its module is wanted to run. */
  readonly wanted: number;
  readonly version: number;
}

interface Parameter {
  readonly integration: string;
  readonly confName: string;
  readonly confValue: string;
  readonly version: number;
}

/** What the module of an integration proves its identity with. */
interface Credential {
  readonly integration: string;
}

/** The session of a token, and whether it has ended before the token expires. */
interface Session {
  readonly user: string;
  readonly ended: boolean;
}

/** A mailed key to set a password. */
interface ResetKey {
  readonly user: string;
  readonly addressChanges: number;
  readonly passwordChanges: number;
}

/** All existing entities by handle. */
export interface State {
  readonly users: Record<string, User>;
  readonly integrations: Record<string, Integration>;
  readonly parameters: Record<string, Parameter>;
  readonly credentials: Record<string, Credential>;
  readonly sessions: Record<string, Session>;
  readonly keys: Record<string, ResetKey>;
}

type WithPrecondition = { /** The version for If-Match. */ readonly version?: number | undefined };
type WithCaller = { /** The caller's session. */ readonly callerSession: string };
type WithNewHandle = { /** The handle of the created entity. */ readonly as: string };
type Person = Partial<Pick<User, 'firstName' | 'email'>>;
type Roles = Partial<Pick<User, 'activated' | 'authorities'>>;
type Owned = Pick<Parameter, 'confName' | 'confValue' | 'integration'>;

/** The parameters of every operation. */
interface ModelRequests {
  'create user': WithCaller &
    WithNewHandle &
    Roles &
    Pick<User, 'login' | 'email' | 'password'> & { firstName?: string | null };
  'update user': WithCaller &
    WithPrecondition &
    Roles &
    Pick<User, 'login' | 'email'> & { user: string; firstName?: string | null };
  'delete user': WithCaller & WithPrecondition & { login: string };
  'update account': WithCaller & Person;
  'change password': WithCaller & { from: string; to: string };
  'request reset': WithNewHandle & { email: string };
  'finish reset': { key: string; to: string };
  'log in': WithNewHandle & { login: string; password: string; code: number | undefined };
  'disable factor': WithCaller & { password: string; code: number };
  'remove factor': WithCaller & { login: string };
  'read user': WithCaller & { login: string };
  'read account': WithCaller;
  'log out': WithCaller;
  'end other sessions': WithCaller;
  'end sessions of': WithCaller & { login: string };
  'create integration': WithCaller & WithNewHandle & Pick<Integration, 'name'>;
  'update integration': WithCaller &
    WithPrecondition & { integration: string } & Pick<Integration, 'name' | 'active'> & {
      description?: string | null;
    };
  'delete integration': WithCaller & WithPrecondition & { integration: string };
  'report restart': WithCaller & { integration: string; changes: number };
  'create parameter': WithCaller & WithNewHandle & Owned;
  'update parameter': WithCaller & WithPrecondition & Owned & { parameter: string };
  'delete parameter': WithCaller & WithPrecondition & { parameter: string };
  'create credential': WithCaller & WithNewHandle & { integration: string };
  'delete credential': WithCaller & { integration: string; credential: string };
  /** With a token of the credential, and the number that the module holds. */
  'read module': { credential: string; integration: string; held: number | undefined };
}
export type OperationName = keyof ModelRequests;
export type ModelRequest<D extends OperationName = OperationName> = {
  [K in D]: { readonly do: K } & ModelRequests[K];
}[D];

/**
 * The expected response, with a version and a body where the contract has them, and handles for
 * ids.
 */
export interface ModelResponse {
  readonly status: number;
  readonly message?: string;
  readonly version?: number;
  readonly body?: object;
}

/** Applies a request and returns the response and the state after it. */
export function perform(
  before: State,
  request: ModelRequest,
): { response: ModelResponse; state: State } {
  const state = structuredClone(before);
  try {
    const rule = RULES[request.do] as (state: Draft, request: ModelRequest) => ModelResponse;
    return { response: rule(state, request), state };
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    return { response: error.response, state: before };
  }
}

/** The expected lists, with handles for ids. */
export function listsOf(state: State) {
  return {
    users: Object.entries(state.users).map(([id, user]) => userBody(id, user)),
    integrations: Object.entries(state.integrations).map(([id, integration]) =>
      integrationBody(id, integration),
    ),
    parameters: Object.keys(state.parameters).map((id) => parameterBody(state, id)),
  };
}

/** The key under which all spellings of an e-mail address are equal. */
const addressOf = (email: string): string => email.toLowerCase().replace('ß', 'ss');

/** SES sends no mail to a local part that is not ASCII. */
const canReceive = (email: string): boolean => /^\p{ASCII}*@/u.test(email);

type Draft = { -readonly [K in keyof State]: State[K] };

class Rejection extends Error {
  readonly response: ModelResponse;
  constructor(status: number, message = `error.http.${status}`) {
    super(message);
    this.response = { status, message };
  }
}

const check = (allowed: boolean, status: number, message?: string): void => {
  if (!allowed) throw new Rejection(status, message);
};

/** The caller, if the current state still authorizes the call. */
function authorizedCaller(
  state: State,
  { callerSession }: WithCaller,
  roles: readonly string[],
): [handle: string, user: User] {
  const { user: handle, ended } = state.sessions[callerSession] as Session;
  const user = state.users[handle];
  if (!user?.activated || ended) throw new Rejection(401);
  const hasRole = roles.length === 0 || roles.some((role) => user.authorities.includes(role));
  check(hasRole, 403);
  return [handle, user];
}

const ADMINISTRATORS = ['ROLE_ADMIN'];
const INTEGRATORS = ['ROLE_ADMIN', 'ROLE_USER'];

function requireExisting<T>(entities: Record<string, T>, handle: string, message: string): T {
  const entity = entities[handle];
  if (!entity) throw new Rejection(404, message);
  return entity;
}

const requireVersion = (entity: { version: number }, { version }: WithPrecondition) =>
  check(version === undefined || version === entity.version, 412);

/** Checks the invariants across all users, in the order in which the service reports violations. */
function checkInvariants(state: State, before: State, handle: string): void {
  const { [handle]: user, ...others } = state.users;
  const all = Object.values(others);
  if (user) {
    check(!all.some(({ login }) => login === user.login), 400, 'error.userexists');
    check(
      !all.some(({ email }) => addressOf(email) === addressOf(user.email)),
      400,
      'error.emailexists',
    );
  }
  const administers = ({ activated, authorities }: User) =>
    activated && authorities.includes('ROLE_ADMIN');
  const hasAdministrator = ({ users }: State) => Object.values(users).some(administers);
  check(hasAdministrator(state) || !hasAdministrator(before), 400, 'error.lastadmin');
}

const userWithLogin = ({ users }: State, login: string) =>
  Object.entries(users).find(([, user]) => user.login === login);

/** Ends all sessions of the user but one. */
function endSessions(state: Draft, handle: string, keptSession?: string): void {
  for (const [name, session] of Object.entries(state.sessions)) {
    if (session.user === handle && name !== keptSession)
      state.sessions[name] = { ...session, ended: true };
  }
}

/** Ends them, and counts that. */
function endAllSessions(state: Draft, handle: string, keptSession?: string): void {
  const user = state.users[handle] as User;
  state.users[handle] = { ...user, sessionEndings: user.sessionEndings + 1 };
  endSessions(state, handle, keptSession);
}

/** Sets the password, which ends all sessions of the user but one. */
function setPassword(state: Draft, handle: string, password: string, keptSession?: string): void {
  const user = state.users[handle] as User;
  state.users[handle] = { ...user, password, passwordChanges: user.passwordChanges + 1 };
  endSessions(state, handle, keptSession);
}

/** Uses a recovery code, or fails. */
function useCode(
  state: Draft,
  handle: string,
  code: number,
  ...failure: [status: number, message?: string]
): void {
  const user = state.users[handle] as User;
  check(user.factor?.includes(code) === true, ...failure);
  state.users[handle] = { ...user, factor: user.factor?.filter((unused) => unused !== code) };
}

const isValidKey = (state: State, { user, addressChanges, passwordChanges }: ResetKey): boolean => {
  const owner = state.users[user];
  return (
    owner?.activated === true &&
    owner.passwordChanges === passwordChanges &&
    owner.addressChanges === addressChanges
  );
};

const newKey = (user: string, { addressChanges, passwordChanges }: User): ResetKey => ({
  user,
  addressChanges,
  passwordChanges,
});

const userBody = (
  id: string,
  {
    password: _p,
    passwordChanges: _c,
    sessionEndings: _e,
    addressChanges: _a,
    factor: _f,
    version: _v,
    ...user
  }: User,
) => ({
  id,
  ...user,
  imageUrl: null,
  langKey: 'en',
});

const integrationBody = (id: string, { wanted: _w, version: _v, ...integration }: Integration) => ({
  id,
  ...integration,
  shortName: 'short',
  integrationType: 'API',
});

function parameterBody(state: State, id: string) {
  const { version: _v, integration: owner, ...parameter } = state.parameters[id] as Parameter;
  const { name, module } = state.integrations[owner] as Integration;
  return { id, integration: { id: owner, name, module }, ...parameter, confDescription: null };
}

const changed = <T extends { version: number }>(entity: T, fields: Partial<T>): T => {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return { ...entity, ...Object.fromEntries(given), version: entity.version + 1 };
};

/** Changes a user, and invalidates keys mailed to a previous address. */
const changedUser = (user: User, fields: Partial<User>): User => {
  const after = changed(user, fields);
  return { ...after, addressChanges: user.addressChanges + (after.email === user.email ? 0 : 1) };
};

/** Counts a change of what the module of an integration reads. */
const withNextNumber = (integration: Integration): Integration => ({
  ...integration,
  wanted: integration.wanted + 1,
});

const OK: ModelResponse = { status: 200 };

const RULES: { [D in OperationName]: (state: Draft, request: ModelRequests[D]) => ModelResponse } =
  {
    'create user'(state, request) {
      const before = structuredClone(state);
      const [, { login: createdBy }] = authorizedCaller(state, request, ADMINISTRATORS);
      const {
        login,
        email,
        firstName = null,
        password,
        activated = true,
        authorities = [],
      } = request;
      const person = { login, email, firstName, lastName: null, activated, authorities };
      const counts = { passwordChanges: 0, sessionEndings: 0, addressChanges: 0, version: 1 };
      const proofs = { password, factor: undefined };
      const user = { ...person, createdBy, lastModifiedBy: createdBy, ...proofs, ...counts };
      state.users[request.as] = user;
      checkInvariants(state, before, request.as);
      const isInvited = password === undefined && activated && canReceive(email);
      if (isInvited) state.keys[request.as] = newKey(request.as, user);
      return { status: 201, version: 1, body: userBody(request.as, user) };
    },

    'update user'(state, request) {
      const before = structuredClone(state);
      const [, { login: lastModifiedBy }] = authorizedCaller(state, request, ADMINISTRATORS);
      const user = requireExisting(state.users, request.user, 'error.idnotfound');
      requireVersion(user, request);
      const { login, email, firstName, activated, authorities } = request;
      const fields = { login, email, firstName, activated, authorities, lastModifiedBy };
      const after = changedUser(user, fields as Partial<User>);
      state.users[request.user] = after;
      checkInvariants(state, before, request.user);
      if (user.activated && !after.activated) endAllSessions(state, request.user);
      return { status: 200, version: after.version, body: userBody(request.user, after) };
    },

    'delete user'(state, request) {
      const before = structuredClone(state);
      authorizedCaller(state, request, ADMINISTRATORS);
      const [handle, user] = userWithLogin(state, request.login) ?? [];
      if (!handle || !user) throw new Rejection(404);
      requireVersion(user, request);
      delete state.users[handle];
      checkInvariants(state, before, handle);
      return OK;
    },

    'update account'(state, request) {
      const before = structuredClone(state);
      const [handle, user] = authorizedCaller(state, request, []);
      const { firstName, email } = request;
      const isSame = <T>(wanted: T | undefined, now: T) => wanted === undefined || wanted === now;
      if (isSame(firstName, user.firstName) && isSame(email, user.email)) return OK;
      state.users[handle] = changedUser(user, {
        firstName,
        email,
        lastModifiedBy: user.login,
      } as Partial<User>);
      checkInvariants(state, before, handle);
      return OK;
    },

    'change password'(state, request) {
      const [handle, user] = authorizedCaller(state, request, []);
      check(user.password === request.from, 400);
      setPassword(state, handle, request.to, request.callerSession);
      return OK;
    },

    'request reset'(state, request) {
      const owner = Object.entries(state.users).find(
        ([, { email }]) => addressOf(email) === addressOf(request.email),
      );
      if (owner?.[1].activated && canReceive(owner[1].email))
        state.keys[request.as] = newKey(...owner);
      return OK;
    },

    'finish reset'(state, request) {
      const key = state.keys[request.key];
      if (!key || !isValidKey(state, key)) throw new Rejection(400);
      setPassword(state, key.user, request.to);
      return OK;
    },

    'log in'(state, request) {
      const [handle, user] = userWithLogin(state, request.login) ?? [];
      if (!handle || !user?.activated || user.password !== request.password)
        throw new Rejection(401);
      if (user.factor) {
        check(request.code !== undefined, 401, 'error.coderequired');
        useCode(state, handle, request.code as number, 401);
      }
      state.sessions[request.as] = { user: handle, ended: false };
      return OK;
    },

    'disable factor'(state, request) {
      const [handle, user] = authorizedCaller(state, request, []);
      check(user.factor !== undefined, 400, 'error.secondfactoroff');
      check(user.password === request.password, 400);
      useCode(state, handle, request.code, 400, 'error.wrongcode');
      state.users[handle] = { ...user, factor: undefined };
      return OK;
    },

    'remove factor'(state, request) {
      const [caller] = authorizedCaller(state, request, ADMINISTRATORS);
      const [handle, user] = userWithLogin(state, request.login) ?? [];
      if (!handle || !user) throw new Rejection(404);
      check(handle !== caller, 403);
      check(user.factor !== undefined, 404);
      state.users[handle] = { ...user, factor: undefined };
      endAllSessions(state, handle);
      return OK;
    },

    'log out'(state, { callerSession }) {
      const session = state.sessions[callerSession] as Session;
      state.sessions[callerSession] = { ...session, ended: true };
      return OK;
    },

    'end other sessions'(state, request) {
      const [handle] = authorizedCaller(state, request, []);
      endAllSessions(state, handle, request.callerSession);
      return OK;
    },

    'end sessions of'(state, request) {
      authorizedCaller(state, request, ADMINISTRATORS);
      const [handle] = userWithLogin(state, request.login) ?? [];
      if (!handle) throw new Rejection(404);
      endAllSessions(state, handle);
      return OK;
    },

    'read account'(state, request) {
      const [handle, user] = authorizedCaller(state, request, []);
      const factor = {
        recoveryCodesLeft: user.factor?.length ?? 0,
        secondFactorRequiredFrom: null,
      };
      return { status: 200, body: { ...userBody(handle, user), ...factor } };
    },

    'read user'(state, request) {
      // What requires no role stays readable for the tokens of a deleted account.
      const { user: caller, ended } = state.sessions[request.callerSession] as Session;
      if (state.users[caller]) authorizedCaller(state, request, []);
      else check(!ended, 401);
      const [handle, user] = userWithLogin(state, request.login) ?? [];
      if (!handle || !user) throw new Rejection(404);
      return { status: 200, version: user.version, body: userBody(handle, user) };
    },

    'create integration'(state, request) {
      authorizedCaller(state, request, INTEGRATORS);
      const integration = {
        name: request.name,
        description: null,
        active: true,
        module: null,
        wanted: 1,
        version: 1,
      };
      state.integrations[request.as] = integration;
      return { status: 201, version: 1, body: integrationBody(request.as, integration) };
    },

    'update integration'(state, request) {
      authorizedCaller(state, request, INTEGRATORS);
      const integration = requireExisting(
        state.integrations,
        request.integration,
        'error.idnotfound',
      );
      requireVersion(integration, request);
      const { name, description, active } = request;
      const fields = { name, description, active } as Partial<Integration>;
      const after = withNextNumber(changed(integration, fields));
      state.integrations[request.integration] = after;
      return {
        status: 200,
        version: after.version,
        body: integrationBody(request.integration, after),
      };
    },

    'delete integration'(state, request) {
      authorizedCaller(state, request, INTEGRATORS);
      requireVersion(
        requireExisting(state.integrations, request.integration, 'error.http.404'),
        request,
      );
      delete state.integrations[request.integration];
      for (const [handle, { integration }] of Object.entries(state.parameters)) {
        if (integration === request.integration) delete state.parameters[handle];
      }
      for (const [handle, { integration }] of Object.entries(state.credentials)) {
        if (integration === request.integration) delete state.credentials[handle];
      }
      return OK;
    },

    'report restart'(state, request) {
      authorizedCaller(state, request, INTEGRATORS);
      const integration = requireExisting(
        state.integrations,
        request.integration,
        'error.http.404',
      );
      const { needsRestart, changes } = integration.module ?? { needsRestart: false, changes: 0 };
      check(request.changes <= changes, 400, 'error.validation');
      const clearsFlag = needsRestart && request.changes === changes;
      const after = clearsFlag
        ? changed(integration, { module: { needsRestart: false, changes } })
        : integration;
      state.integrations[request.integration] = after;
      return {
        status: 200,
        version: after.version,
        body: integrationBody(request.integration, after),
      };
    },

    'create parameter'(state, request) {
      authorizedCaller(state, request, INTEGRATORS);
      const owner = requireExisting(state.integrations, request.integration, 'error.idnotfound');
      const { integration, confName, confValue } = request;
      state.integrations[integration] = withNextNumber(owner);
      state.parameters[request.as] = { integration, confName, confValue, version: 1 };
      return { status: 201, version: 1, body: parameterBody(state, request.as) };
    },

    'update parameter'(state, request) {
      authorizedCaller(state, request, INTEGRATORS);
      const integration = requireExisting(
        state.integrations,
        request.integration,
        'error.idnotfound',
      );
      const parameter = requireExisting(state.parameters, request.parameter, 'error.idnotfound');
      check(parameter.integration === request.integration, 404, 'error.idnotfound');
      requireVersion(parameter, request);
      const module = { needsRestart: true, changes: (integration.module?.changes ?? 0) + 1 };
      state.integrations[request.integration] = withNextNumber(changed(integration, { module }));
      const after = changed(parameter, {
        confName: request.confName,
        confValue: request.confValue,
      });
      state.parameters[request.parameter] = after;
      return { status: 200, version: after.version, body: parameterBody(state, request.parameter) };
    },

    'delete parameter'(state, request) {
      authorizedCaller(state, request, INTEGRATORS);
      const parameter = requireExisting(state.parameters, request.parameter, 'error.http.404');
      requireVersion(parameter, request);
      delete state.parameters[request.parameter];
      const { integration } = parameter;
      state.integrations[integration] = withNextNumber(
        state.integrations[integration] as Integration,
      );
      return OK;
    },

    'create credential'(state, request) {
      authorizedCaller(state, request, ADMINISTRATORS);
      const { integration } = request;
      requireExisting(state.integrations, integration, 'error.http.404');
      const active = Object.values(state.credentials).filter(
        (each) => each.integration === integration,
      );
      check(active.length < 2, 400, 'error.toomanycredentials');
      state.credentials[request.as] = { integration };
      return { status: 201 };
    },

    'delete credential'(state, request) {
      authorizedCaller(state, request, ADMINISTRATORS);
      const { integration, credential } = request;
      check(state.credentials[credential]?.integration === integration, 404);
      delete state.credentials[credential];
      return OK;
    },

    'read module'(state, { credential, integration: handle, held }) {
      const owner = state.credentials[credential]?.integration;
      check(owner !== undefined, 401);
      check(owner === handle, 403);
      const integration = state.integrations[handle] as Integration;
      const { wanted: version, name, description, active } = integration;
      if (held === version) return { status: 304, version };
      const parameters = Object.entries(state.parameters)
        .filter(([, parameter]) => active && parameter.integration === handle)
        .map(([id, { confName, confValue }]) => ({
          id,
          confName,
          confValue,
          confDescription: null,
        }));
      const { shortName, integrationType } = integrationBody(handle, integration);
      return {
        status: 200,
        version,
        body: {
          integration: { id: handle, name, shortName, description, integrationType, active },
          parameters,
          module: { wanted: version },
        },
      };
    },
  };
