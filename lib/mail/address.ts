import { domainToASCII, domainToUnicode } from 'node:url';
import { fold } from '../contract/fields.ts';

/*
 * An address is compared in three ways: as it is written; by its mailbox, which receives its mail
 * (`mailboxOf`); and by the key under which it is unique (`emailKey`), which also joins mailboxes
 * that some system might take for one.
 */

/**
 * The ASCII form of a domain by UTS 46, without the trailing root dot; undefined for an invalid
 * domain.
 */
export function asciiDomain(domain: string): string | undefined {
  // The URL parser behind domainToASCII would stop at these and take the text before them as the
  // domain.
  if (/[/?#\\:@]/.test(domain)) return undefined;
  const ascii = domainToASCII(domain).replace(/\.$/, '');
  return /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(ascii) ? ascii : undefined;
}

/**
 * Whether mail to both addresses reaches the same mailbox: they differ in letter case or the form
 * of the domain only.
 */
export const isSameRecipient = (one: string, other: string): boolean =>
  mailboxOf(one) === mailboxOf(other);

/**
 * The form that is equal for all spellings of an address to which mail reaches the same mailbox.
 */
export const mailboxOf = (address: string): string => asciiLowerCase(recipientOf(address));

/**
 * In ASCII only: `toLowerCase` makes the Kelvin sign a `k`, and an address with it is another,
 * unreachable mailbox.
 */
const asciiLowerCase = (text: string): string =>
  text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/** The atoms of a local part (RFC 5321, 4.1.2): ASCII, because SES supports no SMTPUTF8. */
const LOCAL_PART = /^(?!.{65})[^.\P{ASCII}]+(?:\.[^.\P{ASCII}]+)*$/u;
/** Two or more labels of a host name (RFC 1123, 2.1), not an IPv4 address. */
const DOMAIN = /^(?!.{254})(?:(?!-)[a-z\d-]{1,63}(?<!-)\.)+(?!-|\d+$)[a-z\d-]{1,63}(?<!-)$/i;

/** Whether SES can send to an address: it rejects what RFC 5321 does not permit. */
export function isReachable(address: string): boolean {
  const recipient = recipientOf(address);
  const at = recipient.lastIndexOf('@');
  return LOCAL_PART.test(recipient.slice(0, at)) && DOMAIN.test(recipient.slice(at + 1));
}

/** The address to give to SES, which supports no SMTPUTF8: the domain must be in Punycode. */
export function recipientOf(address: string): string {
  const at = address.lastIndexOf('@') + 1;
  const domain = address.slice(at);
  return address.slice(0, at) + (asciiDomain(domain) ?? domain);
}

/**
 * Invisible characters: format characters and all others that Unicode allows a renderer to ignore.
 */
export const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/u;
const ALL_INVISIBLE = new RegExp(INVISIBLE, 'gu');

/**
 * The key under which an e-mail address is unique. It is equal for all spellings that a mail
 * system, browser or Unicode folding could treat as the same mailbox. Folding too much only rejects
 * a second account; folding too little lets it in.
 *
 * Invisible characters are dropped. Domains are compared by UTS 46, so that Unicode and punycode
 * forms and all variants of the dot are equal.
 */
export function emailKey(address: string): string {
  const visible = address.normalize('NFKC').replace(ALL_INVISIBLE, '');
  const at = visible.lastIndexOf('@') + 1;
  const ascii = asciiDomain(visible.slice(at));
  const domain = ascii === undefined ? visible.slice(at) : domainToUnicode(ascii);
  return fold(visible.slice(0, at) + domain);
}
