import { openIssuers } from '../lib/identities/issuer.ts';
import { openModuleIssuers } from '../lib/modules/module-issuer.ts';
import { openTable } from '../lib/table/open-table.ts';
import { refreshKeys } from '../lib/tokens/issuer-keys.ts';

const table = openTable();
const issuers = [...openIssuers(), ...openModuleIssuers()];

/** Runs every minute in environments with issuers. Throws when keys are missing or an hour old. */
export const handler = (): Promise<void> => refreshKeys(table, issuers);
