import assert from 'node:assert/strict';
import * as v from 'valibot';
import { it } from 'vitest';
import { startEngine } from '../../infra/local/aws/engine.ts';
import { scopeOf } from '../../lib/contract/contract.ts';
import { Failure } from '../../lib/contract/failure.ts';
import { verifyTable } from '../../lib/operations/integrity/verify-table.ts';
import { applyPlan, makePlan } from '../../lib/operations/plan/plan.ts';
import { ApplyPlan, MakePlan } from '../../lib/operations/plan/plan-contracts.ts';
import { setDeadline } from '../../lib/runtime/execution-environment.ts';
import { authorize } from '../../lib/sessions/authorize.ts';
import type { SnapshotTable } from '../../lib/table/snapshot.ts';
import type { Item, Table } from '../../lib/table/table.ts';
import type { AuthorizedCaller } from '../../lib/users/caller.ts';
import { administers } from '../../lib/users/user-table.ts';
import { nameOf } from '../support/doubles/memory-engine.ts';
import { inMemoryScanner } from '../support/doubles/memory-table.ts';
import { LONG, randomNumbers, seed } from '../support/instance/run-variables.ts';
import { beginRun, deterministic } from './determinism.ts';
import { SOURCE } from './doubles.ts';
import { type Draw, drawerOf } from './drawn-calls.ts';
import { drawFiles, drawValues } from './drawn-files.ts';
import {
  hasMoved,
  type Made,
  ownerOf,
  type Printed,
  requireGoal,
  requireStated,
  type Seen,
  seenIn,
} from './plan-oracle.ts';
import { CALLERS, drawChange, engineWorld, memoryWorld, type PlanWorld } from './plan-worlds.ts';

/*
 * An application makes exactly the changes that the plan has stated, or none.
 *
 * Random files are planned and applied to a table that only rules have changed, while another
 * request is committed before any call. Each transaction is compared with the part of the plan that
 * its audit entries name, and the table is verified. Lost calls are left to interleavings.test.ts.
 */

const { access } = ApplyPlan;
const scope = scopeOf(ApplyPlan);
const NEVER = Number.POSITIVE_INFINITY;

interface Commit {
  readonly before: readonly Item[];
  readonly after: readonly Item[];
}

/** Plans and applies files. Counts the outcomes. */
class Triple {
  readonly #draw: Draw;
  readonly #world: PlanWorld;
  readonly #count: (outcome: string) => void;
  readonly #caller;
  readonly #settings;
  #files;
  #commits: Commit[] = [];
  /** Before which call or transaction another request is committed. */
  #moment = { call: NEVER, commit: NEVER };
  #isDisturbed = false;
  /** Whether the other request came while something was read. */
  #isMixed = false;
  #changesLeft = NEVER;
  /** The last id that was reserved. */
  #lastId = NEVER;

  constructor(draw: Draw, world: PlanWorld, count: (outcome: string) => void) {
    this.#draw = draw;
    this.#world = world;
    this.#count = count;
    this.#caller = draw.one(CALLERS);
    this.#settings = { mustConfirmOwnEmail: draw.isTrue(0.5) };
    this.#files = v.parse(MakePlan.body, drawFiles(draw));
  }

  async play(): Promise<void> {
    const draw = this.#draw;
    // Most of what is drawn is refused.
    for (let tries = 0; tries < 8 && !draw.isTrue(0.1); tries++) {
      const { body } = await this.#plan();
      if (!body || (body.refused === 0 && body.changes.length > 0)) break;
      this.#files = v.parse(MakePlan.body, drawFiles(draw));
    }
    const when = draw.one(['never', 'planning', 'applying', 'committing', 'committing']);
    if (when === 'planning') this.#moment.call = draw.below(12);
    let { body: printed, code } = await this.#plan();
    if (code) requireDenied(code);
    if (when === 'applying') this.#moment.call = draw.below(16);
    if (when === 'committing') this.#moment.commit = draw.below(3);
    while (printed) printed = await this.#apply(printed, drawValues(draw, printed.secrets));
  }

