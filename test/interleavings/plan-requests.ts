import assert, { AssertionError } from 'node:assert/strict';
import * as v from 'valibot';
import { scopeOf } from '../../lib/contract/contract.ts';
import { applyPlan, makePlan } from '../../lib/operations/plan/plan.ts';
import { ApplyPlan, MakePlan } from '../../lib/operations/plan/plan-contracts.ts';
import { authorize } from '../../lib/sessions/authorize.ts';
import type { Item } from '../../lib/table/table.ts';
import type { User } from '../../lib/users/user.ts';
import { memoryTable } from '../support/doubles/memory-table.ts';
import { apart } from './determinism.ts';
import { SOURCE } from './doubles.ts';
import { ada, bob, type CallerName, callerOf, cyd, fay, ivo, pia } from './people.ts';
import { type Printed, requireGoal, requireStated, seenIn } from './plan-oracle.ts';
import { inSession } from './user-requests.ts';
import { itemsOf, type Request } from './worlds.ts';

/* Applications of small plans, each of one transaction. */

const SET = 'office';
export const OTHER_SET = 'branch';
/** A user or an integration that the files manage. */
export const managed = <T extends object>(entity: T): T => ({ ...entity, managedBy: SET });

interface Planned {
  /** What the plan is to do. */
  readonly does: string;
  readonly files: object;
}

const entryOf = ({ login, email }: User) => ({ login, email });
const activated = (user: User, is: boolean) => ({ ...entryOf(user), activated: is });
const NEW = { login: 'new', email: 'new@example.com' };
const GATE = { name: 'Gate', shortName: 'gate', integrationType: 'API' };

/** The plans, by what they need in the table. */
export const plans = {
  deactivation: {
    does: 'create new and deactivate fay',
    files: { users: [NEW, { ...entryOf(fay), activated: false }] },
  },
  demotion: {
    does: 'make bob and cyd users',
    files: { users: [bob, cyd].map((user) => ({ ...entryOf(user), authorities: ['ROLE_USER'] })) },
  },
  own: {
    does: 'change the name of ada',
    files: { users: [{ ...entryOf(ada), firstName: 'New' }] },
  },
  invitation: {
    does: 'change the address of ivo',
    files: { users: [{ ...entryOf(ivo), email: 'new@example.com' }] },
  },
  onlyFay: {
    does: 'keep fay and deactivate pia',
    files: { users: [activated(fay, true), activated(pia, false)] },
  },
  onlyPia: {
    does: 'keep pia and deactivate fay',
    files: { users: [activated(fay, false), activated(pia, true)] },
  },
  pruning: { does: 'delete fay', files: { prune: ['users'] } },
  integration: {
    does: 'describe Gate and change host',
    files: {
      integrations: [
        { ...GATE, description: 'New', parameters: [{ confName: 'host', confValue: 'a5' }] },
      ],
    },
  },
  parameters: {
    does: 'add port and delete key',
    files: {
      integrations: [
        {
          ...GATE,
          parameters: [
            { confName: 'host', confValue: 'a' },
            { confName: 'port', confValue: '1' },
          ],
        },
      ],
      prune: ['parameters'],
    },
  },
  creation: {
    does: 'create Lock',
    files: { integrations: [{ ...GATE, name: 'Lock' }] },
  },
  removal: { does: 'delete Gate', files: { prune: ['integrations'] } },
} as const satisfies Record<string, Planned>;

/** The version of the target of an audit entry. */
const versionOf = (target: string, items: readonly Item[]): unknown => {
  const [kind, id] = target.replace('parameter', 'conf').split('/');
  return items.find((item) => item.pk === kind?.toUpperCase() && item.id === Number(id))?.version;
};

const SETTINGS = { mustConfirmOwnEmail: false };

/** An administrator applies a plan that was made of a table with these items. */
export function application(
  by: User,
  { does, files }: Planned,
  items: readonly Item[],
  session: CallerName = 1,
  set = SET,
): Request {
  const body = v.parse(MakePlan.body, { set, ...files });
  let made: Promise<Printed> | undefined;
  const plan = (): Promise<Printed> => {
    made ??= apart(() => {
      const table = memoryTable(items);
      const caller = { ...callerOf(by, session), source: SOURCE.address };
      const authorized = authorize(table, caller, MakePlan.access, { scope: scopeOf(MakePlan) });
      return makePlan(table, authorized, body, SETTINGS);
    });
    return made;
  };
  const request = inSession(
    by,
    session,
    `applies the plan ${set === SET ? '' : `of ${set} `}to ${does}`,
    'apply-plan',
    async (table, caller) => {
      const { digest } = await plan();
      return applyPlan(table, caller, v.parse(ApplyPlan.body, body), [digest], SETTINGS);
    },
  );
  return {
    ...request,
    readsAhead: true,
    mayDecline: true,
    async notAsPlanned(before, after) {
      try {
        const { changes } = await plan();
        const commit = { before: itemsOf(before), after: itemsOf(after), values: {} };
        const stated = requireStated(changes, { ...commit, callerId: by.id });
        for (const { target } of stated)
          assert.equal(versionOf(target, commit.before), versionOf(target, items));
        requireGoal(body, seenIn(commit.after));
        return undefined;
      } catch (error) {
        if (!(error instanceof AssertionError)) throw error;
        return `another plan is applied: ${error.message}`;
      }
    },
  };
}
