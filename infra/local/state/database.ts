import { join, relative } from 'node:path';

export const DATABASE = 'gatehouse.db';

export const shownPath = (path: string): string => relative('.', path) || '.';

export const startOver = (folder: string): string =>
  `restore ${shownPath(folder)} from a backup, or delete it to start over without its data`;

export const invalidDatabase = (folder: string): string =>
  `${shownPath(join(folder, DATABASE))} is not a valid database: ${startOver(folder)}.`;
