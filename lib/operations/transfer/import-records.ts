import type { KMSClient } from '@aws-sdk/client-kms';
import { mapConcurrently } from '../../runtime/waiting.ts';
import { loadDecideCommit } from '../../table/change.ts';
import type { Table } from '../../table/table.ts';
import { openIntegrationImporter } from './import-integration.ts';
import { openUserImporter } from './import-user.ts';
import {
  type Creation,
  type Importer,
  type Known,
  mark,
  type Outcome,
  type RecordImport,
} from './importer.ts';
import { integrationNamesIn, type RecordError, readRecord } from './record.ts';

/** Where records are imported to, and the KMS keys of its stack. */
interface Target {
  readonly table: Table;
  readonly pepperKeys: readonly string[];
  readonly valuesKey: string;
  readonly kms: KMSClient;
}

interface Options {
  /** Whether new records are written. Without it, the table is only read. */
  readonly apply: boolean;
  /**
   * Whether records whose users and integrations have been removed since their import are imported
   * again.
   */
  readonly again: boolean;
  /** Receives the number of a line, from 1, and why it is rejected. */
  readonly onRejected: (line: number, errors: readonly RecordError[]) => void;
  /**
   * Receives the number of a line, from 1, whose user or integration has been changed or removed
   * since its import.
   */
  readonly onSkipped: (line: number, outcome: 'changed' | 'removed', entity: string) => void;
  /** Receives the number of records read so far. */
  readonly onProgress: (records: number) => void;
}

/** The number of records by what became of them; without `apply`, by what would. */
export type Tally = Record<Outcome | 'rejected', number>;

/** How many records are looked up together, and how many at a time. */
const BATCH = 100;
const CONCURRENT_LOOKUPS_MAX = 16;

/**
 * Imports the records of a JSON Lines file in their order. Every record is one transaction, and a
 * record that the table already contains, or that it has once imported, is skipped: an import can
 * be repeated, and imports can run at the same time. Records are looked up concurrently but written
 * one at a time, because every transaction updates the total of its kind. Fails with unavailable
 * and with SDK errors.
 */
export async function importRecords(
  { table, pepperKeys, valuesKey, kms }: Target,
  lines: AsyncIterable<Buffer>,
  { apply, again, onRejected, onSkipped, onProgress }: Options,
): Promise<Tally> {
  const importers = {
    user: openUserImporter(table, { pepperKeys, again }),
    integration: openIntegrationImporter(table, { valuesKey, kms, again }),
  };
  const tally: Tally = { imported: 0, present: 0, changed: 0, removed: 0, rejected: 0 };
  let records = 0;
  for await (const batch of batchesOf(lines)) {
    const plans = await mapConcurrently(batch, CONCURRENT_LOOKUPS_MAX, async ({ line, bytes }) => {
      const record = readRecord(bytes);
      if (isErrors(record)) {
        const names = integrationNamesIn(bytes);
        if (names) importers.integration.noteRejected(names);
        return { line, type: undefined, plan: record };
      }
      const { type } = record;
      const importer = importers[type] as Importer<typeof record>;
      return { line, type, plan: await planOf(importer.begin(record)) };
    });
    for (const { line, type, plan } of plans) {
      const result = isErrors(plan) ? plan : await carryOut(table, line, plan, apply);
      tally[isErrors(result) ? 'rejected' : result.outcome]++;
      if (isErrors(result)) onRejected(line, result);
      else if (result.outcome === 'changed' || result.outcome === 'removed')
        onSkipped(line, result.outcome, `${type} ${result.id}`);
      onProgress(++records);
    }
  }
  return tally;
}

interface Line {
  readonly line: number;
  readonly bytes: Buffer;
}

/** Numbers the lines and leaves out blank ones. */
async function* batchesOf(lines: AsyncIterable<Buffer>): AsyncGenerator<Line[]> {
  let batch: Line[] = [];
  let line = 0;
  for await (const bytes of lines) {
    line++;
    if (bytes.toString().trim() !== '') batch.push({ line, bytes });
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  yield batch;
}

/**
 * A valid record that does not contradict the table, and what the table held of it when it was
 * looked up.
 */
interface Plan {
  readonly record: RecordImport;
  readonly known: Known;
}

async function planOf(record: RecordImport): Promise<Plan | readonly RecordError[]> {
  const known = await record.lookUp();
  return 'code' in known ? [known] : { record, known };
}

async function carryOut(
  table: Table,
  line: number,
  { record, known }: Plan,
  apply: boolean,
): Promise<Known | readonly RecordError[]> {
  const error = record.note(line);
  if (error) return [error];
  if (!apply) return known;
  const result = await write(table, record, known);
  return 'code' in result ? [result] : result;
}

/**
 * Creates what a new record describes and marks the record. A record that the table already
 * contains is marked too, so that a later import does not create it again. Looks the record up
 * again if it is no longer as it was looked up.
 */
async function write(
  table: Table,
  record: RecordImport,
  known: Known,
): Promise<Known | RecordError> {
  let first: Known | undefined = known;
  let prepared: Promise<Creation> | undefined;
  const writesFor = async ({
    outcome,
    id,
    marker,
    checks = [],
  }: Known): Promise<Creation['writesAt']> => {
    if (outcome === 'imported') {
      prepared ??= record.prepare();
      const creation = await prepared;
      return (now) => [mark(record.markerKey, marker, creation.id), ...creation.writesAt(now)];
    }
    const marking = marker ? [] : [mark(record.markerKey, marker, id as number), ...checks];
    return () => marking;
  };
  const load = async () => {
    const current = first ?? (await record.lookUp());
    first = undefined;
    return { current, writesAt: 'outcome' in current ? await writesFor(current) : () => [] };
  };
  return loadDecideCommit(table, load, ({ current, writesAt }, now) => ({
    writes: writesAt(now),
    result: current,
  }));
}

const isErrors = (value: object): value is readonly RecordError[] => Array.isArray(value);
