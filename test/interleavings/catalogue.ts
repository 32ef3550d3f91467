import type { Item } from '../../lib/table/table.ts';
import type { User } from '../../lib/users/user.ts';
import { NOW } from './determinism.ts';
import { linked, linking, provided, tableWithIdentities } from './identity-requests.ts';
import {
  createLock,
  formerImport,
  importGate,
  importGateAgain,
  integrationRequests,
  listDuringCreation,
} from './integration-requests.ts';
import { ina, integrationTable, integrationTables, tableWithDrawnId } from './integrations.ts';
import {
  ada,
  bob,
  codeNow,
  cyd,
  fay,
  firstRecoveryCode,
  ida,
  ivo,
  ivoUninvited,
  odo,
  outlivingSessions,
  pia,
  tableOf,
  una,
  withToken,
} from './people.ts';
import { application, managed, OTHER_SET, plans } from './plan-requests.ts';
import type { Scenario } from './scenario.ts';
import {
  administration as by,
  createFirst,
  importUser,
  mailKey,
  ownAccount as own,
  recover,
  replaceAccount,
  replaceFactor,
} from './user-requests.ts';
import type { Request } from './worlds.ts';

/* Which requests run at the same time. */

/** What an administrator does to a user, and an operator. */
const about = (admin: User, user: User): Request[] => [
  by.create(admin, 'new'),
  by.createAdministrator(admin, 'new'),
  by.rename(admin, user, 'new'),
  by.move(admin, user, 'new'),
  by.promote(admin, user),
  by.demote(admin, user),
  by.deactivate(admin, user),
  by.activate(admin, user),
  by.remove(admin, user),
  by.endSessions(admin, user),
  by.endSession(admin, user),
  by.removeFactor(admin, user),
  importUser(user === fay ? 'new' : user.login),
];

/** What a user does with the own account, from one of two sessions. */
const ownRequests = (user: User, session: 1 | 2): Request[] => [
  own.update(user, session),
  own.move(user, 'new', session),
  own.requestEmail(user, session),
  own.confirmEmail(user),
  own.changePassword(user, session),
  own.resetPassword(user),
  own.logIn(user, user.secondFactor ? codeNow(user) : null),
  own.logOut(user, session),
  own.endOthers(user, session),
  own.endSession(user),
  own.requestFactor(user, session),
  own.confirmFactor(user),
  own.disableFactor(user, session),
  own.replaceCodes(user, session),
];

const requestsAbout = (admin: User, user: User, session: 1 | 2): Request[] => [
  ...about(admin, user),
  ...ownRequests(user, session),
];

type Items = readonly Item[];
type Requests = readonly Request[];

const scenarioOf = (items: Items, ...requests: Requests): Scenario => ({ items, requests });

/** Each of one list with each of another that has the same kinds, but no pair of kinds twice. */
function* pairsOf(first: Requests, second: Requests): Generator<[Request, Request]> {
  for (const [position, one] of first.entries())
    for (const other of second.slice(position)) yield [one, other];
}

function* inPairs(items: Items, first: Requests, second = first): Generator<Scenario> {
  for (const pair of pairsOf(first, second)) yield scenarioOf(items, ...pair);
}

/** Each request of each list beside each of the others. */
function* combined(items: Items, ...lists: readonly Requests[]): Generator<Scenario> {
  const add = (begun: readonly Requests[], list: Requests) =>
    begun.flatMap((requests) => list.map((request) => [...requests, request]));
  for (const requests of lists.reduce(add, [[]])) yield { items, requests };
}

/** The users that changes are about: with a factor, about to have one, deactivated. */
const TARGETS = [fay, pia, una] as const;

/** Two requests about one user, by two administrators or from two sessions of the user. */
function* pairsAboutUsers(): Generator<Scenario> {
  for (const user of TARGETS)
    yield* inPairs(
      tableOf(ada, bob, user),
      requestsAbout(ada, user, 1),
      requestsAbout(bob, user, 2),
    );
}

/** Two administrators, the only ones, who change each other or themselves. */
function* pairsOfAdministrators(): Generator<Scenario> {
  const first = [...about(ada, bob), ...requestsAbout(ada, ada, 1)];
  const second = [...about(bob, ada), ...requestsAbout(bob, bob, 1)];
  yield* combined(tableOf(ada, bob), first, second);
}

