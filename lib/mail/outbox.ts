import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { count, type ItemDeclaration, text } from '../table/item-kind.ts';
import { idText, type Key } from '../table/keys.ts';
import { put, type Write } from '../table/write.ts';

/*
 * A mail is an item of the transaction that causes it, so neither can exist without the other. The
 * stream of the table hands the item to the function that sends mail, which deletes it once SES has
 * accepted the mail. No item contains a mailed key: that function issues the key when it sends the
 * mail.
 */

/**
 * The occasions of a mail to a user: it has a link for setting a password or for confirming a new
 * address, or is a notice of a change.
 */
export const OCCASIONS = [
  'reset',
  'invitation',
  'emailConfirmation',
  'passwordChanged',
  'emailChanged',
  'secondFactorChanged',
  'codeRejected',
  'tokenCreated',
  'identityChanged',
  'rolesKept',
  'emergencyArmed',
  'emergencyUsed',
  'deactivationRefused',
] as const;
export type Occasion = (typeof OCCASIONS)[number];
export type NoticeOccasion = Exclude<Occasion, 'reset' | 'invitation' | 'emailConfirmation'>;

const mailAttributes = () =>
  v.object({
    occasion: v.picklist(OCCASIONS),
    expires: count,
    counted: v.optional(v.literal(true)),
    source: v.optional(text),
  });

/** The personal attributes of requests, invitations and notices together. */
const PERSONAL = [
  'id',
  'userId',
  'login',
  'email',
  'newEmail',
  'langKey',
  'occasion',
  'source',
  'expires',
];

/**
 * Mails of one user share a partition key, because the stream of the table keeps the order within a
 * key.
 */
export const mailKey = (userId: number, time: string, random: string): Key => ({
  pk: `MAIL#${idText(userId)}`,
  sk: `${time}#${random}`,
});
export const mailItem: ItemDeclaration = {
  pk: 'MAIL#<user id>',
  sk: '<time>#<random id>',
  name: 'mail to be sent',
  attributes: mailAttributes,
  personal: PERSONAL,
  onForget: 'delete',
  onRestore: 'keep',
};

export const resetMailKey = (time: string, random: string): Key => ({
  pk: `RESET-MAIL#${random}`,
  sk: `${time}#${random}`,
});
/** In partitions of their own, so that a request for a reset may create no other mail. */
export const resetMailItem: ItemDeclaration = {
  pk: 'RESET-MAIL#<random id>',
  sk: '<time>#<random id>',
  name: 'mail to be sent for a request of a reset',
  attributes: mailAttributes,
  personal: PERSONAL,
  onForget: 'delete',
  onRestore: 'keep',
  personIn: 'email',
};

/**
 * A request to reset the password of the user with this address. It does not tell whether anybody
 * does.
 */
interface ResetRequest {
  readonly occasion: 'reset';
  readonly email: string;
  /** The address from which it came. */
  readonly source: string;
}

/** An invitation. It is sent to the address that the account has by then. */
interface Invitation {
  readonly occasion: 'invitation';
  readonly userId: number;
  readonly incarnation: string;
  /** The administrator who invites; absent in mails of earlier versions. */
  readonly inviterId?: number;
}

/**
 * A request to confirm a new address. It is sent to the address that the account has by then,
 * unless the security stamp has changed.
 */
interface Confirmation {
  readonly occasion: 'emailConfirmation';
  readonly userId: number;
  readonly newEmail: string;
  readonly securityStamp: string;
}

/** A notice of a change, with the account as it was before the change. */
interface Notice {
  readonly occasion: NoticeOccasion;
  readonly userId: number;
  readonly login: string;
  readonly email: string;
  readonly langKey: string;
  readonly emailUnproven?: true | undefined;
}

type UnsentMail = ResetRequest | Invitation | Confirmation | Notice;

/** A mail to be sent, as stored. */
export type OutboxMail = UnsentMail & {
  /** Not sent after this time in seconds since 1970; DynamoDB deletes the item later (TTL). */
  readonly expires: number;
  /** Whether it counts towards the limits of mail already. */
  readonly counted?: true;
};

export const isNotice = (mail: OutboxMail): mail is Notice & OutboxMail => 'langKey' in mail;

/**
 * Nobody waits for the link longer than this, and the reader of a late one would not know who
 * requested it.
 */
const REQUEST_SECONDS = 60 * 60;
/** How long an operator can still send a mail that SES has rejected. */
const KEPT_SECONDS = 30 * 24 * 60 * 60;

interface Account {
  readonly id: number;
  readonly login: string;
  readonly email: string;
  readonly langKey: string;
  readonly emailUnproven?: true | undefined;
  readonly incarnation: string;
  readonly securityStamp: string;
}

/**
 * The write that requests a reset mail. It is the same for every address. `now` is in milliseconds
 * since 1970.
 */
export const resetRequested = (email: string, source: string, now: number): Write =>
  toBeSent(
    resetMailKey(timeOf(now), randomUUID()),
    { occasion: 'reset', email, source },
    now,
    REQUEST_SECONDS,
  );

/** The write that invites the user of an account without a password. */
export const invited = (
  { id, incarnation }: Account,
  { id: inviterId }: Pick<Account, 'id'>,
  now: number,
): Write =>
  toBeSent(
    keyFor(id, now),
    { occasion: 'invitation', userId: id, incarnation, inviterId },
    now,
    KEPT_SECONDS,
  );

/** The write that has a new address of an account confirmed by its present one. */
export const confirmationRequested = (
  { id, securityStamp }: Account,
  newEmail: string,
  now: number,
): Write =>
  toBeSent(
    keyFor(id, now),
    { occasion: 'emailConfirmation', userId: id, newEmail, securityStamp },
    now,
    REQUEST_SECONDS,
  );

/** The write that notifies the present address of an account of a change. */
export const notified = (
  occasion: NoticeOccasion,
  { id, login, email, langKey, emailUnproven }: Account,
  now: number,
): Write =>
  toBeSent(
    keyFor(id, now),
    { occasion, userId: id, login, email, langKey, emailUnproven },
    now,
    KEPT_SECONDS,
  );

const timeOf = (now: number): string => new Date(now).toISOString();
const keyFor = (userId: number, now: number): Key => mailKey(userId, timeOf(now), randomUUID());

function toBeSent(key: Key, mail: UnsentMail, now: number, lifetimeSeconds: number): Write {
  const expires = Math.floor(now / 1000) + lifetimeSeconds;
  return put(key, { ...mail, expires });
}
