import type { KMSClient } from '@aws-sdk/client-kms';
import { auditEntry, operator } from '../../audit/audit-entry.ts';
import { newIntegration } from '../../integrations/create-integration.ts';
import { addParameter } from '../../integrations/create-parameter.ts';
import {
  auditEventForIntegration,
  findIntegration,
  integrationChanges,
  integrationOf,
} from '../../integrations/integration-table.ts';
import type { StoredParameter } from '../../integrations/parameter-table.ts';
import { openSeal } from '../../integrations/sealed-value.ts';
import { entityKey } from '../../table/keys.ts';
import type { Item, Table } from '../../table/table.ts';
import { changeTotal, claim, put } from '../../table/write.ts';
import { itemsOf } from './entities.ts';
import { type Importer, markerKeyOf } from './importer.ts';
import type { IntegrationRecord, Names } from './record.ts';

interface IntegrationImporter extends Importer<IntegrationRecord> {
  /**
   * Notes a rejected record, of which only the names could be read. Called in the order of the
   * file.
   */
  noteRejected(names: Names): void;
}

interface Options {
  readonly valuesKey: string;
  readonly kms: KMSClient;
  /** Whether deleted integrations are created again. */
  readonly again: boolean;
}

/**
 * Imports integrations with their parameters. Names need not be unique: the n-th record with a name
 * and a short name is the n-th such record of an earlier import, even if what it became has other
 * names now. Records without a marker describe, in their order, the integrations with these names
 * that belong to no marker, in the order of their ids. After a rejected record, those with the same
 * names are rejected too: in the corrected file they would have other numbers.
 */
export function openIntegrationImporter(
  table: Table,
  { valuesKey, kms, again }: Options,
): IntegrationImporter {
  let stored: Promise<ReadonlyMap<string, readonly number[]>> | undefined;
  /** By name: the markers of the records so far. */
  const markersByName = new Map<string, Promise<Item | undefined>[]>();
  const rejectedNames = new Set<string>();
  return {
    noteRejected(names) {
      rejectedNames.add(nameOf(names));
    },

    begin(record) {
      const name = nameOf(record);
      const markers = markersByName.get(name) ?? [];
      markersByName.set(name, markers);
      const ordinal = markers.length;
      const followsRejected = rejectedNames.has(name);
      const markerKey = markerKeyOf('INTEGRATION', record.name, record.shortName, ordinal);
      const readMarker = () => table.get(markerKey);
      // Nobody would await it after a rejected record.
      let reading = followsRejected ? undefined : readMarker();
      if (reading) markers.push(reading);
      return {
        markerKey,

        async lookUp() {
          if (followsRejected) return { field: 'name', code: 'after-rejected' };
          const marker = await (reading ?? readMarker());
          reading = undefined;
          if (marker) {
            const id = marker.id as number;
            const integration = await findIntegration(table, id);
            if (integration)
              return { outcome: nameOf(integration) === name ? 'present' : 'changed', id, marker };
            return again ? { outcome: 'imported', marker } : { outcome: 'removed', id, marker };
          }
          stored ??= idsByName(table);
          const earlier = await Promise.all(markers.slice(0, ordinal));
          const marked = new Set(earlier.map((item) => item?.id));
          const unmarked = (await stored).get(name)?.filter((id) => !marked.has(id)) ?? [];
          // The earlier records without a marker describe the first of them.
          const id = unmarked[earlier.filter((item) => !item).length];
          return id === undefined
            ? { outcome: 'imported', marker }
            : { outcome: 'present', id, marker };
        },

        note: () => undefined,

        prepare: () => newIntegrationOf(record, { table, valuesKey, kms }),
      };
    },
  };
}

async function newIntegrationOf(
  { parameters, ...fields }: IntegrationRecord,
  { table, valuesKey, kms }: { table: Table; valuesKey: string; kms: KMSClient },
) {
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
  const event = auditEventForIntegration(
    'integration.created',
    integration,
    integrationChanges(undefined, integration),
  );
  // With the marker, at most 95 of the 100 actions of a transaction, which leaves no room for an
  // entry per parameter.
  const writesAt = (now: number) => [
    claim(entityKey('INTEGRATION', id), { ...integration }, 'retry'),
    changeTotal('INTEGRATION', 1),
    ...added.map((parameter) => put(entityKey('CONF', parameter.id), { ...parameter })),
    changeTotal('CONF', added.length),
    auditEntry(operator('import'), event, now),
  ];
  return { id, writesAt };
}

const nameOf = ({ name, shortName }: Names): string => JSON.stringify([name, shortName]);

async function idsByName(table: Table): Promise<ReadonlyMap<string, readonly number[]>> {
  const ids = new Map<string, number[]>();
  for await (const item of itemsOf(table, 'INTEGRATION')) {
    const integration = integrationOf(item);
    const known = ids.get(nameOf(integration)) ?? [];
    ids.set(nameOf(integration), known);
    known.push(integration.id);
  }
  return ids;
}
