import * as v from 'valibot';
import { count, type ItemDeclaration, text } from '../table/item-kind.ts';
import type { Key } from '../table/keys.ts';

export const publicKeyItemKey = (kid: string): Key => ({ pk: 'JWKS', sk: kid });
/** Beside the keys, so that one query reads both. */
export const notBeforeKey: Key = { pk: 'JWKS', sk: 'NOT-BEFORE' };

export const publicKeyItem: ItemDeclaration = {
  pk: 'JWKS',
  sk: '<kid>',
  name: 'public signing key',
  attributes: () =>
    v.object({ jwk: v.object({ kid: text, kty: text, crv: text, x: text, y: text }) }),
  matches: ({ sk }) => sk !== notBeforeKey.sk,
  onForget: 'keep',
  onRestore: 'delete',
};
export const notBeforeItem: ItemDeclaration = {
  pk: 'JWKS',
  sk: 'NOT-BEFORE',
  name: 'earliest time of issue of valid tokens',
  attributes: () => v.object({ seconds: count }),
  onForget: 'keep',
  onRestore: 'change',
};
