import { readdirSync, readFileSync } from 'node:fs';

const STAT = /^(\d+) \(.*\) (\w) (\d+) (\d+)/s;

/** All processes except zombies, from /proc, because not every machine has `ps`. */
export const processes = (): { pid: number; parent: number; group: number }[] =>
  readdirSync('/proc').flatMap((name) => {
    try {
      const [, pid, state, parent, group] =
        STAT.exec(readFileSync(`/proc/${name}/stat`, 'utf8')) ?? [];
      return pid && state !== 'Z'
        ? [{ pid: Number(pid), parent: Number(parent), group: Number(group) }]
        : [];
    } catch {
      return [];
    }
  });
