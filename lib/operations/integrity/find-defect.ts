import * as v from 'valibot';
import { collectionOf } from '../../table/keys.ts';
import type { Item } from '../../table/table.ts';
import { thumbprint } from '../../tokens/token.ts';
import { ITEM_KINDS, ITEMS, kindOf } from '../item-kinds.ts';
import { type Finding, keyLabel } from './finding.ts';

/**
 * All attributes that the verification reads; no password hash and no parameter value is among
 * them.
 */
export const VERIFIED_ATTRIBUTES: readonly string[] = [
  ...new Set(ITEM_KINDS.flatMap(({ attributes }) => Object.keys(attributes.entries))),
];

const BACKUP = 'compare the item with a backup of the table and correct it by hand';

/**
 * The defect of a single item, or undefined. Code that reads an item as its kind must call this
 * first.
 */
export function findDefect(item: Item): Finding | undefined {
  const defect = (kind: Finding['kind'], predicate: string, advice: string): Finding => ({
    kind,
    keys: [{ pk: item.pk, sk: item.sk }],
    message: `${keyLabel(item)} ${predicate}.`,
    remedy: { advice },
  });
  const kind = kindOf(item);
  if (!kind) {
    return defect(
      'unknown-item',
      'is of a kind that this version does not know',
      'its purpose is unknown; if a newer version has written it, verify with that ' +
        'version, otherwise delete it by hand',
    );
  }
  const { success, issues } = v.safeParse(kind.attributes, item);
  if (!success) {
    // Valibot reports no path for the elements of a Set.
    // Stryker disable next-line OptionalChaining: an issue of an object always has a path
    const wrong = [...new Set(issues.map((issue) => v.getDotPath(issue) ?? issue.path?.[0].key))];
    return defect(
      'damaged-item',
      `has missing or invalid attributes: ${wrong.join(', ')}`,
      `no other item holds them; ${BACKUP}`,
    );
  }
  const collectionKind = collectionOf(item);
  if (collectionKind && item.id !== Number(item.sk)) {
    return defect('wrong-id', `has the id ${item.id}`, `either id can be the right one; ${BACKUP}`);
  }
  if (kind === ITEMS.publicKey) {
    const jwk = item.jwk as { kid: string; x: string; y: string };
    const kid = thumbprint(jwk);
    if (item.sk !== kid || jwk.kid !== kid) {
      return defect(
        'wrong-signing-key',
        `holds a key whose id is ${kid}`,
        'the origin of the key is unknown; delete the item: logins publish the keys of ' +
          'the stack again within a minute',
      );
    }
  }
  return undefined;
}
