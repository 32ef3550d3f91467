import { invalidDatabase } from '../state/database.ts';
import { externalEngine } from './external-engine.ts';

/* Separate from the engine, so that commands on deployed tables do not load it. */

/** The words of SQLite about a file that it cannot use, in the errors of the embedded engine. */
const INVALID_DATABASE = /not a valid SQLite database|database disk image is malformed/;

/**
 * Names the database of a state folder if this error of the embedded engine is about it; otherwise
 * undefined.
 */
export const explainDatabaseError = (stateDir: string, message: string): string | undefined =>
  INVALID_DATABASE.test(message) && !externalEngine() ? invalidDatabase(stateDir) : undefined;
