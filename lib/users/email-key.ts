import { domainToASCII, domainToUnicode } from 'node:url';
import type { User } from './user.ts';

/** Characters that nobody sees: format characters and everything else that Unicode lets a renderer ignore. */
export const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/u;
const ALL_INVISIBLE = new RegExp(INVISIBLE, 'gu');

/** The ASCII form of a domain by UTS 46, without the dot of the root; undefined when it is none. */
export function asciiDomain(domain: string): string | undefined {
  // The URL parser behind it would stop at these and take what stands before them for the domain.
  if (/[/?#\\:@]/.test(domain)) return undefined;
  const ascii = domainToASCII(domain).replace(/\.$/, '');
  return /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(ascii) ? ascii : undefined;
}

/**
 * The key under which an e-mail address is unique: equal for all spellings that some mail system, browser or Unicode
 * folding could take for the same mailbox. To merge too much only rejects a second account, to merge too little admits
 * one.
 *
 * Invisible characters are dropped. Domains are compared by UTS 46, so that Unicode and punycode forms and all kinds of
 * dots are one. Lower, upper and lower again folds what has no single other case (ß, dotless i, the Kelvin sign); the
 * dotted capital I ends as i, which Turkish systems make of it. Never by a locale's rules: they differ between
 * machines.
 */
export function emailKey(address: string): string {
  const visible = address.normalize('NFKC').replace(ALL_INVISIBLE, '');
  const at = visible.lastIndexOf('@') + 1;
  const ascii = asciiDomain(visible.slice(at));
  const domain = ascii === undefined ? visible.slice(at) : domainToUnicode(ascii);
  const folded = formerEmailKey(visible.slice(0, at) + domain);
  return folded.replaceAll('i\u0307', 'i').normalize('NFKC');
}

/** The key by the rules before UTS 46. The guards of accounts from that time still have it. */
export function formerEmailKey(address: string): string {
  return address.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase().normalize('NFKC');
}

/**
 * Other keys under which the mailbox may have been claimed by the former rule: of the address as it is written, and
 * with the ASCII and the Unicode form of its domain. None for an address in ASCII without punycode.
 */
export function formerEmailKeys(address: string): string[] {
  const at = address.lastIndexOf('@') + 1;
  const ascii = asciiDomain(address.slice(at));
  const domains = ascii === undefined ? [] : [ascii, domainToUnicode(ascii)];
  const keys = new Set([address, ...domains.map((domain) => address.slice(0, at) + domain)].map(formerEmailKey));
  keys.delete(emailKey(address));
  return [...keys];
}

/** The key of the guard that an account holds. */
export function heldEmailKey({ email, emailKeyRule }: Pick<User, 'email' | 'emailKeyRule'>): string {
  return emailKeyRule === 'UTS46' ? emailKey(email) : formerEmailKey(email);
}
