import { expect } from 'vitest';
import { rosterKey } from '../../lib/table/keys.ts';
import { type Barrier, barrier } from './barrier.ts';
import { type Gatehouse, type Received, startGatehouse } from './gatehouse.ts';

/** Two accounts that are the only administrators, at the start of every round. */
export interface Rivals {
  readonly gatehouse: Gatehouse;
  /** Sends both at once; their transactions wait for each other, and are made together or in turn. */
  race(inTurn: boolean, ...sends: (() => Promise<Received>)[]): Promise<Received[]>;
  /** The token of one of them, both being administrators again. */
  administrator(): Promise<string>;
  /** One round: the first does this to the target of the second's choice, and the other way round. */
  round(first: Act, second: Act, aim: 'each other' | 'themselves', inTurn: boolean): Promise<Round>;
}

export interface Round {
  readonly administratorsLeft: number;
  readonly succeeded: number;
  readonly answers: string[];
}

interface Administrator {
  login: string;
  token: string;
  // biome-ignore lint/suspicious/noExplicitAny: the user as the API shows it
  user: any;
}

export type Act = (gatehouse: Gatehouse, by: Administrator, whom: Administrator) => Promise<Received>;

const change =
  (fields: object): Act =>
  (gatehouse, by, whom) =>
    gatehouse.call('PUT', '/api/users', { token: by.token, body: { ...whom.user, ...fields } });

/** The three ways to stop being an administrator. */
export const ACTS = {
  delete: (gatehouse, by, whom) => gatehouse.call('DELETE', `/api/users/${whom.login}`, { token: by.token }),
  demote: change({ authorities: ['ROLE_USER'] }),
  deactivate: change({ activated: false }),
} satisfies Record<string, Act>;

export async function startRivals(assembly?: string): Promise<Rivals> {
  const gate: Barrier = barrier();
  const gatehouse = await startGatehouse({ around: gate.around, ...(assembly && { assembly }) });
  const adminToken = await gatehouse.logIn('admin');
  let number = 0;

  async function create(token: string): Promise<Administrator> {
    const login = `rival-${++number}`;
    const body = { login, email: `${login}@example.com`, password: login, authorities: ['ROLE_ADMIN'] };
    const created = await gatehouse.call('POST', '/api/users', { token, body });
    expect(created.status, created.text).toBe(201);
    return { login, user: created.body, token: await gatehouse.logIn(login) };
  }

  const pair = [await create(adminToken), await create(adminToken)];
  await gatehouse.call('DELETE', '/api/users/admin', { token: pair[0]?.token });

  async function administrators(): Promise<Set<number>> {
    return ((await gatehouse.table.get(rosterKey))?.ids as Set<number> | undefined) ?? new Set();
  }

  /** Whoever is left gives the other one back what was taken. */
  async function restore(): Promise<void> {
    const roster = await administrators();
    for (const [index, one] of pair.entries()) {
      if (roster.has(one.user.id)) continue;
      const { token } = pair[1 - index] as Administrator;
      const restored = await gatehouse.call('PUT', '/api/users', { token, body: one.user });
      if (restored.status === 404) pair[index] = await create(token);
      else expect(restored.status, restored.text).toBe(200);
    }
  }

  async function race(inTurn: boolean, ...sends: (() => Promise<Received>)[]): Promise<Received[]> {
    gate.raise(sends.length, inTurn);
    return Promise.all(sends.map((send) => send().finally(gate.lift)));
  }

  return {
    gatehouse,
    race,
    async administrator() {
      await restore();
      return (pair[0] as Administrator).token;
    },
    async round(first, second, aim, inTurn) {
      await restore();
      const [one, other] = pair as [Administrator, Administrator];
      const answers = await race(
        inTurn,
        () => first(gatehouse, one, aim === 'themselves' ? one : other),
        () => second(gatehouse, other, aim === 'themselves' ? other : one),
      );
      return {
        administratorsLeft: (await administrators()).size,
        succeeded: answers.filter(({ status }) => status === 200).length,
        answers: answers.map(({ status, body }) => `${status} ${body?.message ?? ''}`.trim()),
      };
    },
  };
}
