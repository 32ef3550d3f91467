import type { KMSClient } from '@aws-sdk/client-kms';
import { pick } from '../../contract/entity-fields.ts';
import { EDITABLE_INTEGRATION_FIELDS, type Integration } from '../../integrations/integration.ts';
import { integrationOf } from '../../integrations/integration-table.ts';
import { MASK } from '../../integrations/parameter.ts';
import { parameterItemsOf, parameterOf } from '../../integrations/parameter-table.ts';
import {
  CONCURRENT_DECRYPTIONS_MAX,
  openUnseal,
  UnreadableValue,
} from '../../integrations/sealed-value.ts';
import { mapConcurrently } from '../../runtime/waiting.ts';
import type { Item, Table } from '../../table/table.ts';
import { EDITABLE_USER_FIELDS } from '../../users/user.ts';
import { userOf } from '../../users/user-table.ts';
import { findDefect } from '../integrity/find-defect.ts';
import { keyLabel } from '../integrity/finding.ts';
import { itemsOf } from './entities.ts';

const USER_FIELDS = [
  ...EDITABLE_USER_FIELDS,
  'passwordHash',
  'createdBy',
  'createdDate',
  'lastModifiedBy',
  'lastModifiedDate',
] as const;

/** A record as it is written to a file. */
interface ExportedRecord {
  readonly type: 'user' | 'integration';
  readonly [field: string]: unknown;
}

/**
 * All users and integrations as records for `importRecords`, with decrypted values. In place of the
 * value of a secret is the mask, which the import rejects. Second factors are left out, because
 * only this stack can derive their secrets: `onFactor` is called for each. Fails with SDK errors,
 * and with a sentence for the operator at the first damaged item.
 */
export async function* exportRecords(
  table: Table,
  valuesKey: string,
  kms: KMSClient,
  onFactor: () => void = () => undefined,
): AsyncGenerator<ExportedRecord> {
  for await (const item of itemsOf(table, 'USER')) {
    requireIntact(item);
    const user = userOf(item);
    if (user.secondFactor) onFactor();
    yield { type: 'user', ...pick(user, USER_FIELDS) };
  }
  for await (const item of itemsOf(table, 'INTEGRATION')) {
    requireIntact(item);
    const integration = integrationOf(item);
    const parameters = await decryptedParameters(table, integration, valuesKey, kms);
    yield { type: 'integration', ...pick(integration, EDITABLE_INTEGRATION_FIELDS), parameters };
  }
}

async function decryptedParameters(
  table: Table,
  { id }: Integration,
  valuesKey: string,
  kms: KMSClient,
) {
  const unseal = openUnseal({ valuesKey, kms });
  return mapConcurrently(
    await parameterItemsOf(table, id),
    CONCURRENT_DECRYPTIONS_MAX,
    async (item) => {
      requireIntact(item);
      const parameter = parameterOf(item);
      const { secret } = parameter;
      const named = pick(parameter, ['confName', 'confDescription']);
      if (secret) return { ...named, confValue: MASK, secret };
      const confValue = await unseal(parameter.confValue, parameter.id).catch((error) => {
        if (!isAboutValue(error)) throw error;
        const remedy = 'set it again with PUT /api/utm-integration-confs, or delete the parameter.';
        throw new Error(`The value of ${keyLabel(item)} cannot be decrypted: ${remedy}`);
      });
      return { ...named, confValue };
    },
  );
}

/**
 * True if the value is damaged or KMS rejects its data key; false if KMS fails or denies the
 * operator access.
 */
const isAboutValue = (error: Error): boolean =>
  error instanceof UnreadableValue ||
  ['InvalidCiphertextException', 'IncorrectKeyException'].includes(error.name);

function requireIntact(item: Item): void {
  const defect = findDefect(item);
  if (defect)
    throw new Error(
      `${defect.message} \`npm run admin -- verify\` lists everything that is damaged.`,
    );
}
