import { pick } from '../../contract/entity-fields.ts';
import { emailKey, isSameRecipient } from '../../mail/address.ts';
import { entityKey } from '../../table/keys.ts';
import { attributesAre, withConditionOn } from '../../table/write.ts';
import { needsSession } from '../../users/caller.ts';
import { userCreated } from '../../users/create-user.ts';
import { modify } from '../../users/update-user.ts';
import { AUDITED_USER_FIELDS, type User } from '../../users/user.ts';
import {
  administers,
  auditEventFor,
  deletion,
  isReservedLogin,
  userChanges,
} from '../../users/user-table.ts';
import type { Files, UserEntry } from './plan-contracts.ts';
import type { PlannedChange, Planner, Refusal } from './planned.ts';
import type { State } from './read-state.ts';

const REFUSALS = {
  reserved: { message: 'error.userexists', reason: 'The login is reserved' },
  emailTaken: {
    message: 'error.emailexists',
    reason:
      'Another user has the address: if the files take it from them, apply the files with a ' +
      'different address here first',
  },
  ownAccess: {
    message: 'error.ownaccess',
    reason: 'You would lose your own access: let another administrator do this',
  },
  ownEmail: {
    message: 'error.confirmationrequired',
    reason: 'Change your own address with POST /api/account, which has it confirmed',
  },
  session: {
    message: 'error.http.403',
    reason:
      'An API token makes nobody an administrator, and changes no address of one: apply it with ' +
      'a session',
  },
} as const satisfies Record<string, Refusal>;

/** The refusal of a change to what another set of files manages. */
export const managedElsewhere = (
  { managedBy }: { readonly managedBy?: string | undefined },
  set: string,
): Refusal | undefined =>
  managedBy === undefined || managedBy === set
    ? undefined
    : { message: 'error.managedelsewhere', reason: `The set ${managedBy} manages it` };

/**
 * Plans the users of files, and the deletion of others of the set if users are pruned. The caller
 * stays an administrator, so there is always one.
 */
export function planUsers(files: Files, state: State, planner: Planner): PlannedChange[] {
  const wanted = new Set(files.users.map(({ login }) => login));
  const leaving = files.prune.includes('users')
    ? [...state.users.values()].filter(
        ({ login, managedBy }) => managedBy === planner.set && !wanted.has(login),
      )
    : [];
  return [
    ...files.users.flatMap((entry) => {
      const user = state.users.get(entry.login);
      return user ? planUpdate(user, entry, state, planner) : planCreation(entry, state, planner);
    }),
    ...leaving.map((user) => planDeletion(user, planner)),
  ];
}

function planCreation(entry: UserEntry, state: State, planner: Planner): PlannedChange[] {
  const { activated = true, langKey = 'en', authorities = [] } = entry;
  const { set: managedBy, caller, callerUser } = planner;
  const fields = { ...entry, activated, langKey, authorities, managedBy };
  const refused = isReservedLogin(entry.login)
    ? REFUSALS.reserved
    : state.owners.has(emailKey(entry.email))
      ? REFUSALS.emailTaken
      : caller.scopes && needsSession(undefined, fields)
        ? REFUSALS.session
        : undefined;
  return [
    {
      action: 'user.created',
      name: entry.login,
      changes: userChanges(undefined, fields as unknown as User),
      refused,
      phase: 'users',
      async step({ nextUserId, now }) {
        const created = userCreated({ ...fields, id: nextUserId() }, callerUser, now);
        return { writes: created.writes, events: [created.event] };
      },
    },
  ];
}

function planUpdate(user: User, entry: UserEntry, state: State, planner: Planner): PlannedChange[] {
  const { set: managedBy, callerUser } = planner;
  const fields = { ...entry, managedBy };
  const after: User = { ...user, ...pick(fields, AUDITED_USER_FIELDS) };
  const changes = userChanges(user, after);
  if (changes.length === 0) return [];
  return [
    {
      action: 'user.updated',
      name: user.login,
      changes,
      refused: refusalOfUpdate(user, after, state, planner),
      version: user.version,
      phase: administers(user) && !administers(after) ? 'leaving' : 'users',
      async step({ now }) {
        const by = { modifier: callerUser, now };
        const { writes, event } = modify('user.updated', user, fields, by);
        if (user.passwordHash) return { writes, events: [event] };
        // The version does not tell whether an invited user has set a password.
        const hasNone = attributesAre({ passwordChanges: user.passwordChanges });
        const key = entityKey('USER', user.id);
        return { writes: withConditionOn(key, hasNone, writes), events: [event] };
      },
    },
  ];
}

function refusalOfUpdate(
  user: User,
  after: User,
  { owners }: State,
  { set, caller, callerUser, mustConfirmOwnEmail }: Planner,
): Refusal | undefined {
  const elsewhere = managedElsewhere(user, set);
  if (elsewhere) return elsewhere;
  const isOwn = user.id === callerUser.id;
  if (isOwn && !administers(after)) return REFUSALS.ownAccess;
  const owner = owners.get(emailKey(after.email));
  if (owner !== undefined && owner !== user.id) return REFUSALS.emailTaken;
  if (isOwn && mustConfirmOwnEmail && !isSameRecipient(user.email, after.email))
    return REFUSALS.ownEmail;
  return caller.scopes && needsSession(user, after) ? REFUSALS.session : undefined;
}

const planDeletion = (user: User, { callerUser }: Planner): PlannedChange => ({
  action: 'user.deleted',
  name: user.login,
  changes: userChanges(user, undefined),
  refused: user.id === callerUser.id ? REFUSALS.ownAccess : undefined,
  version: user.version,
  phase: 'leaving',
  async step() {
    // No session outlives it: those that could read on are few, and the set wants the user gone.
    const writes = deletion(user, []);
    return { writes, events: [auditEventFor('user.deleted', user, userChanges(user, undefined))] };
  },
});