/** A change by an administrator beside each pair. */
function* triplesAboutUsers(): Generator<Scenario> {
  for (const user of TARGETS) {
    const items = tableOf(ada, bob, cyd, user);
    const pairs = [...pairsOf(requestsAbout(ada, user, 1), requestsAbout(bob, user, 2))];
    for (const third of about(cyd, user))
      for (const pair of pairs) yield scenarioOf(items, third, ...pair);
  }
}

/** Three administrators in a ring, each of whom changes the next or ceases to be one. */
function* triplesOfAdministrators(): Generator<Scenario> {
  const changes = (one: User, other: User) => [
    by.remove(one, other),
    by.demote(one, other),
    by.deactivate(one, other),
    by.demote(one, one),
    by.removeFactor(one, other),
    own.changePassword(one),
  ];
  const withFactor = (user: User): User => ({ ...user, secondFactor: fay.secondFactor });
  const items = tableOf(...[ada, bob, cyd].map(withFactor));
  yield* combined(items, changes(ada, bob), changes(bob, cyd), changes(cyd, ada));
}

/** A user is deleted, and another one has the login and the address: what is left of the first? */
function* recreations(): Generator<Scenario> {
  const others = [...about(ada, fay), ...about(ada, bob), ...ownRequests(fay, 1)];
  yield* combined(
    tableOf(ada, bob, fay),
    [by.remove(ada, fay)],
    [by.create(bob, fay.login)],
    others,
  );
}

/** What needs a table or a request of its own. */
function* specialCases(): Generator<Scenario> {
  const changes = [own.logIn(odo), own.changePassword(odo), own.resetPassword(odo)];
  yield* combined(tableOf(ada, odo), [own.logIn(odo)], changes);
  const admin = withToken(ada);
  const admins = tableOf(admin, withToken(bob));
  yield scenarioOf(admins, by.deprovision(ada, bob), by.deprovision(bob, ada));
  yield scenarioOf(admins, by.deprovision(ada, ada), by.deprovision(bob, bob));
  for (const user of [fay, pia])
    yield* combined(
      tableOf(admin, bob, user),
      [by.deprovision(ada, user)],
      requestsAbout(bob, user, 1),
    );
  yield* combined(tableOf(admin, bob, una), [by.reprovision(ada, una)], about(bob, una));
  // A session ends itself.
  yield* combined(tableOf(ada, fay), [own.endSession(fay, 1)], ownRequests(fay, 1));
  // The new password is the login by then.
  yield scenarioOf(tableOf(ada, fay), by.rename(ada, fay, 'fay-1'), own.changePassword(fay));
  yield scenarioOf(tableOf(ada, fay), by.rename(ada, fay, 'fay-reset'), own.resetPassword(fay));
  // Each of the new tokens takes the place of one that has expired.
  const lapsed = { ...withToken(fay), tokens: [{ series: 'lapsed', expires: NOW / 1000 - 1 }] };
  yield scenarioOf(tableOf(ada, lapsed), own.createToken(lapsed, 1), own.createToken(lapsed, 2));
  // With one token, which outlives the change of the password.
  for (const user of [fay, pia])
    yield* combined(tableOf(ada, user), [own.changePassword(user)], ownRequests(user, 1));
  // The account is activated as before, but all sessions have ended.
  const activations = [by.deactivate(ada, pia), by.activate(bob, pia)];
  yield scenarioOf(tableOf(ada, bob, pia), ...activations, own.logIn(pia));
  // The account is another one at the commit.
  const ofCaller = about(ada, fay).filter(({ caller }) => caller);
  yield* combined(tableOf(ada, fay), [replaceAccount(ada)], ofCaller);
  // The second factor is another one at the commit.
  yield* combined(tableOf(ada, fay), [replaceFactor(fay)], ownRequests(fay, 1));
  const linkingNew = linking.linkOwn(pia, 'new');
  yield scenarioOf(tableWithIdentities(ada, pia), own.confirmFactor(pia), linkingNew);
  yield* recoveries();
  // The user is not as the administrator has seen them.
  const ifUnchanged = [
    by.renameUnchanged(ada, fay, 'new'),
    by.removeUnchanged(ada, fay),
    by.deprovisionUnchanged(ada, fay),
  ];
  yield* combined(tableOf(admin, bob, fay), ifUnchanged, requestsAbout(bob, fay, 1));
  // The user may not read what is sent to the address: a key that was mailed to it proves that.
  const unproven: User = { ...fay, emailUnproven: true };
  const aboutUnproven = requestsAbout(ada, unproven, 1);
  yield* combined(tableOf(ada, unproven), [own.confirmEmail(unproven)], aboutUnproven);
  // The notice of a removal has the lower limit if the address was unproven when it was read.
  const withoutRemoval = aboutUnproven.filter(({ handler }) => handler !== 'remove-second-factor');
  yield* combined(tableOf(ada, unproven), [own.resetPassword(unproven)], withoutRemoval);
  // One recovery code is used twice.
  const withRecoveryCode = own.logIn(fay, firstRecoveryCode());
  yield scenarioOf(tableOf(ada, fay), withRecoveryCode, withRecoveryCode);
  // The address is taken by then, or already.
  yield scenarioOf(tableOf(ada, fay), by.create(ada, 'new-fay'), own.confirmEmail(fay));
  const holder = { ...bob, email: 'new-fay@example.com' };
  yield scenarioOf(tableOf(ada, holder, fay), own.requestEmail(fay), own.update(fay));
  // Another key is mailed meanwhile.
  for (const user of [fay, pia])
    yield* combined(tableOf(ada, user), [mailKey(user)], ownRequests(user, 1));
  // A deleted user's sessions are ended one by one.
  const left = [...tableOf(ada, bob), ...outlivingSessions(fay)];
  yield scenarioOf(left, own.logOut(fay, 1), own.logOut(fay, 2));
  // A user without a password sets one while they are invited or changed.
  for (const user of [ivo, ivoUninvited]) {
    const others = [
      by.invite(bob, user),
      by.rename(bob, user, 'new'),
      by.move(bob, user, 'new'),
      by.deactivate(bob, user),
      own.resetPassword(user),
      own.logOut(ada),
    ];
    yield* inPairs(tableOf(ada, bob, user), [by.invite(ada, user), ...others], others);
  }
  yield scenarioOf(integrationTables.running, ...listDuringCreation);
  // One record is imported twice at once, for the first time or after its integration was deleted:
  // integrations have no unique name.
  yield scenarioOf(integrationTables.running, importGate, importGate);
  yield scenarioOf([...integrationTables.running, formerImport], importGateAgain, importGateAgain);
  for (const create of [by.create(ada, 'new'), importUser('new')])
    yield drawingAgain(tableOf(ada, bob, ida), create, by.rename(bob, ada, 'other'));
  for (const create of [createLock(ina), importGate])
    yield drawingAgain(tableWithDrawnId(), create, by.rename(ada, ada, 'other'));
}

