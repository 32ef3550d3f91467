import { createHash } from 'node:crypto';
import type { Key } from '../../table/keys.ts';
import type { Item } from '../../table/table.ts';
import { attributesAre, claim, set, type Write } from '../../table/write.ts';
import { importMarkerKey } from '../import-marker.ts';
import type { RecordError } from './record.ts';

/** The import of one type of record. */
export interface Importer<R> {
  /** Begins the import of a record. Called in the order of the file. */
  begin(record: R): RecordImport;
}

/** The import of one record. */
export interface RecordImport {
  readonly markerKey: Key;
  /** What the table holds of the record; the error if it contradicts the table. Changes nothing. */
  lookUp(): Promise<Known | RecordError>;
  /** Notes the record of a line. Returns the error if it contradicts one that was noted before. */
  note(line: number): RecordError | undefined;
  /** Reserves the id of the new entity. */
  prepare(): Promise<Creation>;
}

/**
 * What becomes of a valid record: it is imported, the table already has it, or what it once became
 * has been changed or removed since.
 */
export type Outcome = 'imported' | 'present' | 'changed' | 'removed';

/** What the table holds of a record. */
export interface Known {
  readonly outcome: Outcome;
  /** The entity that the record describes or once became; undefined for a new record. */
  readonly id?: number | undefined;
  readonly marker: Item | undefined;
  /** What must still hold when the marker of a present entity is written. */
  readonly checks?: readonly Write[];
}

/** A new entity, and the writes that create it. `now` is in milliseconds since 1970. */
export interface Creation {
  readonly id: number;
  writesAt(now: number): readonly Write[];
}

/*
 * A record that was imported has a permanent marker, which holds the id of what it became.
 * Otherwise, a repeated import would create again what was deleted or renamed since. The marker is
 * a condition of the creation, so that two imports at the same time create one entity.
 */

/** The key of the marker of the record that these values identify. */
export function markerKeyOf(
  kind: 'USER' | 'INTEGRATION',
  ...identity: readonly (string | number)[]
): Key {
  return importMarkerKey(kind, createHash('sha256').update(JSON.stringify(identity)).digest('hex'));
}

/** Notes in the marker what the record became, on condition that the marker is as it was read. */
export function mark(key: Key, marker: Item | undefined, id: number): Write {
  return marker ? set(key, { id }, attributesAre({ id: marker.id })) : claim(key, { id }, 'retry');
}
