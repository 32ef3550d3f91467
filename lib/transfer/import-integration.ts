import type { KMSClient } from '@aws-sdk/client-kms';
import { auditEntry, OPERATOR } from '../audit/audit-entry.ts';
import { newIntegration } from '../integrations/create-integration.ts';
import { addParameter } from '../integrations/create-parameter.ts';
import { auditEventForIntegration } from '../integrations/integration-table.ts';
import type { StoredParameter } from '../integrations/parameter-table.ts';
import { openSeal } from '../integrations/sealed-value.ts';
import { changeWithoutLoad } from '../table/change.ts';
import { entityKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { changeTotal, claim } from '../table/write.ts';
import { integrationsOf } from './entities.ts';
import type { Importer } from './importer.ts';
import type { IntegrationRecord } from './record.ts';

/**
 * Imports integrations with their parameters. Names need not be unique: the n-th record with a name and a short name
 * describes the n-th such integration in the order of ids, in which they are exported and created. Nothing else
 * prevents another one: two imports must not run at the same time.
 */
export function openIntegrationImporter(table: Table, valuesKey: string, kms: KMSClient): Importer<IntegrationRecord> {
  let stored: Promise<ReadonlyMap<string, number>> | undefined;
  const noted = new Map<string, number>();
  return {
    async lookUp(record) {
      stored ??= countNames(table);
      return (await stored).get(nameOf(record)) ?? 0;
    },

    note: (record) => increment(noted, nameOf(record)),

    async write({ parameters, ...fields }) {
      const id = await table.nextId('INTEGRATION');
      let integration = newIntegration(id, fields);
      const added: StoredParameter[] = [];
      if (parameters.length > 0) {
        const seal = await openSeal(id, valuesKey, kms);
        for (const each of parameters) {
          const { parameter, after } = addParameter(integration, each, seal);
          added.push(parameter);
          integration = after;
        }
      }
      const event = auditEventForIntegration('integration.created', integration);
      // At most 94 of the 100 actions that a transaction can have, which leaves no room for an entry per parameter.
      await changeWithoutLoad(table, (now) => [
        claim(entityKey('INTEGRATION', id), { ...integration }, 'retry'),
        changeTotal('INTEGRATION', 1),
        ...added.map((parameter) => claim(entityKey('CONF', parameter.id), { ...parameter }, 'retry')),
        ...(added.length > 0 ? [changeTotal('CONF', added.length)] : []),
        auditEntry(OPERATOR, event, now),
      ]);
    },
  };
}

const nameOf = ({ name, shortName }: { name: string; shortName: string }): string => JSON.stringify([name, shortName]);

async function countNames(table: Table): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for await (const integration of integrationsOf(table)) increment(counts, nameOf(integration));
  return counts;
}

/** Counts a name. Returns its former count. */
function increment(counts: Map<string, number>, name: string): number {
  const count = counts.get(name) ?? 0;
  counts.set(name, count + 1);
  return count;
}