/** An id is drawn again. */
const drawingAgain = (items: Items, ...requests: Requests): Scenario => ({
  items,
  requests,
  mayGiveUp: true,
});

/** Operators let an administrator in, whom nobody else can help. */
function* recoveries(): Generator<Scenario> {
  const admin: User = { ...ada, secondFactor: fay.secondFactor };
  const others = [...about(bob, admin), ...ownRequests(admin, 1), recover(admin)];
  yield* combined(tableOf(admin, bob), [recover(admin)], others);
  const items = tableOf(fay).filter(({ pk }) => pk !== 'ADMINS');
  const newcomers = [createFirst('new'), createFirst('other'), importUser('other')];
  yield* combined(items, [createFirst('new')], newcomers);
}

/** What is done about the API token of an administrator, and with it. */
const aboutToken = (user: User, session: 1 | 2): Request[] => [
  own.createToken(user, session),
  own.deleteToken(user, session),
  by.deleteToken(bob, user),
  by.rename(user, bob, 'other', 'token'),
  by.remove(user, user, 'token'),
  createLock(user, 'token'),
];

/** Each of them beside another, or beside what ends the token or might. */
function* pairsAboutTokens(): Generator<Scenario> {
  for (const user of [fay, pia].map(withToken)) {
    const others = [...aboutToken(user, 1), ...requestsAbout(ada, user, 1), recover(user)];
    yield* inPairs(tableOf(ada, bob, user), aboutToken(user, 2), others);
  }
}

/** What is done with the identity of a user, and with it; the groups grant, take or keep roles. */
const aboutIdentity = (admin: User, user: User, session: 1 | 2): Request[] => [
  provided.logIn(user, 'users'),
  provided.logIn(user, 'users', 'admins'),
  provided.logIn(user, 'admins'),
  provided.logInWeakly(user),
  linking.unlink(admin, user),
  linking.link(admin, user, 'new'),
  linking.linkOwn(user, 'new', session),
];

