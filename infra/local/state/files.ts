import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** A path in a message: relative to the working directory, without a trailing slash. */
export const shownPath = (path: string): string => relative('.', path) || '.';

/** What to do about a folder whose files do not fit together, as the end of a message. */
export const startOver = (folder: string): string =>
  `restore ${shownPath(folder)} from a backup, or delete it to start over without its data`;

/** The text of a file; undefined if there is none. */
export function contentOf(file: string | URL): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Parses the text of a file that must be JSON; the remedy ends the message of the error. */
export function parseJson<T>(file: string, text: string, remedy: string): T {
  try {
    const value = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // The message of the parser would quote the content, which may be a key.
  }
  throw new Error(`${shownPath(file)} is not valid JSON: ${remedy}.`);
}

/** Writes a file that only its owner can read, as a whole even if this process is killed. */
export function writeAtomically(folder: string, name: string, content: string): void {
  const temporary = join(folder, `${name}.new`);
  writeFileSync(temporary, content, { mode: 0o600, flush: true });
  renameSync(temporary, join(folder, name));
}
