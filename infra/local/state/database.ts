import { join, relative } from 'node:path';

export const DATABASE = 'gatehouse.db';

/** A path in a message: relative to the working directory, without a trailing slash. */
export const shownPath = (path: string): string => relative('.', path) || '.';

/** What to do about a folder whose files do not fit together, as the end of a message. */
export const startOver = (folder: string): string =>
  `restore ${shownPath(folder)} from a backup, or delete it to start over without its data`;

export const invalidDatabase = (folder: string): string =>
  `${shownPath(join(folder, DATABASE))} is not a valid database: ${startOver(folder)}.`;
