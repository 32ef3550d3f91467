import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import {
  EDITABLE_INTEGRATION_FIELDS,
  type Integration,
} from '../../lib/integrations/integration.ts';
import type { SecretVersion } from '../../lib/integrations/parameter.ts';
import { isSameRecipient } from '../../lib/mail/address.ts';
import type { makePlan } from '../../lib/operations/plan/plan.ts';
import type { Files } from '../../lib/operations/plan/plan-contracts.ts';
import { integrationIdOf } from '../../lib/table/keys.ts';
import type { Item } from '../../lib/table/table.ts';
import { AUDITED_USER_FIELDS, type User } from '../../lib/users/user.ts';
import { nameOf } from '../support/doubles/memory-engine.ts';
import { openedValue } from './determinism.ts';

/* What a transaction may do, by the changes that a plan states for it. */

export type Printed = Awaited<ReturnType<typeof makePlan>>;
/** A change with the target of its audit entry. */
export type Made = Printed['changes'][number] & { readonly target: string };
type Fields = Readonly<Record<string, unknown>>;
/** The fields that people see, by targets; and `#secret`, a value that nobody sees. */
export type Seen = Map<string, Fields>;

/** The fields that have a value, with sets in one order. */
const tidied = (from: object, names: readonly string[] = Object.keys(from)): Fields =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = (from as Fields)[name];
      const isEmpty = value === undefined || (Array.isArray(value) && value.length === 0);
      return isEmpty ? [] : [[name, Array.isArray(value) ? [...value].sort() : value]];
    }),
  );

export function seenIn(items: readonly Item[]): Seen {
  const seen: Seen = new Map();
  for (const item of [...items].sort((one, other) => (one.sk < other.sk ? -1 : 1))) {
    const { pk, id } = item;
    if (pk === 'USER') seen.set(`user/${id}`, tidied(item, AUDITED_USER_FIELDS));
    if (pk === 'INTEGRATION')
      seen.set(`integration/${id}`, tidied(item, [...EDITABLE_INTEGRATION_FIELDS, 'managedBy']));
    if (pk !== 'CONF') continue;
    const { secret, secretVersion } = item as Item & { secretVersion?: SecretVersion };
    seen.set(`parameter/${id}`, {
      ...tidied(item, ['confName', 'confDescription', 'secret']),
      [secret ? '#secret' : 'confValue']: openedValue(item),
      ...(secretVersion && { secretVersion: textOf(secretVersion) }),
    });
  }
  return seen;
}

const textOf = ({ name, version }: SecretVersion): string => `${name} ${version}`;

/** The integration of a parameter; of others, the target itself. */
export const ownerOf = (target: string): string => {
  const [kind, id] = target.split('/');
  return kind === 'parameter' ? `integration/${integrationIdOf(Number(id))}` : target;
};

/** What is seen after these changes. Fails if one does not start from what there is. */
function seenAfter(before: Seen, changes: readonly Made[], values: Fields): Seen {
  const seen = new Map(before);
  for (const { action, target, integrationName, changes: parts } of changes) {
    assert.equal(seen.has(target), !action.endsWith('created'), `${action} ${target}`);
    if (integrationName) assert.equal(seen.get(ownerOf(target))?.name, integrationName);
    const fields: Record<string, unknown> = { ...seen.get(target) };
    for (const { field, from, to, added = [], removed = [] } of parts) {
      if (added.length + removed.length > 0) {
        const list = (fields[field] ?? []) as readonly string[];
        assert.ok(removed.every((each) => list.includes(each)));
        fields[field] = [...list.filter((each) => !removed.includes(each)), ...added];
      } else {
        assert.equal(fields[field], from, `${target} has another ${field}.`);
        fields[field] = to;
      }
      if (field === 'secretVersion' && to) fields['#secret'] = values[`${to}`.split(' ')[0] ?? ''];
    }
    if (!fields.secret) delete fields['#secret'];
    seen.set(target, tidied(fields));
    if (!action.endsWith('deleted')) continue;
    // Of a parameter that is deleted, a plan does not state the value.
    if (!integrationName) assert.deepEqual(seen.get(target), {});
    for (const each of seen.keys())
      if (each === target || ownerOf(each) === target) seen.delete(each);
  }
  return seen;
}

/** The mails that these changes cause: their occasions and users. */
const mailsFor = (changes: readonly Made[], users: readonly Item[]): string[] =>
  changes.flatMap(({ action, target, changes: parts }) => {
    const user = users.find(({ pk, id }) => pk === 'USER' && target === `user/${id}`);
    if (!user) return [];
    const email = parts.find(({ field }) => field === 'email');
    const isActivated = parts.some(({ field, to }) => field === 'activated' && to === true);
    const isInvited = !user.passwordHash && user.activated && (isActivated || email);
    const isNotified = action === 'user.updated' && hasMoved(email);
    return [
      ...(isInvited ? [`invitation ${user.id}`] : []),
      ...(isNotified ? [`emailChanged ${user.id}`] : []),
    ];
  });

/** Whether mail goes elsewhere after this change of an address. */
export const hasMoved = (email: Made['changes'][number] | undefined): boolean =>
  email !== undefined && !isSameRecipient(`${email.from}`, `${email.to}`);

