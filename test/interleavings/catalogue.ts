import type { Item } from '../../lib/table/table.ts';
import type { User } from '../../lib/users/user.ts';
import {
  importGate,
  integrationRequests,
  integrationTables,
  tableWithDrawnId,
} from './integrations.ts';
import * as people from './people.ts';
import { ada, bob, administration as by, cyd, fay, ownAccount as own, pia } from './people.ts';
import type { Scenario } from './scenario.ts';
import type { Request } from './worlds.ts';

/* Which requests run at the same time. */

/** A kind of request, and a request of it. */
type Named = readonly [kind: string, request: Request];

/** What an administrator does to a user. */
const about = (admin: User, user: User): Named[] => [
  ['create', by.create(admin, 'new')],
  ['create administrator', by.createAdministrator(admin, 'new')],
  ['rename', by.rename(admin, user, 'new')],
  ['move', by.move(admin, user, 'new')],
  ['promote', by.promote(admin, user)],
  ['demote', by.demote(admin, user)],
  ['deactivate', by.deactivate(admin, user)],
  ['activate', by.activate(admin, user)],
  ['delete', by.remove(admin, user)],
  ['end all sessions', by.endSessions(admin, user)],
  ['end one session', by.endSession(admin, user)],
  ['remove factor', by.removeFactor(admin, user)],
  ['import', people.importUser(user === fay ? 'new' : user.login)],
];

/** What a user does with the own account, from one of two sessions. */
const ownRequests = (user: User, session: 1 | 2): Named[] => [
  ['own name', own.update(user, session)],
  ['own address', own.move(user, 'new', session)],
  ['request address', own.requestEmail(user, session)],
  ['confirm address', own.confirmEmail(user)],
  ['change password', own.changePassword(user, session)],
  ['reset password', own.resetPassword(user)],
  ['log in', own.logIn(user, user.secondFactor ? people.codeNow(user) : null)],
  ['log out', own.logOut(user, session)],
  ['end others', own.endOthers(user, session)],
  ['end own session', own.endSession(user)],
  ['request factor', own.requestFactor(user, session)],
  ['confirm factor', own.confirmFactor(user)],
  ['disable factor', own.disableFactor(user, session)],
  ['replace codes', own.replaceCodes(user, session)],
];

const scenarioOf = (users: readonly User[], ...requests: readonly Named[]): Scenario => ({
  items: people.tableOf(...users),
  requests: requests.map(([, request]) => request),
});

/** The users that changes are about: with a factor, about to have one, deactivated. */
const TARGETS = [fay, pia, people.una] as const;

/** Two requests about one user, by two administrators or from two sessions of the user. */
function* pairsAboutUsers(): Generator<Scenario> {
  for (const user of TARGETS) {
    const first = [...about(ada, user), ...ownRequests(user, 1)];
    const second = [...about(bob, user), ...ownRequests(user, 2)];
    for (const [position, one] of first.entries())
      for (const other of second.slice(position)) yield scenarioOf([ada, bob, user], one, other);
  }
}

/** Two administrators, the only ones, who change each other or themselves. */
function* pairsOfAdministrators(): Generator<Scenario> {
  const first = [...about(ada, bob), ...about(ada, ada), ...ownRequests(ada, 1)];
  const second = [...about(bob, ada), ...about(bob, bob), ...ownRequests(bob, 1)];
  for (const one of first) for (const other of second) yield scenarioOf([ada, bob], one, other);
}

/** A change by an administrator beside each pair. */
function* triplesAboutUsers(): Generator<Scenario> {
  for (const user of TARGETS) {
    const first = [...about(ada, user), ...ownRequests(user, 1)];
    const second = [...about(bob, user), ...ownRequests(user, 2)];
    for (const third of about(cyd, user))
      for (const [position, one] of first.entries())
        for (const other of second.slice(position))
          yield scenarioOf([ada, bob, cyd, user], third, one, other);
  }
}

/** Three administrators in a ring, each of whom changes the next or ceases to be one. */
function* triplesOfAdministrators(): Generator<Scenario> {
  const changes = (one: User, other: User): Named[] => [
    ['delete', by.remove(one, other)],
    ['demote', by.demote(one, other)],
    ['deactivate', by.deactivate(one, other)],
    ['demote', by.demote(one, one)],
    ['remove factor', by.removeFactor(one, other)],
    ['change password', own.changePassword(one)],
  ];
  for (const one of changes(ada, bob))
    for (const other of changes(bob, cyd))
      for (const third of changes(cyd, ada)) yield scenarioOf([ada, bob, cyd], one, other, third);
}

