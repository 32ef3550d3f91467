import { beforeAll, expect, it } from 'vitest';
import type { User } from '../../lib/users/user.ts';
import { rosterKey } from '../../lib/users/user-items.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { openBarrier } from '../support/instance/hold-transactions.ts';
import { type Received, repeatWhileBusy } from '../support/instance/launch.ts';
import { logInForm, testProvider } from '../support/instance/provider.ts';
import { LONG, randomNumbers, seed } from '../support/instance/run-variables.ts';

/*
 * Two to five administrators, the only ones, whose groups are emptied and refilled while they
 * demote, deactivate and unlink each other: a log-in with an identity is refused only while the
 * account is deactivated or not linked, each read of the roster names an administrator, and no
 * session works once its end was answered. With LONG=1, for minutes.
 */

const STEPS = LONG ? 500 : 5;
const WORKERS = 4;

const barrier = openBarrier();
const gatehouse = await useGatehouse({ intercept: barrier.intercept });
const provider = testProvider();
const { issuer } = provider.issuer;
const random = randomNumbers(seed);
const oneOf = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;

/** An administrator, with the tokens of the sessions that have started. */
interface Person {
  readonly user: Pick<User, 'id' | 'login' | 'email'>;
  readonly tokens: { readonly token: string; readonly issuer?: string }[];
  /** Resolves once nobody ends or restores the access of the person. */
  turn: Promise<unknown>;
}

const call = (method: string, path: string, token?: string, body?: object) =>
  repeatWhileBusy(() => gatehouse.call(method, path, { token, body }));

async function logIn({ user, tokens }: Person, ...groups: string[]): Promise<Received> {
  const claims = { sub: user.login, preferred_username: user.login, groups };
  const received = await repeatWhileBusy(() =>
    gatehouse.call('POST', '/api/oauth2/token', { body: logInForm(provider, claims) }),
  );
  if (received.status === 200) tokens.push({ token: received.body.access_token, issuer });
  return received;
}

async function logInWithPassword({ user: { login }, tokens }: Person): Promise<void> {
  const credentials = { username: login, password: login };
  const { status, body } = await call('POST', '/api/authenticate', undefined, credentials);
  if (status === 200) tokens.push({ token: body.id_token });
}

type Change = readonly [method: string, path: string, body: object];
const updated = ({ user: { id, login, email } }: Person, fields: Partial<User>): Change => [
  'PUT',
  '/api/users',
  { id, login, email, ...fields },
];
const linked = ({ user: { login } }: Person): Change => [
  'POST',
  `/api/users/${login}/identities`,
  { issuer, subject: login },
];
const unlinked = ({ user: { login } }: Person): Change => [
  'POST',
  `/api/users/${login}/identities/delete`,
  { issuer },
];

/** What the people do, and what must not happen meanwhile. */
class Soak {
  readonly #people: readonly Person[];
  readonly violations: string[] = [];
  readonly done = new Map<string, number>();

  constructor(people: readonly Person[]) {
    this.#people = people;
  }

