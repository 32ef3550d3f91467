import { changePassword } from '../../lib/accounts/change-password.ts';
import { confirmEmail } from '../../lib/accounts/confirm-email.ts';
import { logIn } from '../../lib/accounts/log-in.ts';
import { finishReset } from '../../lib/accounts/password-reset.ts';
import * as accounts from '../../lib/accounts/second-factor.ts';
import { updateAccount } from '../../lib/accounts/update-account.ts';
import { scimUserOf, setActive } from '../../lib/identities/scim-users.ts';
import { createFirstAdministrator } from '../../lib/operations/administrators/first-administrator.ts';
import { recoverAdministrator } from '../../lib/operations/administrators/recover-administrator.ts';
import { sharedKms } from '../../lib/runtime/kms.ts';
import * as sessions from '../../lib/sessions/sessions.ts';
import { commitWithRetries, loadDecideCommit } from '../../lib/table/change.ts';
import { entityKey } from '../../lib/table/keys.ts';
import type { Table } from '../../lib/table/table.ts';
import {
  EXISTS,
  type Precondition,
  put,
  remove,
  set,
  withCondition,
} from '../../lib/table/write.ts';
import { createToken, deleteToken, deleteTokenOf } from '../../lib/tokens/api-tokens.ts';
import { createUser } from '../../lib/users/create-user.ts';
import { deleteUser } from '../../lib/users/delete-user.ts';
import { inviteUser } from '../../lib/users/invite-user.ts';
import { newConfirmationKey } from '../../lib/users/mailed-keys.ts';
import { removeSecondFactor } from '../../lib/users/remove-second-factor.ts';
import {
  allSessionsEnded,
  findSession,
  sessionKept,
  sessionKey,
} from '../../lib/users/session-item.ts';
import { updateUser } from '../../lib/users/update-user.ts';
import { administratorView, type User, userView } from '../../lib/users/user.ts';
import { importInto } from '../support/commands/transfer.ts';
import { NOW } from './determinism.ts';
import {
  factorSecrets,
  hashOfPassword,
  passwords,
  policy,
  presentCode,
  publicRequest,
  requestBy,
  SOURCE,
  sessionToken,
  throttleOf,
} from './doubles.ts';
import {
  ADMINISTRATOR,
  type CallerName,
  callerOf,
  codeNow,
  confirmationKeyOf,
  newEmailOf,
  resetKeyOf,
  seriesOf,
} from './people.ts';
import type { Request } from './worlds.ts';

/* Every request that changes a user. */

type Handle = Parameters<typeof requestBy>[3];

/** A request of a user in one of their sessions or with a token, to the row with this handler. */
export const inSession = (
  by: User,
  session: CallerName,
  does: string,
  handler: string,
  handle: Handle,
): Request => {
  const name = `${by.login} ${does}${session === 'token' ? ' with a token' : ''}`;
  return requestBy(name, handler, callerOf(by, session), handle);
};
/** The same in the first session. */
export const act = (by: User, does: string, handler: string, handle: Handle): Request =>
  inSession(by, 1, does, handler, handle);

type Change = Partial<Pick<User, 'login' | 'email' | 'activated' | 'authorities' | 'firstName'>>;

const update = (
  by: User,
  user: User,
  does: string,
  change: Change,
  { session = 1, precondition }: { session?: CallerName; precondition?: Precondition } = {},
): Request =>
  inSession(by, session, does, 'update-user', async (table, caller) => {
    const { id, login, email, activated, authorities } = user;
    const fields = { id, login, email, activated, authorities, ...change } as never;
    return administratorView(await updateUser(table, caller, fields, precondition, false));
  });

const create = (by: User, login: string, named: string, fields: object): Request =>
  act(by, `creates ${named}`, 'create-user', async (table, caller) => {
    const usual = { login, email: `${login}@example.com`, activated: true, langKey: 'en' };
    const user = { ...usual, ...fields } as never;
    return administratorView(await createUser({ table, hasher: passwords, policy }, caller, user));
  });

const provision = (
  by: User,
  does: string,
  { id }: User,
  active: boolean,
  precondition?: Precondition,
): Request =>
  inSession(by, 'token', does, 'patch-scim-user', async (table, caller) =>
    scimUserOf(await setActive(table, caller, { id, active, precondition })),
  );