/** Each of them beside another, or beside any change of the user. */
function* pairsAboutIdentities(): Generator<Scenario> {
  for (const user of [...TARGETS.map(linked), ...TARGETS]) {
    const others = [...aboutIdentity(ada, user, 1), ...requestsAbout(ada, user, 1)];
    yield* inPairs(tableWithIdentities(ada, bob, user), aboutIdentity(bob, user, 2), others);
  }
  const link = linking.linkOwn(fay, 'new');
  yield scenarioOf(tableWithIdentities(ada, fay), replaceFactor(fay), link);
  // With one token, after the identity was unlinked again.
  const unlinking = [linking.unlink(ada, fay), linking.linkOwn(pia, 'new')];
  yield scenarioOf(tableWithIdentities(ada, fay, pia), link, ...unlinking);
  const drawing = provided.logInFirst('new', 'new');
  yield drawingAgain(tableWithIdentities(ada, bob, ida), drawing, by.rename(bob, ada, 'other'));
  yield* pairsOfNewcomers();
}

/** An identity without an account, which log-ins create or others are linked with. */
function* pairsOfNewcomers(): Generator<Scenario> {
  const requests = [
    provided.logInFirst('new', 'new'),
    provided.logInFirst('new', 'other'),
    provided.logInFirst('new', 'new', 'new@example.com'),
    provided.logInFirst('other', 'new'),
    linking.link(ada, fay, 'new'),
    linking.linkOwn(fay, 'new'),
  ];
  const others = [...requests, ...requestsAbout(ada, fay, 1), linking.link(bob, pia, 'new')];
  yield* inPairs(tableWithIdentities(ada, bob, fay, pia), requests, others);
}

/** Two administrators, the only ones, of whom the groups make one or both a user. */
function* pairsOfLinkedAdministrators(): Generator<Scenario> {
  const [one, other] = [linked(ada), linked(bob)];
  const others = [
    ...aboutIdentity(one, other, 1),
    ...about(other, one),
    ...requestsAbout(other, other, 1),
  ];
  yield* combined(tableWithIdentities(one, other), aboutIdentity(other, one, 1), others);
  // The only one makes another, whom the groups make a user: there were two by then.
  const user = linked(fay);
  yield* combined(
    tableWithIdentities(bob, user),
    [provided.logIn(user, 'users')],
    about(bob, user),
  );
}

/** Three administrators in a ring, whom their groups or another one demote; an identity moves. */
function* triplesAboutIdentities(): Generator<Scenario> {
  const admins = [ada, bob, cyd].map(linked) as [User, User, User];
  const changes = (one: User, next: User) => [
    provided.logIn(one, 'users'),
    by.demote(one, next),
    by.remove(one, next),
  ];
  const [one, two, three] = admins;
  const items = tableWithIdentities(...admins);
  yield* combined(items, changes(one, two), changes(two, three), changes(three, one));
  const user = linked(fay);
  const freed = [linking.unlink(ada, user), by.remove(ada, user)];
  const taken = [linking.link(bob, pia, user.login), linking.linkOwn(pia, user.login)];
  const logIns = [provided.logIn(user, 'users')];
  yield* combined(tableWithIdentities(ada, bob, user, pia), freed, taken, logIns);
}

const aboutGate: Requests = Object.values(integrationRequests).flat();

/** Two requests about one integration, its parameters, its credentials and its module. */
function* pairsAboutIntegrations(): Generator<Scenario> {
  for (const items of Object.values(integrationTables)) yield* inPairs(items, aboutGate);
}

/** What ends an integration, a credential or the rights of a caller, beside each pair. */
function* triplesAboutIntegrations(): Generator<Scenario> {
  const deletions = aboutGate.filter(({ handler }) => handler.startsWith('delete-'));
  const ends = [...new Set([...deletions, ...integrationRequests.callerChanges])];
  for (const [at, end] of ends.entries()) {
    // A poll whose credential is deleted while it runs may return what is changed after that.
    const isExplored = ({ name }: Request) =>
      end.handler !== 'delete-credential' || !name.startsWith('the module polls');
    const others = aboutGate.filter(
      (each) => !ends.slice(0, at).includes(each) && isExplored(each),
    );
    for (const pair of pairsOf(others, others))
      yield scenarioOf(integrationTables.running, end, ...pair);
  }
}

