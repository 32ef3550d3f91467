import * as v from 'valibot';
import { count, type ItemDeclaration, text } from '../table/item-kind.ts';
import { idText, type Key } from '../table/keys.ts';
import { OCCASIONS, type Occasion } from './occasion.ts';

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

export const mailCountKey = (userId: number, occasion: string): Key => ({
  pk: `MAILS#${idText(userId)}`,
  sk: occasion,
});
/** No user has this id: under it, the reset mails of all accounts are counted. */
const ALL_USERS = 0;
export const allResetsKey = mailCountKey(ALL_USERS, 'reset');
/** Whichever accounts have the mailbox in turn, it receives no more mails. */
export const mailboxResetsKey = (mailboxHash: string): Key =>
  mailCountKey(ALL_USERS, `reset#${mailboxHash}`);
export const sourceResetMailsKey = (source: string): Key =>
  mailCountKey(ALL_USERS, `reset#from ${source}`);
/**
 * Resets are also counted for all users (the id 0), for each mailbox, and for each source: an
 * address or an IPv6 /48.
 */
export const mailCountItem: ItemDeclaration = {
  pk: 'MAILS#<user id>',
  sk: ['<occasion>', 'reset#<SHA-256>', 'reset#from <source>'],
  matches: ({ sk }) => sk.startsWith('reset#') || OCCASIONS.includes(sk as Occasion),
  name: 'number of mails sent',
  attributes: () => v.object({ n: count, since: count, lastAt: v.optional(count), expires: count }),
  personal: ['expires'],
  onForget: 'delete',
  onRestore: 'keep',
};