  #count(name: string, { status }: Received): void {
    const counted = `${name} ${status}`;
    this.done.set(counted, (this.done.get(counted) ?? 0) + 1);
  }

  /** Has a change made by whoever is an administrator. */
  async #change([method, path, body]: Change): Promise<Received> {
    for (;;) {
      const by = oneOf(this.#people);
      const received = await call(method, path, by.tokens.at(-1)?.token ?? 'none', body);
      if (received.status !== 401 && received.status !== 403) return received;
      if (received.status === 401 && random() < 0.5) await logInWithPassword(by);
      else await logIn(by, 'users', 'admins');
    }
  }

  /** Does what ends or restores the access of a person, one after the other. */
  #inTurn(person: Person, work: () => Promise<void>): Promise<void> {
    const turn = person.turn.then(work);
    person.turn = turn;
    return turn;
  }

  async #expectRefused(person: Person): Promise<void> {
    const { status } = await logIn(person, 'users', 'admins');
    if (status !== 400) this.violations.push(`a log-in without access: ${status}`);
  }

  async #expectEnded(tokens: Person['tokens'], end: string): Promise<void> {
    for (const { token } of tokens.slice(-5)) {
      const { status } = await call('GET', '/api/account', token);
      if (status !== 401) this.violations.push(`a session after ${end}: ${status}`);
    }
  }

  /** Ends the access of a person, and restores it. */
  #end(person: Person, end: 'deactivation' | 'unlink'): Promise<void> {
    return this.#inTurn(person, async () => {
      const [change, restored] =
        end === 'unlink'
          ? [unlinked(person), linked(person)]
          : [updated(person, { activated: false }), updated(person, { activated: true })];
      const before = [...person.tokens];
      const ended = await this.#change(change);
      this.#count(end, ended);
      if (ended.status !== 200) return;
      await this.#expectRefused(person);
      // A log-in with the password can start a session after the unlink.
      const since = person.tokens.slice(before.length);
      const others = since.filter((session) => end === 'deactivation' || session.issuer);
      await this.#expectEnded([...before, ...others], end);
      this.#count('restored', await this.#change(restored));
    });
  }

  /** Their groups, which grant a role or none, are read at a log-in. */
  #logIn(person: Person, ...groups: string[]): Promise<void> {
    return this.#inTurn(person, async () => {
      const received = await logIn(person, ...groups);
      this.#count(`log-in of ${groups.join(', ')}`, received);
      if (received.status !== 200) this.violations.push(`a log-in is refused: ${received.text}`);
    });
  }

  async demote(person: Person): Promise<void> {
    const change = updated(person, { authorities: ['ROLE_USER'] });
    this.#count('demotion', await this.#change(change));
  }

  /** A step of a random person; the number says which. */
  async step(number: number): Promise<void> {
    const person = oneOf(this.#people);
    const steps: readonly (() => Promise<unknown>)[] = [
      () => Promise.all(this.#people.map((each) => this.#logIn(each, 'users'))),
      () => this.#end(person, 'deactivation'),
      () => this.#logIn(person, 'users', 'admins'),
      () => this.demote(person),
      () => this.#logIn(person, 'users'),
      () => this.#end(person, 'unlink'),
      // Beside its end.
      () => logIn(person, oneOf(['users', 'admins'])),
      () => logInWithPassword(person),
    ];
    await steps[number % steps.length]?.();
  }

  async readRoster(): Promise<void> {
    const ids = (await gatehouse.table.get(rosterKey))?.ids as ReadonlySet<number> | undefined;
    if (!ids) this.violations.push('there is no administrator');
  }
}

const people: Person[] = [];
let first: Person;
beforeAll(async () => {
  const admin = await gatehouse.adminToken();
  const { body: user } = await call('GET', '/api/users/admin', admin);
  first = { user, tokens: [{ token: admin }], turn: Promise.resolve() };
  for (const login of ['anna', 'bert', 'cora', 'dora', 'emil']) {
    const made = await gatehouse.makeUser(login);
    const person = { user: made, tokens: [], turn: Promise.resolve() };
    const [method, path, body] = linked(person);
    expect(await call(method, path, admin, body)).toMatchObject({ status: 200 });
    people.push(person);
  }
});

it('one administrator remains when the groups of the last two are emptied at once', async () => {
  const chosen = people.slice(0, 2);
  const soak = new Soak(chosen);
  for (const round of [0, 1]) {
    for (const person of chosen) await logIn(person, 'users', 'admins');
    if (round === 0) for (const person of [first, ...people.slice(2)]) await soak.demote(person);
    barrier.raise(2, round === 0);

    const received = await Promise.all(
      chosen.map((person) => logIn(person, 'users').finally(barrier.lift)),
    );

    await soak.readRoster();
    expect(received.map(({ status }) => status)).toEqual([200, 200]);
    expect(soak.violations).toEqual([]);
  }
});

it.each(LONG ? [2, 3, 4, 5] : [3])(
  '%d administrators never lose the last one, nor a log-in',
  { timeout: 3_600_000 },
  async (count) => {
    const [chosen, others] = [people.slice(0, count), [first, ...people.slice(count)]];
    const soak = new Soak(chosen);
    for (const person of chosen)
      expect(await logIn(person, 'users', 'admins')).toMatchObject({ status: 200 });
    for (const person of others) await soak.demote(person);

    let isOver = false;
    const readRoster = async () => {
      while (!isOver) await soak.readRoster();
    };
    const work = async (_: unknown, worker: number) => {
      for (let step = 0; step < STEPS; step++) await soak.step(2 * worker + step);
    };
    const reading = readRoster();
    await Promise.all(Array.from({ length: WORKERS }, work)).finally(() => {
      isOver = true;
    });
    await reading;

    expect(soak.violations).toEqual([]);
    const done = ['log-in of users 200', 'unlink 200', 'restored 200'];
    expect([...soak.done.keys()]).toEqual(expect.arrayContaining(done));
    if (LONG) console.log(soak.done);
  },
);