/** The requests of administrators about a user. */
export const administration = {
  create: (by: User, login: string) => create(by, login, login, { authorities: ['ROLE_USER'] }),
  createAdministrator: (by: User, login: string) =>
    create(by, login, `the administrator ${login}`, {
      authorities: ADMINISTRATOR,
      password: `password of ${login}`,
    }),
  rename: (by: User, user: User, login: string, session?: CallerName) =>
    update(by, user, `renames ${user.login} to ${login}`, { login }, { session }),
  renameUnchanged: (by: User, user: User, login: string) => {
    const does = `renames ${user.login} to ${login} if unchanged`;
    return update(by, user, does, { login }, { precondition: [user.version] });
  },
  move: (by: User, user: User, to: string) =>
    update(by, user, `gives ${user.login} the address of ${to}`, { email: `${to}@example.com` }),
  promote: (by: User, user: User) =>
    update(by, user, `makes ${user.login} an administrator`, { authorities: ADMINISTRATOR }),
  demote: (by: User, user: User) =>
    update(by, user, `makes ${user.login} a user`, { authorities: ['ROLE_USER'] }),
  restrict: (by: User, user: User) =>
    update(by, user, `makes ${user.login} an analyst`, { authorities: ['ROLE_ANALYST'] }),
  deactivate: (by: User, user: User) =>
    update(by, user, `deactivates ${user.login}`, { activated: false }),
  activate: (by: User, user: User) =>
    update(by, user, `activates ${user.login}`, { activated: true }),
  deprovision: (by: User, user: User) => provision(by, `deprovisions ${user.login}`, user, false),
  deprovisionUnchanged: (by: User, user: User) =>
    provision(by, `deprovisions ${user.login} if unchanged`, user, false, [user.version]),
  reprovision: (by: User, user: User) =>
    provision(by, `provisions ${user.login} again`, user, true),
  remove: (by: User, { login }: User, session: CallerName = 1) =>
    inSession(by, session, `deletes ${login}`, 'delete-user', (table, caller) =>
      deleteUser(table, caller, login, undefined),
    ),
  removeUnchanged: (by: User, { login, version }: User) =>
    act(by, `deletes ${login} if unchanged`, 'delete-user', (table, caller) =>
      deleteUser(table, caller, login, [version]),
    ),
  endSessions: (by: User, { login }: User) =>
    act(by, `ends the sessions of ${login}`, 'end-user-sessions', (table, caller) =>
      sessions.endSessionsOf(table, caller, login),
    ),
  endSession: (by: User, user: User) =>
    act(by, `ends session 2 of ${user.login}`, 'end-user-session', (table, caller) =>
      sessions.endSessionOf(table, caller, { login: user.login, series: seriesOf(user, 2) }),
    ),
  deleteToken: (by: User, user: User) =>
    act(by, `deletes the token of ${user.login}`, 'delete-user-token', (table, caller) =>
      deleteTokenOf(table, caller, { login: user.login, series: seriesOf(user, 'token') }),
    ),
  invite: (by: User, { login }: User) =>
    act(by, `invites ${login}`, 'invite-user', (table, caller) => inviteUser(table, caller, login)),
  removeFactor: (by: User, { login }: User) =>
    act(by, `removes the factor of ${login}`, 'remove-second-factor', (table, caller) =>
      removeSecondFactor(table, caller, login),
    ),
};

/** The table is put back to a time at which another account had the id of a user. */
export const replaceAccount = (user: User): Request => ({
  name: `${user.login} becomes another account`,
  handler: 'restore',
  writes: ['USER', 'SESSION#'],
  async run(table) {
    const fields = { incarnation: `${user.login}-second`, version: `1-${user.login}-second` };
    await commitWithRetries(table, () => [
      put(entityKey('USER', user.id), { ...user, ...fields }),
      ...[1, 2].map((number) => remove(sessionKey(callerOf(user, number)))),
    ]);
  },
});

/** A user turns the second factor off and on again, from the first session. */
export const replaceFactor = (user: User): Request => ({
  name: `${user.login} has another factor`,
  handler: 'confirm-second-factor',
  writes: ['USER', 'SESSION#'],
  async run(table) {
    const secondFactor = { ...user.secondFactor, nonce: 'other' };
    await loadDecideCommit(
      table,
      () => findSession(table, callerOf(user)),
      (session) => ({
        writes: [
          set(entityKey('USER', user.id), {
            secondFactor,
            factorChanges: 2,
            ...allSessionsEnded(user),
          }),
          ...(session
            ? [withCondition(sessionKept(callerOf(user), user, 'sessionEndings'), EXISTS)]
            : []),
        ],
        result: undefined,
      }),
    );
  },
});

/** An operator lets an administrator in who has lost the password, and any second factor. */
export const recover = (user: User): Request => ({
  name: `an operator lets ${user.login} in`,
  handler: 'recover-administrator',
  writes: ['USER'],
  async run(table) {
    const { outcome } = await recoverAdministrator(table, user.login, {
      removesFactor: user.secondFactor !== undefined,
      hashPassword: async () => hashOfPassword('recovered'),
    });
    return outcome;
  },
});

/** An operator creates the first administrator. */
export const createFirst = (login: string): Request => ({
  name: `an operator creates the first administrator ${login}`,
  handler: 'first-administrator',
  writes: ['USER', 'LOGIN#', 'EMAIL#', 'ADMINS', 'TOTAL'],
  async run(table) {
    const person = { login, email: `${login}@example.com`, password: login };
    return (await createFirstAdministrator(table, passwords, person))?.login;
  },
});

/** Mails a key that confirms a new address of a user. */
export const mailKey = (user: User): Request => ({
  name: `a key is mailed to ${user.login}`,
  handler: 'send-mail',
  writes: ['PENDING-EMAIL#'],
  async run(table) {
    const { write } = newConfirmationKey(user, `other-${user.login}@example.com`, NOW);
    await commitWithRetries(table, () => [write]);
  },
});

