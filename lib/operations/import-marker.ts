import * as v from 'valibot';
import { type ItemDeclaration, id } from '../table/item-kind.ts';
import type { Key } from '../table/keys.ts';

export const importMarkerKey = (kind: 'USER' | 'INTEGRATION', hash: string): Key => ({
  pk: `IMPORTED#${hash}`,
  sk: kind,
});
/** Keeps a repeated import from creating what was deleted. */
export const importedUserItem: ItemDeclaration = {
  pk: 'IMPORTED#<hash of the record>',
  sk: 'USER',
  name: 'marker of an imported user',
  // What it names may have been deleted since.
  attributes: () => v.object({ id }),
  personIn: 'id',
  onForget: 'keep',
  onRestore: 'keep',
};
export const importedIntegrationItem: ItemDeclaration = {
  pk: 'IMPORTED#<hash of the record>',
  sk: 'INTEGRATION',
  name: 'marker of an imported integration',
  attributes: () => v.object({ id }),
  onForget: 'keep',
  onRestore: 'keep',
};
