import { readdirSync, readFileSync } from 'node:fs';

export interface Usage {
  readonly cpuMs: number;
  readonly rssBytes: number;
}

/** The kernel reports times in hundredths of a second on every platform. */
const MS_PER_TICK = 10;

interface Process extends Usage {
  readonly pid: number;
  readonly parent: number;
}

/** Reads the usage from /proc. The numbers are NaN on systems without it. */
export function usageOfTree(root: number): Usage {
  const processes = processIds().flatMap((pid) => processOf(pid) ?? []);
  const tree = processes.filter(({ pid }) => pid === root);
  for (const { pid } of tree) tree.push(...processes.filter(({ parent }) => parent === pid));
  if (tree.length === 0) return { cpuMs: Number.NaN, rssBytes: Number.NaN };
  const sum = (value: (process: Process) => number) =>
    tree.reduce((total, process) => total + value(process), 0);
  return { cpuMs: sum(({ cpuMs }) => cpuMs), rssBytes: sum(({ rssBytes }) => rssBytes) };
}

/**
 * The CPU time of the children of this process that have ended, and of their descendants. NaN
 * without /proc.
 */
export function cpuMsOfEndedChildren(): number {
  const field = statOf(process.pid);
  return field ? (field(16) + field(17)) * MS_PER_TICK : Number.NaN;
}

function processIds(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

/** Undefined if the process has ended. */
function processOf(pid: number): Process | undefined {
  const field = statOf(pid);
  if (!field) return undefined;
  try {
    const [, rssKb = '0'] =
      /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return {
      pid,
      parent: field(4),
      cpuMs: (field(14) + field(15)) * MS_PER_TICK,
      rssBytes: Number(rssKb) * 1024,
    };
  } catch {
    return undefined;
  }
}

/** The fields of a process by their numbers in proc_pid_stat(5); undefined if it has ended. */
function statOf(pid: number): ((number: number) => number) | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name, in parentheses, can contain spaces. The fields after it are numbered from 3.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (number) => Number(fields[number - 3]);
  } catch {
    return undefined;
  }
}
