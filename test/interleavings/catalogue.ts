import type { Item } from '../../lib/table/table.ts';
import type { User } from '../../lib/users/user.ts';
import { linked, linking, provided, tableWithIdentities } from './identity-requests.ts';
import { createLock, importGate, integrationRequests } from './integration-requests.ts';
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

const scenarioOf = (users: readonly User[], ...requests: readonly Request[]): Scenario => ({
  items: tableOf(...users),
  requests,
});

/** The users that changes are about: with a factor, about to have one, deactivated. */
const TARGETS = [fay, pia, una] as const;

/** Each of one list with each of another that has the same kinds, but no pair of kinds twice. */
function* pairsOf<T>(first: readonly T[], second: readonly T[]): Generator<[T, T]> {
  for (const [position, one] of first.entries())
    for (const other of second.slice(position)) yield [one, other];
}

/** Two requests about one user, by two administrators or from two sessions of the user. */
function* pairsAboutUsers(): Generator<Scenario> {
  for (const user of TARGETS) {
    const first = [...about(ada, user), ...ownRequests(user, 1)];
    const second = [...about(bob, user), ...ownRequests(user, 2)];
    for (const pair of pairsOf(first, second)) yield scenarioOf([ada, bob, user], ...pair);
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
      for (const pair of pairsOf(first, second))
        yield scenarioOf([ada, bob, cyd, user], third, ...pair);
  }
}

/** Three administrators in a ring, each of whom changes the next or ceases to be one. */
function* triplesOfAdministrators(): Generator<Scenario> {
  const changes = (one: User, other: User): Request[] => [
    by.remove(one, other),
    by.demote(one, other),
    by.deactivate(one, other),
    by.demote(one, one),
    by.removeFactor(one, other),
    own.changePassword(one),
  ];
  for (const one of changes(ada, bob))
    for (const other of changes(bob, cyd))
      for (const third of changes(cyd, ada)) yield scenarioOf([ada, bob, cyd], one, other, third);
}

/** A user is deleted, and another one has the login and the address: what is left of the first? */
function* recreations(): Generator<Scenario> {
  const deleted: Request = by.remove(ada, fay);
  const recreated: Request = by.create(bob, fay.login);
  for (const third of [...about(ada, fay), ...about(ada, bob), ...ownRequests(fay, 1)])
    yield scenarioOf([ada, bob, fay], deleted, recreated, third);
}

/** What needs a table or a request of its own. */
function* specialCases(): Generator<Scenario> {
  const changes: Request[] = [own.logIn(odo), own.changePassword(odo), own.resetPassword(odo)];
  for (const other of changes) yield scenarioOf([ada, odo], own.logIn(odo), other);
  yield scenarioOf([ada, bob], by.deprovision(ada, bob), by.deprovision(bob, ada));
  for (const other of [...about(bob, fay), ...ownRequests(fay, 1)])
    yield scenarioOf([ada, bob, fay], by.deprovision(ada, fay), other);
  // With one token, which outlives the change of the password.
  for (const user of [fay, pia])
    for (const other of ownRequests(user, 1))
      yield scenarioOf([ada, user], own.changePassword(user), other);
  // The account is activated as before, but all sessions have ended.
  yield scenarioOf([ada, bob, pia], by.deactivate(ada, pia), by.activate(bob, pia), own.logIn(pia));
  // The account is another one at the commit.
  for (const request of about(ada, fay))
    if (request.caller) yield scenarioOf([ada, fay], replaceAccount(ada), request);
  // The second factor is another one at the commit.
  for (const other of ownRequests(fay, 1)) yield scenarioOf([ada, fay], replaceFactor(fay), other);
  yield withIdentities([ada, pia], own.confirmFactor(pia), linking.linkOwn(pia, 'new'));
  yield* recoveries();
  // One recovery code is used twice.
  const withRecoveryCode: Request = own.logIn(fay, firstRecoveryCode());
  yield scenarioOf([ada, fay], withRecoveryCode, withRecoveryCode);
  // The address is taken by then, or already.
  const taker: Request = by.create(ada, 'new-fay');
  yield scenarioOf([ada, fay], taker, own.confirmEmail(fay));
  const holder = { ...bob, email: 'new-fay@example.com' };
  yield scenarioOf([ada, holder, fay], own.requestEmail(fay), own.update(fay));
  // Another key is mailed meanwhile.
  for (const other of ownRequests(fay, 1)) yield scenarioOf([ada, fay], mailKey(fay), other);
  // A deleted user's sessions are ended one by one.
  yield {
    ...scenarioOf([ada, bob], own.logOut(fay, 1), own.logOut(fay, 2)),
    items: [...tableOf(ada, bob), ...outlivingSessions(fay)],
  };
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
    for (const pair of pairsOf([by.invite(ada, user), ...others], others))
      yield scenarioOf([ada, bob, user], ...pair);
  }
  // One record is imported twice at once: integrations have no unique name.
  yield scenarioOfGate(integrationTables.running, importGate, importGate);
  // An id is drawn again.
  const rename: Request = by.rename(bob, ada, 'other');
  for (const create of [by.create(ada, 'new'), importUser('new')])
    yield { ...scenarioOf([ada, bob, ida], create, rename), mayGiveUp: true };
  for (const create of [createLock(ina), importGate])
    yield {
      ...scenarioOfGate(tableWithDrawnId(), create, by.rename(ada, ada, 'other')),
      mayGiveUp: true,
    };
}