/** What may end the right of an administrator to apply a plan, or leave it as it is. */
const aboutCaller = (user: User): Request[] => [
  by.demote(bob, user),
  by.deactivate(bob, user),
  by.rename(bob, user, 'other'),
  by.remove(bob, user),
  by.endSessions(bob, user),
  own.logOut(user, 1),
  own.endOthers(user, 2),
  own.changePassword(user, 1),
  own.changePassword(user, 2),
  own.deleteToken(user, 2),
  by.deleteToken(bob, user),
];

/** Applications of plans beside changes of what they are about or of their callers. */
function* pairsAboutPlans(): Generator<Scenario> {
  const admin = withToken(ada);
  const kept = managed(fay);
  const users = tableOf(admin, bob, fay);
  const gate = integrationTable({}, [admin, bob, ina]);
  const managedGate = integrationTable(managed({}), [admin, bob, ina]);
  const ofOthers = aboutGate.filter((each) => !integrationRequests.callerChanges.includes(each));
  const ofBob = [by.rename(bob, bob, 'new'), by.move(bob, bob, 'new')];
  const cases = [
    {
      plan: plans.deactivation,
      items: users,
      others: [...requestsAbout(bob, fay, 1), ...ofBob],
    },
    {
      plan: plans.demotion,
      items: tableOf(admin, bob, cyd),
      others: [...about(bob, admin), ...about(cyd, bob), ...ownRequests(bob, 1)],
    },
    {
      plan: plans.own,
      items: users,
      others: [...requestsAbout(bob, admin, 1), ...ownRequests(admin, 2)],
    },
    {
      plan: plans.pruning,
      items: tableOf(admin, bob, kept),
      others: [...requestsAbout(bob, kept, 1), own.createToken(kept)],
    },
    // An invited user sets a password.
    { plan: plans.invitation, items: tableOf(admin, bob, ivo), others: [own.resetPassword(ivo)] },
    { plan: plans.integration, items: gate, others: ofOthers },
    { plan: plans.parameters, items: gate, others: ofOthers },
    { plan: plans.creation, items: gate, others: [createLock(ina), importGate] },
    { plan: plans.removal, items: managedGate, others: ofOthers },
  ];
  for (const { plan, items, others } of cases) {
    const applied = application(admin, plan, items);
    // The plan of bob would be refused: nobody can take the own role away by one.
    const again = plan === plans.demotion ? applied : application(bob, plan, items);
    yield* combined(items, [applied], [...others, ...aboutCaller(admin), again]);
    yield* combined(items, [application(admin, plan, items, 'token')], aboutCaller(admin));
  }
  // Two sets of files say the same.
  for (const plan of [plans.own, plans.integration, plans.creation]) {
    const ofOtherSet = application(bob, plan, gate, 1, OTHER_SET);
    yield scenarioOf(gate, application(admin, plan, gate), ofOtherSet);
  }
  // Each keeps what the other one changes.
  const both = tableOf(admin, bob, managed(fay), managed(pia));
  const onlyFay = application(admin, plans.onlyFay, both);
  yield scenarioOf(both, onlyFay, application(bob, plans.onlyPia, both));
  // An id is drawn again.
  const withDrawn = tableOf(admin, bob, fay, ida);
  const drawing = application(admin, plans.deactivation, withDrawn);
  yield scenarioOf(withDrawn, drawing, by.rename(bob, bob, 'other'));
  const withDrawnGate = tableWithDrawnId();
  const creation = application(ada, plans.creation, withDrawnGate);
  yield scenarioOf(withDrawnGate, creation, by.rename(ada, ada, 'other'));
  // Two administrators change what it is about, and its caller.
  const items = tableOf(admin, bob, cyd, fay);
  const applied = [application(admin, plans.deactivation, items), by.rename(bob, fay, 'new')];
  yield scenarioOf(items, ...applied, by.demote(cyd, admin));
  yield scenarioOf(items, ...applied, by.create(cyd, 'new'));
}

/** All scenarios, by what they are about. */
export const SCENARIOS = {
  pairsAboutUsers,
  pairsOfAdministrators,
  recreations,
  specialCases,
  pairsAboutTokens,
  pairsAboutIntegrations,
  pairsAboutPlans,
  pairsAboutIdentities,
  pairsOfLinkedAdministrators,
  triplesAboutIdentities,
  triplesOfAdministrators,
  triplesAboutUsers,
  triplesAboutIntegrations,
} as const;
