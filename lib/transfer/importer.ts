import type { RecordError } from './record.ts';

/** The import of one type of record. */
export interface Importer<R> {
  /** How many entities of the table have the record's name; the error if it contradicts the table. Changes nothing. */
  lookUp(record: R): Promise<number | RecordError>;
  /** Notes a record. Returns how many with its name were noted before; the error if it contradicts one of them. */
  note(record: R): number | RecordError;
  /** Writes a new record in one transaction. Fails as `change` does. */
  write(record: R): Promise<void>;
}