/** Operators let an administrator in, whom nobody else can help. */
function* recoveries(): Generator<Scenario> {
  const admin: User = { ...ada, secondFactor: fay.secondFactor };
  for (const other of [...about(bob, admin), ...ownRequests(admin, 1), recover(admin)])
    yield scenarioOf([admin, bob], recover(admin), other);
  const items = tableOf(fay).filter(({ pk }) => pk !== 'ADMINS');
  for (const other of [createFirst('new'), createFirst('other'), importUser('other')])
    yield { items, requests: [createFirst('new'), other] };
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
    const others = [...about(ada, user), ...ownRequests(user, 1), recover(user)];
    for (const pair of pairsOf(aboutToken(user, 2), [...aboutToken(user, 1), ...others]))
      yield scenarioOf([ada, bob, user], ...pair);
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

const withIdentities = (users: readonly User[], ...requests: readonly Request[]): Scenario => ({
  items: tableWithIdentities(...users),
  requests,
});

/** Each of them beside another, or beside any change of the user. */
function* pairsAboutIdentities(): Generator<Scenario> {
  for (const user of [...TARGETS.map(linked), ...TARGETS]) {
    const others = [...about(ada, user), ...ownRequests(user, 1)];
    const [first, second] = [aboutIdentity(bob, user, 2), aboutIdentity(ada, user, 1)];
    for (const pair of pairsOf(first, [...second, ...others]))
      yield withIdentities([ada, bob, user], ...pair);
  }
  yield withIdentities([ada, fay], replaceFactor(fay), linking.linkOwn(fay, 'new'));
  // With one token, after the identity was unlinked again.
  const [link, linkAgain] = [linking.linkOwn(fay, 'new'), linking.linkOwn(pia, 'new')];
  yield withIdentities([ada, fay, pia], link, linking.unlink(ada, fay), linkAgain);
  // An id is drawn again.
  const drawing = [provided.logInFirst('new', 'new'), by.rename(bob, ada, 'other')];
  yield { ...withIdentities([ada, bob, ida], ...drawing), mayGiveUp: true };
  yield* pairsOfNewcomers();
}

/** An identity without an account, which log-ins create or others are linked with. */
function* pairsOfNewcomers(): Generator<Scenario> {
  const newcomers: Request[] = [
    provided.logInFirst('new', 'new'),
    provided.logInFirst('new', 'other'),
    provided.logInFirst('new', 'new', 'new@example.com'),
    provided.logInFirst('other', 'new'),
  ];
  const links: Request[] = [linking.link(ada, fay, 'new'), linking.linkOwn(fay, 'new')];
  const others = [...about(ada, fay), ...ownRequests(fay, 1), linking.link(bob, pia, 'new')];
  for (const pair of pairsOf([...newcomers, ...links], [...newcomers, ...links, ...others]))
    yield withIdentities([ada, bob, fay, pia], ...pair);
}

/** Two administrators, the only ones, of whom the groups make one or both a user. */
function* pairsOfLinkedAdministrators(): Generator<Scenario> {
  const [one, other] = [linked(ada), linked(bob)];
  const others = [...about(other, one), ...about(other, other), ...ownRequests(other, 1)];
  for (const first of aboutIdentity(other, one, 1))
    for (const second of [...aboutIdentity(one, other, 1), ...others])
      yield withIdentities([one, other], first, second);
}

/** Three administrators in a ring, whom their groups or another one demote; an identity moves. */
function* triplesAboutIdentities(): Generator<Scenario> {
  const admins = [ada, bob, cyd].map(linked) as [User, User, User];
  const changes = (one: User, next: User): Request[] => [
    provided.logIn(one, 'users'),
    by.demote(one, next),
    by.remove(one, next),
  ];
  const [one, two, three] = admins;
  for (const first of changes(one, two))
    for (const second of changes(two, three))
      for (const third of changes(three, one)) yield withIdentities(admins, first, second, third);
  const user = linked(fay);
  const freed = [linking.unlink(ada, user), by.remove(ada, user)];
  const taken = [linking.link(bob, pia, user.login), linking.linkOwn(pia, user.login)];
  for (const free of freed)
    for (const take of taken)
      yield withIdentities([ada, bob, user, pia], free, take, provided.logIn(user, 'users'));
}

const scenarioOfGate = (items: readonly Item[], ...requests: readonly Request[]): Scenario => ({
  items,
  requests,
});

const aboutGate: readonly Request[] = Object.values(integrationRequests).flat();

/** Two requests about one integration, its parameters, its credentials and its module. */
function* pairsAboutIntegrations(): Generator<Scenario> {
  for (const items of Object.values(integrationTables))
    for (const pair of pairsOf(aboutGate, aboutGate)) yield scenarioOfGate(items, ...pair);
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
      yield scenarioOfGate(integrationTables.running, end, ...pair);
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
  const users = [admin, bob, fay];
  const gate = integrationTable({}, [admin, bob, ina]);
  const ofOthers = aboutGate.filter((each) => !integrationRequests.callerChanges.includes(each));
  const cases = [
    {
      plan: plans.deactivation,
      items: tableOf(...users),
      others: [
        ...about(bob, fay),
        ...ownRequests(fay, 1),
        by.rename(bob, bob, 'new'),
        by.move(bob, bob, 'new'),
      ],
    },
    {
      plan: plans.demotion,
      items: tableOf(admin, bob, cyd),
      others: [...about(bob, admin), ...about(cyd, bob), ...ownRequests(bob, 1)],
    },
    {
      plan: plans.own,
      items: tableOf(...users),
      others: [...about(bob, admin), ...ownRequests(admin, 1), ...ownRequests(admin, 2)],
    },
    {
      plan: plans.pruning,
      items: tableOf(admin, bob, kept),
      others: [...about(bob, kept), ...ownRequests(kept, 1), own.createToken(kept)],
    },
    { plan: plans.integration, items: gate, others: ofOthers },
    { plan: plans.parameters, items: gate, others: ofOthers },
    {
      plan: plans.removal,
      items: integrationTable(managed({}), [admin, bob, ina]),
      others: ofOthers,
    },
  ];
  for (const { plan, items, others } of cases) {
    const applied = application(admin, plan, items);
    // The plan of bob would be refused: nobody can take the own role away by one.
    const again = plan === plans.demotion ? applied : application(bob, plan, items);
    for (const other of [...others, ...aboutCaller(admin), again])
      yield { items, requests: [applied, other] };
    const withApiToken = application(admin, plan, items, 'token');
    for (const other of aboutCaller(admin)) yield { items, requests: [withApiToken, other] };
  }
  // Two sets of files say the same.
  for (const plan of [plans.own, plans.integration]) {
    const items = integrationTable({}, [admin, bob, ina]);
    const ofOtherSet = application(bob, plan, items, 1, OTHER_SET);
    yield { items, requests: [application(admin, plan, items), ofOtherSet] };
  }
  // An id is drawn again.
  const withDrawn = tableOf(admin, bob, fay, ida);
  const drawing: Request = application(admin, plans.deactivation, withDrawn);
  yield { items: withDrawn, requests: [drawing, by.rename(bob, bob, 'other')] };
  // Two administrators change what it is about, and its caller.
  const items = tableOf(admin, bob, cyd, fay);
  const applied = application(admin, plans.deactivation, items);
  const taker: Request = by.rename(bob, fay, 'new');
  yield { items, requests: [applied, taker, by.demote(cyd, admin)] };
  yield { items, requests: [applied, taker, by.create(cyd, 'new')] };
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
