import * as v from 'valibot';
import { type Actor, auditEntry } from '../audit/audit-entry.ts';
import { type NoticeOccasion, notified } from '../mail/outbox.ts';
import { log } from '../runtime/log.ts';
import { settleAll } from '../runtime/waiting.ts';
import { count, type ItemDeclaration, id, text } from '../table/item-kind.ts';
import { entityKey, type Key } from '../table/keys.ts';
import { attributesOf, type Table } from '../table/table.ts';
import { attributesAre, type Condition, check, type Write } from '../table/write.ts';
import type { User } from './user.ts';
import { rosterIdsOf, rosterKey } from './user-items.ts';
import { auditEventFor, userOf } from './user-table.ts';

/*
 * With the setting ssoOnly, no password admits anybody, except to the emergency account while an
 * operator has armed it. Only the operator's command writes the item: no function may.
 */

/** Which account is armed, until when, why and by whom. */
export interface Arming {
  readonly userId: number;
  readonly login: string;
  /** Seconds since 1970. */
  readonly expires: number;
  readonly reason: string;
  readonly by: string;
}

export const armingKey: Key = { pk: 'EMERGENCY', sk: 'ARMED' };
export const armingItem: ItemDeclaration = {
  pk: 'EMERGENCY',
  sk: 'ARMED',
  name: 'armed emergency account',
  attributes: () => v.object({ userId: id, login: text, expires: count, reason: text, by: text }),
  personal: ['login', 'expires', 'reason'],
  personIn: 'userId',
  onForget: 'delete',
  onRestore: 'delete',
};

export async function findArming(table: Table): Promise<Arming | undefined> {
  const item = await table.get(armingKey);
  return item && (attributesOf(item) as unknown as Arming);
}

/** Whether the user can log in. `now` is in milliseconds since 1970. */
export const isArmedFor = (
  { id, secondFactor }: User,
  arming: Arming | undefined,
  now: number,
): arming is Arming =>
  arming?.userId === id && now < arming.expires * 1000 && secondFactor !== undefined;

/** The account has not been disarmed or armed again since; otherwise the change is retried. */
export const armingIs = ({ userId, expires }: Arming): Condition =>
  attributesAre({ userId, expires });

/** A transaction has at most 100 actions, and the log-in needs some itself. */
const NOTIFIED_MAX = 80;

/** The administrators who are told of the emergency account: at most 80, by the lowest ids. */
export async function findNotified(table: Table): Promise<readonly User[]> {
  const roster = await table.get(rosterKey);
  const ids = [...rosterIdsOf(roster)].sort((a, b) => a - b);
  const items = await table.getAll(ids.slice(0, NOTIFIED_MAX).map((id) => entityKey('USER', id)));
  return items.flatMap((item) => (item ? [userOf(item)] : []));
}

export const allNotified = (occasion: NoticeOccasion, users: readonly User[], now: number) =>
  users.map((user) => notified(occasion, user, now));

/** What a log-in of the emergency account needs besides its user. */
export async function readEmergency(table: Table) {
  const [arming, administrators] = await settleAll([findArming(table), findNotified(table)]);
  return { arming, administrators };
}

/** The writes of a log-in of the armed account besides what every log-in writes. */
export const emergencyUsed = (
  { arming, administrators }: { readonly arming: Arming; readonly administrators: readonly User[] },
  user: User,
  actor: Actor,
  now: number,
): Write[] => [
  check(armingKey, armingIs(arming)),
  auditEntry(actor, auditEventFor('emergency.used', user, []), now),
  ...allNotified('emergencyUsed', administrators, now),
];

/** Raises the alarm emergency-account. */
export const logEmergency = (emergency: 'armed' | 'used'): void =>
  log({ emergency, emergencies: 1 }, { field: 'emergencies', unit: 'Count', dimensions: [[]] });
