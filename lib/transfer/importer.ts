import type { RecordError } from './record.ts';

/** The import of one type of record. */
export interface Importer<R> {
  /** Whether the table already contains the record; the error if it contradicts the table. Changes nothing. */
  lookUp(record: R): Promise<'present' | 'absent' | RecordError>;
  /** Notes a record. Returns an error if it contradicts a record that was noted before. */
  note(record: R): RecordError | undefined;
  /** Writes a new record in one transaction. Fails as `change` does. */
  write(record: R): Promise<void>;
}