  /** Applies a plan. Returns the rest, if there is one. */
  async #apply(printed: Printed, values: Record<string, string>): Promise<Printed | undefined> {
    const draw = this.#draw;
    const hasLittleTime = draw.isTrue(0.2);
    setDeadline(hasLittleTime ? 4000 : NEVER);
    this.#changesLeft = draw.isTrue(0.1) ? draw.below(3) : NEVER;
    const { body, code, plan, applied } = await this.#run((table, caller) => {
      const application = v.parse(ApplyPlan.body, { ...this.#files, values });
      return applyPlan(table, caller, application, [printed.digest], this.#settings);
    });
    setDeadline(NEVER);
    let made = 0;
    for (const commit of this.#commits)
      made += await this.#requireStated(commit, printed.changes.slice(made), values);
    this.#count(code ?? (made > 0 ? 'changes' : 'no change'));
    if (this.#commits.length > 1) this.#count('several transactions');
    assert.ok(!hasLittleTime || this.#commits.length <= 1, 'It has no time for this.');
    assert.equal(body?.applied ?? applied ?? 0, made);
    if (body) {
      assert.equal(printed.refused, 0);
      if (!body.rest) await this.#requireDone(printed, made);
      else {
        assert.ok(hasLittleTime || this.#changesLeft < 0, 'It could have gone on.');
        const next = printed.changes.slice(made);
        if (!this.#isDisturbed) assert.deepEqual(body.rest.changes, next, 'It is another rest.');
      }
    } else if (code === 'version-changed') {
      assert.ok(this.#isDisturbed, 'Nothing has changed.');
    } else if (code === 'plan-refused') assert.ok(made === 0 && printed.refused > 0);
    else if (code === 'invalid') assert.ok(made === 0 && printed.secrets.length > 0);
    else if (code === 'change-budget-spent') assert.ok(made === 0 && this.#changesLeft < 0);
    else requireDenied(code);
    const left = body?.rest ?? plan;
    if (left) this.#moment = { call: NEVER, commit: NEVER };
    const { body: present } = left ? await this.#plan() : {};
    if (present && !this.#isMixed) assert.deepEqual(left, present, 'It is not what is left.');
    return body?.rest ?? undefined;
  }

  #plan() {
    return this.#run((table, caller) => makePlan(table, caller, this.#files, this.#settings));
  }

  /** Runs a request of the caller, and the other request at its moment. */
  async #run<R>(handle: (table: Table, caller: AuthorizedCaller) => Promise<R>) {
    const { table, items } = this.#world;
    let calls = 0;
    this.#commits = [];
    this.#lastId = NEVER;
    const disturb = async () => {
      this.#isDisturbed = true;
      await drawChange(this.#draw, this.#world);
    };
    const around =
      <A extends unknown[], R>(call: (...given: A) => Promise<R>) =>
      async (...given: A): Promise<R> => {
        if (calls++ === this.#moment.call) {
          this.#moment.call = NEVER;
          this.#isMixed = true;
          await disturb();
        }
        return call(...given);
      };
    const watched: SnapshotTable = {
      get: around(table.get),
      getAll: around(table.getAll),
      snapshot: around(table.snapshot),
      query: around(table.query),
      nextId: around(async (...given) => {
        this.#lastId = await table.nextId(...given);
        return this.#lastId;
      }),
      update: around(async (write) => {
        const isSpent = write.key.pk.startsWith('CHANGES#') && this.#changesLeft-- <= 0;
        return isSpent ? undefined : table.update(write);
      }),
      transact: around(async (writes, token) => {
        assert.ok(writes.length <= 100, 'A transaction has more than 100 actions.');
        if (this.#moment.commit-- === 0) await disturb();
        const before = await items();
        await table.transact(writes, token);
        this.#commits.push({ before, after: await items() });
      }),
    };
    const caller = { ...this.#caller, source: SOURCE.address };
    try {
      return { body: await handle(watched, authorize(watched, caller, access, { scope })) };
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return { code: error.code, plan: error.plan, applied: error.applied };
    }
  }

  /** Fails if a transaction makes anything but the next changes. Returns how many they are. */
  async #requireStated({ before, after }: Commit, next: Printed['changes'], values: object) {
    const made = requireStated(next, { before, after, callerId: this.#caller.id, values });
    const seen = seenIn(before);
    for (const change of made) this.#requireAllowed(change, seen);
    for (const { target } of made)
      assert.ok(
        Number(ownerOf(target).split('/')[1]) <= this.#lastId,
        `${target} is not reserved.`,
      );
    const known = new Set(before.map(nameOf));
    const isOld = (item: Item) => /^(AUDIT|MAIL)#/.test(item.pk) && known.has(nameOf(item));
    const { findings } = await verifyTable(inMemoryScanner(after.filter((item) => !isOld(item))));
    assert.deepEqual(findings, []);
    const own = after.find(({ pk, id }) => pk === 'USER' && id === this.#caller.id);
    assert.ok(administers(own as never), 'The caller loses their own right.');
    return made.length;
  }

  /** Fails if the files neither name nor prune it, or the caller may not make the change. */
  #requireAllowed({ action, target, name, integrationName = name, changes }: Made, seen: Seen) {
    const { set, users, integrations, prune } = this.#files;
    const [kind = '', verb] = action.split('.');
    const owner = seen.get(ownerOf(target));
    const entry = integrations.find((each) => each.name === integrationName);
    const named: Record<string, readonly string[]> = {
      user: users.map(({ login }) => login),
      integration: integrations.map((each) => each.name),
      parameter: entry?.parameters.map(({ confName }) => confName) ?? [],
    };
    const isNamed = named[kind]?.includes(name);
    assert.equal(isNamed, verb !== 'deleted', `${name} is not meant.`);
    if (verb === 'deleted') assert.ok(prune.includes(`${kind}s` as 'users'));
    if (verb === 'deleted' && kind !== 'parameter') assert.equal(owner?.managedBy, set);
    assert.ok([undefined, set].includes(owner?.managedBy as string), 'Another set manages it.');
    if (kind !== 'user' || verb === 'deleted') return;
    const isMoved = owner && hasMoved(changes.find(({ field }) => field === 'email'));
    const roles = (owner?.authorities ?? []) as readonly string[];
    if (target === `user/${this.#caller.id}` && this.#settings.mustConfirmOwnEmail)
      assert.ok(!isMoved, 'The address of the caller is not confirmed.');
    const isPromoted = changes.some(({ added }) => added?.includes('ROLE_ADMIN'));
    if (this.#caller.scopes)
      assert.ok(!isPromoted && !(isMoved && roles.includes('ROLE_ADMIN')), 'By an API token.');
  }

  /** Everything is as the files say, and another application changes nothing. */
  async #requireDone(printed: Printed, made: number): Promise<void> {
    // The other request can have left nothing to do, as the deletion of an integration does.
    const isDoneByOther = this.#isDisturbed && made === 0;
    assert.ok(isDoneByOther || made === printed.changes.length, 'Something is left.');
    this.#moment = { call: NEVER, commit: NEVER };
    if (isDoneByOther) assert.deepEqual((await this.#plan()).body?.changes ?? [], []);
    if (this.#isDisturbed) return;
    requireGoal(this.#files, seenIn(await this.#world.items()));
    const { body: again } = await this.#plan();
    const { users, integrations } = this.#files;
    const parameters = integrations.flatMap((each) => each.parameters);
    const unchanged = users.length + integrations.length + parameters.length;
    assert.deepEqual({ ...again, digest: '' }, { ...NOTHING, unchanged });
    const { body } = await this.#run((table, caller) => {
      const files = { ...this.#files, values: {} };
      return applyPlan(table, caller, files, [again?.digest ?? ''], this.#settings);
    });
    assert.deepEqual(body, { applied: 0, rest: null, retryAfter: null });
    assert.equal(this.#commits.length, 0);
  }
}

const NOTHING = { digest: '', changes: [], refused: 0, secrets: [] };

/** Fails unless something happened to the caller. */
function requireDenied(code: string | undefined): void {
  const denied = ['forbidden', 'invalid-token', 'insufficient-scope'];
  assert.ok(denied.includes(code ?? ''), `It fails with ${code}.`);
}

const TRIPLES_PER_TABLE = 8;

/** Plays triples, and counts outcomes. Each table has a seed of its own, which a failure names. */
async function playTriples(open: () => Promise<PlanWorld>, triples: number) {
  const counts: Record<string, number> = {};
  const count = (outcome: string) => {
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  };
  for (let table = 0; table < triples / TRIPLES_PER_TABLE; table++) {
    beginRun('0');
    const draw = drawerOf(randomNumbers(seed + table));
    const world = await open();
    try {
      for (let played = 0; played < TRIPLES_PER_TABLE; played++) {
        await drawChange(draw, world);
        await new Triple(draw, world, count).play();
      }
    } catch (error) {
      throw new Error(`SEED=${seed + table}`, { cause: error });
    } finally {
      await world.close();
    }
  }
  return counts;
}

const OUTCOMES = ['changes', 'several transactions', 'version-changed', 'plan-refused', 'invalid'];
const timeout = 7_200_000;

it('makes exactly the changes of the plan, or none', { timeout }, async () => {
  const counts = await deterministic(() => playTriples(memoryWorld, LONG ? 90_000 : 400));

  const missing = OUTCOMES.filter((outcome) => !counts[outcome]);
  assert.deepEqual(missing, [], `SEED=${seed}: ${JSON.stringify(counts)}`);
});

it('does so on the embedded engine', { timeout }, async () => {
  const ignore = () => undefined;
  const engine = await startEngine({}, ignore, ignore);
  try {
    const open = () => engineWorld(engine.url);
    await deterministic(() => playTriples(open, LONG ? 10_000 : 16));
  } finally {
    await engine.stop();
  }
});