/** A user is deleted, and another one has the login and the address: what is left of the first? */
function* recreations(): Generator<Scenario> {
  const deleted: Named = ['delete', by.remove(ada, fay)];
  const recreated: Named = ['create', by.create(bob, fay.login)];
  for (const third of [...about(ada, fay), ...about(ada, bob), ...ownRequests(fay, 1)])
    yield scenarioOf([ada, bob, fay], deleted, recreated, third);
}

/** What needs a table or a request of its own. */
function* specialCases(): Generator<Scenario> {
  const odo = people.odo;
  const own2: Named[] = [
    ['log in', own.logIn(odo)],
    ['change password', own.changePassword(odo)],
    ['reset password', own.resetPassword(odo)],
  ];
  for (const other of own2) yield scenarioOf([ada, odo], ['log in', own.logIn(odo)], other);
  // With one token, which outlives the change of the password.
  for (const user of [fay, pia])
    for (const other of ownRequests(user, 1))
      yield scenarioOf([ada, user], ['change password', own.changePassword(user)], other);
  // The account is activated as before, but all sessions have ended.
  yield scenarioOf(
    [ada, bob, pia],
    ['deactivate', by.deactivate(ada, pia)],
    ['activate', by.activate(bob, pia)],
    ['log in', own.logIn(pia)],
  );
  // The account is another one at the commit.
  for (const [kind, request] of about(ada, fay))
    if (kind !== 'import')
      yield scenarioOf([ada, fay], ['replace', people.replaceAccount(ada)], [kind, request]);
  // One recovery code is used twice.
  const withRecoveryCode: Named = ['log in', own.logIn(fay, people.firstRecoveryCode())];
  yield scenarioOf([ada, fay], withRecoveryCode, withRecoveryCode);
  // The address is taken by then, or already.
  const taker: Named = ['create', by.create(ada, 'new-fay')];
  yield scenarioOf([ada, fay], taker, ['confirm address', own.confirmEmail(fay)]);
  const holder = { ...bob, email: 'new-fay@example.com' };
  yield scenarioOf(
    [ada, holder, fay],
    ['request address', own.requestEmail(fay)],
    ['own name', own.update(fay)],
  );
  // Another key is mailed meanwhile.
  for (const other of ownRequests(fay, 1))
    yield scenarioOf([ada, fay], ['mail key', people.mailKey(fay)], other);
  // A deleted user's sessions are ended one by one.
  yield {
    ...scenarioOf([ada, bob], ['log out', own.logOut(fay, 1)], ['log out', own.logOut(fay, 2)]),
    items: [...people.tableOf(ada, bob), people.formerItem(fay)],
  };
  // One record is imported twice at once: integrations have no unique name.
  yield scenarioOfGate(integrationTables.running, ['import', importGate], ['import', importGate]);
  // An id is drawn again.
  const rename: Named = ['rename', by.rename(bob, ada, 'other')];
  for (const create of [by.create(ada, 'new'), people.importUser('new')])
    yield { ...scenarioOf([ada, bob, people.ida], ['create', create], rename), mayGiveUp: true };
  const [createIntegration] = integrationRequests.integrations;
  for (const create of [createIntegration as Request, importGate])
    yield {
      ...scenarioOfGate(
        tableWithDrawnId(),
        ['create', create],
        ['rename', by.rename(ada, ada, 'other')],
      ),
      mayGiveUp: true,
    };
}

const scenarioOfGate = (items: readonly Item[], ...requests: readonly Named[]): Scenario => ({
  items,
  requests: requests.map(([, request]) => request),
});

const aboutGate: readonly Named[] = Object.entries(integrationRequests).flatMap(
  ([group, requests]) => requests.map((request): Named => [`${group}: ${request.name}`, request]),
);

/** Two requests about one integration, its parameters, its credentials and its module. */
function* pairsAboutIntegrations(): Generator<Scenario> {
  for (const items of Object.values(integrationTables))
    for (const [position, one] of aboutGate.entries())
      for (const other of aboutGate.slice(position)) yield scenarioOfGate(items, one, other);
}

/** What ends an integration, a credential or the rights of a caller, beside each pair. */
function* triplesAboutIntegrations(): Generator<Scenario> {
  const ends = aboutGate.filter(([kind]) => /delet|callerChanges/.test(kind));
  for (const [at, end] of ends.entries()) {
    const others = aboutGate.filter((each) => !ends.slice(0, at).includes(each));
    for (const [position, one] of others.entries())
      for (const other of others.slice(position))
        yield scenarioOfGate(integrationTables.running, end, one, other);
  }
}

/** All scenarios, by what they are about. */
export const SCENARIOS = {
  pairsAboutUsers,
  pairsOfAdministrators,
  recreations,
  specialCases,
  pairsAboutIntegrations,
  triplesOfAdministrators,
  triplesAboutUsers,
  triplesAboutIntegrations,
} as const;