/** An operator imports a user. */
export const importUser = (login: string): Request => ({
  name: `an operator imports ${login}`,
  handler: 'import',
  writes: ['USER', 'LOGIN#', 'EMAIL#', 'ADMINS', 'TOTAL', 'IMPORTED#'],
  run: (table) =>
    importOf(table, {
      type: 'user',
      login,
      email: `${login}@example.com`,
      activated: true,
      authorities: ADMINISTRATOR,
      createdBy: 'import',
    }),
});

/** Imports a record; returns what became of it. */
export async function importOf(table: Table, record: object, again = false) {
  const target = { table, pepperKeys: [], valuesKey: 'values-key', kms: sharedKms() };
  const { tally, rejected } = await importInto(target, [record], { again });
  return { tally, rejected };
}

const services = (table: Table) => ({
  table,
  passwords,
  hasher: passwords,
  policy,
  factorSecrets,
  throttle: throttleOf(table),
});

/** What a user does with the own account; `number` is the session. */
export const ownAccount = {
  update: (user: User, number = 1) =>
    inSession(user, number, 'changes the own name', 'update-account', (_, caller) =>
      updateAccount(caller, { firstName: 'New' } as never, false),
    ),
  move: (user: User, to: string, number = 1) =>
    inSession(user, number, `takes the address of ${to}`, 'update-account', async (_, caller) => {
      await updateAccount(caller, { email: `${to}@example.com` } as never, false);
    }),
  requestEmail: (user: User, number = 1) =>
    inSession(user, number, 'requests another address', 'update-account', async (_, caller) => {
      const asked = await updateAccount(caller, { email: newEmailOf(user) } as never, true);
      return asked && userView(asked);
    }),
  confirmEmail: (user: User) =>
    publicRequest(`${user.login} confirms the address`, 'confirm-email', (table) =>
      confirmEmail(services(table), SOURCE, confirmationKeyOf(user)),
    ),
  changePassword: (user: User, number = 1) =>
    inSession(user, number, 'changes the password', 'change-password', (table, caller) =>
      changePassword(services(table), caller, SOURCE, user.login, `${user.login}-${number}`),
    ),
  resetPassword: (user: User) =>
    publicRequest(`${user.login} resets the password`, 'finish-reset', (table) =>
      finishReset(services(table), SOURCE, resetKeyOf(user), `${user.login}-reset`),
    ),
  logIn: (user: User, code: string | null = null) =>
    publicRequest(`${user.login} logs in`, 'authenticate', (table) => {
      const settings = { requirement: undefined, emergencyAccount: undefined };
      const credentials = { username: user.login, password: user.login, code, rememberMe: false };
      const needed = { ...services(table), ...settings, issueToken: sessionToken };
      return logIn(needed, SOURCE, credentials);
    }),
  logOut: (user: User, number = 1) =>
    inSession(user, number, `logs out of session ${number}`, 'log-out', sessions.logOut),
  endOthers: (user: User, number = 1) =>
    inSession(user, number, 'ends the other sessions', 'end-other-sessions', (_, caller) =>
      sessions.endOtherSessions(caller),
    ),
  endSession: (user: User, number = 2) =>
    act(user, `ends session ${number}`, 'end-session', (table, caller) =>
      sessions.endSession(table, caller, seriesOf(user, number)),
    ),
  createToken: (user: User, number = 1) =>
    inSession(user, number, 'creates a token', 'create-token', (_, caller) => {
      const token = { name: 'script', scopes: ['users:read' as const], expires: undefined };
      return createToken(caller, token, { daysMax: 30, tokensMax: 2 });
    }),
  deleteToken: (user: User, number = 1) =>
    inSession(user, number, 'deletes the token', 'delete-token', (_, caller) =>
      deleteToken(caller, seriesOf(user, 'token')),
    ),
  requestFactor: (user: User, number = 1) =>
    inSession(user, number, 'requests a factor', 'request-second-factor', (table, caller) =>
      accounts.requestFactor(services(table), caller, SOURCE, user.login),
    ),
  confirmFactor: (user: User) =>
    act(user, 'confirms the factor', 'confirm-second-factor', (table, caller) => {
      const code = presentCode(user.id, user.pendingFactor?.nonce ?? '');
      return accounts.confirmFactor(services(table), caller, SOURCE, code);
    }),
  disableFactor: (user: User, number = 1) =>
    inSession(user, number, 'turns off the factor', 'disable-second-factor', (table, caller) =>
      accounts.disableFactor(services(table), caller, SOURCE, proofOf(user)),
    ),
  replaceCodes: (user: User, number = 1) => {
    const does = 'replaces the recovery codes';
    return inSession(user, number, does, 'replace-recovery-codes', (table, caller) =>
      accounts.replaceRecoveryCodes(services(table), caller, SOURCE, proofOf(user)),
    );
  },
};

const proofOf = (user: User) => ({ currentPassword: user.login, code: codeNow(user) });
