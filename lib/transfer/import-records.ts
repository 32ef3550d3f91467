import type { KMSClient } from '@aws-sdk/client-kms';
import { Failure } from '../contract/failure.ts';
import { mapConcurrently } from '../runtime/settle-all.ts';
import type { Table } from '../table/table.ts';
import { openIntegrationImporter } from './import-integration.ts';
import { openUserImporter } from './import-user.ts';
import type { Importer } from './importer.ts';
import { type RecordError, readRecord } from './record.ts';

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
  /** Receives the number of a line, from 1, and why it is rejected. */
  readonly onRejected: (line: number, errors: readonly RecordError[]) => void;
  /** Receives the number of records read so far. */
  readonly onProgress: (records: number) => void;
}

/** The number of records by what became of them; without `apply`, by what would. */
export interface Tally {
  imported: number;
  /** Records that the table already contained. */
  present: number;
  rejected: number;
}

/** How many records are looked up together, and how many at a time. */
const BATCH = 100;
const MAX_CONCURRENT_LOOKUPS = 16;

/**
 * Imports the records of a JSON Lines file in their order. Every record is one transaction, and a record that the table
 * already contains is skipped: an import that was interrupted can be repeated. Records are looked up concurrently but
 * written one at a time, because every transaction updates the total of its kind. Fails with unavailable and with SDK
 * errors.
 */
export async function importRecords(
  { table, pepperKeys, valuesKey, kms }: Target,
  lines: AsyncIterable<Buffer>,
  { apply, onRejected, onProgress }: Options,
): Promise<Tally> {
  const importers = {
    user: openUserImporter(table, pepperKeys),
    integration: openIntegrationImporter(table, valuesKey, kms),
  };
  const tally: Tally = { imported: 0, present: 0, rejected: 0 };
  let records = 0;
  for await (const batch of batchesOf(lines)) {
    const plans = await mapConcurrently(batch, MAX_CONCURRENT_LOOKUPS, async ({ line, bytes }) => {
      const record = readRecord(bytes);
      if (isErrors(record)) return { line, plan: record };
      return { line, plan: await planOf(importers[record.type] as Importer<typeof record>, record) };
    });
    for (const { line, plan } of plans) {
      const outcome = isErrors(plan) ? plan : await carryOut(plan, apply);
      if (typeof outcome === 'string') tally[outcome]++;
      else {
        tally.rejected++;
        onRejected(line, outcome);
      }
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

/** A valid record that does not contradict the table. */
interface Plan {
  /** How many entities with the record's name the table contained when it was looked up. */
  readonly stored: number;
  note(): number | RecordError;
  write(): Promise<void>;
}

async function planOf<R>(importer: Importer<R>, record: R): Promise<Plan | readonly RecordError[]> {
  const found = await importer.lookUp(record);
  if (typeof found === 'object') return [found];
  return {
    stored: found,
    note: () => importer.note(record),
    write: () => importer.write(record),
  };
}

async function carryOut(
  { stored, note, write }: Plan,
  apply: boolean,
): Promise<'imported' | 'present' | readonly RecordError[]> {
  const earlier = note();
  if (typeof earlier === 'object') return [earlier];
  if (earlier < stored) return 'present';
  try {
    if (apply) await write();
    return 'imported';
  } catch (error) {
    // Somebody else has claimed it since it was looked up.
    if (error instanceof Failure && error.code === 'login-taken') return [{ field: 'login', code: error.code }];
    if (error instanceof Failure && error.code === 'email-taken') return [{ field: 'email', code: error.code }];
    throw error;
  }
}

const isErrors = (value: object): value is readonly RecordError[] => Array.isArray(value);
