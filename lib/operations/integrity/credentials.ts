import { credentialKey } from '../../integrations/integration-items.ts';
import { integrationOf, revisionIs } from '../../integrations/integration-table.ts';
import { integrationOfClient } from '../../modules/credential.ts';
import { entityKey } from '../../table/keys.ts';
import type { TableScanner } from '../../table/table-scanner.ts';
import { check, EXISTS, isAbsent, remove } from '../../table/write.ts';
import { findDefect } from './find-defect.ts';
import { type Finding, keyLabel } from './finding.ts';
import type { Survey } from './survey.ts';

/**
 * Verifies that the credentials in integrations correspond one to one to items of their own, until
 * they expire.
 */
export async function verifyCredentials(
  table: TableScanner,
  { listedCredentials, credentials }: Survey,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const clientId of new Set([...listedCredentials, ...credentials])) {
    if (listedCredentials.has(clientId) && credentials.has(clientId)) continue;
    const finding = await findingOf(table, clientId);
    if (finding) findings.push(finding);
  }
  return findings;
}

async function findingOf(table: TableScanner, clientId: string): Promise<Finding | undefined> {
  const id = integrationOfClient(clientId) ?? 0;
  const [integrationKey, key] = [entityKey('INTEGRATION', id), credentialKey(clientId)];
  const [owner, item] = await table.snapshot([integrationKey, key]);
  // A defective integration is reported by itself.
  if (owner && findDefect(owner)) return undefined;
  const integration = owner && integrationOf(owner);
  const isListed = integration?.credentials?.some((listed) => listed.clientId === clientId);
  if (isListed && !item)
    return {
      kind: 'credential-item-missing',
      keys: [integrationKey, key],
      message: `Integration ${id} has the credential ${clientId}, but ${keyLabel(key)} does not exist.`,
      remedy: {
        advice:
          'no other item has the hash of its secret or identity, so the module is refused; ' +
          'create another credential, and delete this one',
      },
    };
  if (!item || isListed) return undefined;
  return {
    kind: 'credential-orphan',
    keys: [key],
    message: `${keyLabel(key)} is no credential of integration ${id}.`,
    remedy: {
      description: `removes ${keyLabel(key)}`,
      writes: [
        remove(key, EXISTS),
        check(integrationKey, integration ? revisionIs(integration) : isAbsent()),
      ],
    },
  };
}