/** Fails if something changes that people do not see, other than what follows from the changes. */
function requireOnly(
  changes: readonly Made[],
  before: readonly Item[],
  after: readonly Item[],
): void {
  const [former, latter] = [before, after].map(
    (all) => new Map(all.map((each) => [nameOf(each), each])),
  );
  for (const name of new Set([...(former?.keys() ?? []), ...(latter?.keys() ?? [])])) {
    const [was, is] = [former?.get(name), latter?.get(name)];
    if (was === is || isDeepStrictEqual(was, is)) continue;
    const { pk, id } = (is ?? was) as Item;
    // The verification knows of these.
    if (
      pk === 'CONF' ||
      /^(LOGIN|EMAIL|AUDIT|MAIL|TOKEN|CREDENTIAL|PLAN-SET)#|^(ADMINS|TOTAL)$/.test(pk)
    )
      continue;
    const own = changes.filter(({ target }) => ownerOf(target) === `${pk.toLowerCase()}/${id}`);
    assert.ok(own.length > 0, `${name} is changed.`);
    if (!was || !is) continue;
    if (pk === 'USER') assert.deepEqual(constant(is), constant(was));
    else {
      const updates = own.filter(({ action }) => action === 'parameter.updated');
      const [first, last] = [was, is].map((each) => each as unknown as Integration);
      const changes = (last?.module?.changes ?? 0) - (first?.module?.changes ?? 0);
      assert.equal(changes, updates.length, `The module of ${name} has other changes.`);
      assert.equal(
        last?.moduleRevision,
        (first?.moduleRevision ?? 0) + 1,
        `${name} has another number`,
      );
    }
  }
}

function constant(user: Item) {
  const { passwordHash, passwordChanges, secondFactor, incarnation, createdBy } =
    user as unknown as User;
  return { passwordHash, passwordChanges, secondFactor, incarnation, createdBy };
}

/** A transaction of an application. */
interface Commit {
  readonly before: readonly Item[];
  readonly after: readonly Item[];
  readonly callerId: number;
  /** Of secrets. */
  readonly values: object;
}

/** Fails if a transaction makes anything but the next changes of a plan. Returns these. */
export function requireStated(
  next: Printed['changes'],
  { before, after, callerId, values }: Commit,
): Made[] {
  const known = new Set(before.map(nameOf));
  const added = (prefix: string) =>
    after
      .filter((item) => item.pk.startsWith(prefix) && !known.has(nameOf(item)))
      .sort((one, other) => (one.sk < other.sk ? -1 : 1));
  const entries = added('AUDIT#');
  const made = next
    .slice(0, entries.length)
    .map((change, at): Made => ({ ...change, target: `${entries[at]?.target}` }));
  const login = before.find(({ pk, id }) => pk === 'USER' && id === callerId)?.login;
  assert.deepEqual(
    entries.map((entry) => [entry.action, entry.targetName, entry.integrationName, entry.actor]),
    made.map(({ action, name, integrationName }) => [action, name, integrationName, login]),
  );
  const withoutValues = (fields: readonly string[]) =>
    fields.filter((field) => field !== 'confValue' && field !== 'secretVersion');
  assert.deepEqual(
    entries.map(({ fields }) => withoutValues(fields as string[])),
    made.map(({ changes }) => withoutValues(changes.map(({ field }) => field))),
  );
  assert.deepEqual(seenIn(after), seenAfter(seenIn(before), made, { ...values }));
  const mails = added('MAIL#').map(({ occasion, userId }) => `${occasion} ${userId}`);
  assert.deepEqual(mails.sort(), mailsFor(made, after).sort());
  requireOnly(made, before, after);
  for (const { target, action } of made)
    if (target.startsWith('user') && !action.endsWith('deleted'))
      assert.ok(
        after.some((item) => `user/${item.id}` === target && item.lastModifiedBy === login),
      );
  return made;
}

/** Fails if something is not as files say, or is left of what they prune. */
export function requireGoal({ set, users, integrations, prune }: Files, seen: Seen): void {
  const require = (path: string, entry: Fields, owner?: string): string => {
    const found = [...seen].find(
      ([target, fields]) =>
        pathOf(target, fields) === path && (!owner || ownerOf(target) === owner),
    );
    const [target = '', fields = {}] = found ?? [];
    const wanted = tidied(entry);
    for (const field of Object.keys(entry))
      assert.deepEqual(fields[field], wanted[field], `${path} has another ${field}.`);
    return target;
  };
  const named = new Set(users.map(({ login }) => `user/${login}`));
  for (const user of users) require(`user/${user.login}`, { ...user, managedBy: set });
  for (const { parameters, ...entry } of integrations) {
    const path = `integration/${entry.name}`;
    named.add(path);
    const owner = require(path, { ...entry, managedBy: set });
    for (const { secret, ...each } of parameters) {
      const version = typeof secret === 'object' && { secretVersion: textOf(secret) };
      require(`parameter/${each.confName}`, { ...each, secret: secret && true, ...version }, owner);
    }
    for (const [target, { confName }] of seen)
      if (confName && ownerOf(target) === owner && prune.includes('parameters'))
        assert.ok(
          parameters.some((each) => each.confName === confName),
          `${target} is left.`,
        );
  }
  for (const [target, fields] of seen)
    if (fields.managedBy === set && prune.includes(`${target.split('/')[0]}s` as 'users'))
      assert.ok(named.has(pathOf(target, fields)), `${target} is left.`);
}

const pathOf = (target: string, { login, name = login, confName = name }: Fields): string =>
  `${target.split('/')[0]}/${confName}`;
