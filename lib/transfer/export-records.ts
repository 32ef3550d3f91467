import type { KMSClient } from '@aws-sdk/client-kms';
import { pick } from '../contract/entity-fields.ts';
import { EDITABLE_INTEGRATION_FIELDS, type Integration } from '../integrations/integration.ts';
import { parametersOf } from '../integrations/parameter-table.ts';
import { unseal } from '../integrations/sealed-value.ts';
import { findDefect } from '../integrity/item-kinds.ts';
import { mapConcurrently } from '../runtime/settle-all.ts';
import { entityKey, type Kind } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { EDITABLE_USER_FIELDS } from '../users/user.ts';
import { integrationsOf, usersOf } from './entities.ts';

/** Below the number of connections of a client, so that no call to KMS times out while it waits for one. */
const MAX_CONCURRENT_DECRYPTIONS = 32;

const USER_FIELDS = [
  ...EDITABLE_USER_FIELDS,
  'passwordHash',
  'createdBy',
  'createdDate',
  'lastModifiedBy',
  'lastModifiedDate',
] as const;

/**
 * All users and integrations as records that `importRecords` accepts, with decrypted values. Fails with SDK errors, and
 * with a sentence for the operator at the first damaged item.
 */
export async function* exportRecords(
  table: Table,
  valuesKey: string,
  kms: KMSClient,
): AsyncGenerator<{ readonly type: 'user' | 'integration' }> {
  for await (const user of usersOf(table)) {
    requireIntact('USER', user);
    yield { type: 'user', ...pick(user, USER_FIELDS) };
  }
  for await (const integration of integrationsOf(table)) {
    requireIntact('INTEGRATION', integration);
    const parameters = await decryptedParameters(table, integration, valuesKey, kms);
    yield { type: 'integration', ...pick(integration, EDITABLE_INTEGRATION_FIELDS), ...{ parameters } };
  }
}

async function decryptedParameters(table: Table, { id }: Integration, valuesKey: string, kms: KMSClient) {
  return mapConcurrently(await parametersOf(table, id), MAX_CONCURRENT_DECRYPTIONS, async (parameter) => {
    requireIntact('CONF', parameter);
    return {
      ...pick(parameter, ['confName', 'confDescription']),
      confValue: await unseal(parameter.confValue, parameter.id, valuesKey, kms),
    };
  });
}

function requireIntact(kind: Kind, entity: { readonly id: number }): void {
  const defect = findDefect({ ...entityKey(kind, entity.id), ...entity });
  if (defect) throw new Error(`${defect.message} \`npm run verify\` lists everything that is damaged.`);
}
