import { domainToUnicode } from 'node:url';
import { fold } from '../contract/folding.ts';
import { asciiDomain } from '../mail/address.ts';

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
