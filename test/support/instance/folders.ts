import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folders: string[] = [];

/** Makes an empty folder, until `removeFolders`. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  folders.push(folder);
  return folder;
}

/** Removes the folders that a test file has made. */
export function removeFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}
