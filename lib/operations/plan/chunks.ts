import type { AuditEvent } from '../../audit/audit-entry.ts';
import type { Integration } from '../../integrations/integration.ts';
import { integrationChanged, revised } from '../../integrations/integration-table.ts';
import { entityKey } from '../../table/keys.ts';
import { claim, type Write } from '../../table/write.ts';
import type { Step } from './planned.ts';

/** The actions of a transaction, without the two that confirm the caller and the one of the set. */
const ACTIONS_MAX = 97;
/** Of parameters that a transaction writes or deletes, as of one integration (integration.ts). */
const BYTES_MAX = 192 * 1024;

/** What is committed in one transaction. */
export interface Chunk {
  readonly writes: readonly Write[];
  readonly events: readonly AuditEvent[];
  /** How many steps it has. */
  readonly steps: number;
  /** How many integrations it creates. */
  readonly created: number;
}

/**
 * One write for two of the roster or of a total, the only items that several changes write:
 * DynamoDB accepts one action on each item of a transaction. Undefined if they cannot be merged:
 * somebody becomes an administrator while somebody else ceases.
 */
function merged(one: Write, other: Write): Write | undefined {
  if (one.update !== other.update) return undefined;
  const [{ values = {} }, { values: others = {} }] = [one, other];
  const sums = Object.entries(values).map(([name, first]) => {
    const second = others[name];
    const sum =
      first instanceof Set
        ? new Set([...first, ...(second as Set<unknown>)])
        : (first as number) + (second as number);
    // Each creation or deletion counts as one change of the total, and each administrator who
    // leaves must leave another one behind.
    return [name, sum];
  });
  return { ...one, values: Object.fromEntries(sums) };
}

/** Writes by the keys of their items. */
type Writes = ReadonlyMap<string, Write>;

/** Collects steps as long as they fit into one transaction. */
export function openChunk() {
  let writes: Writes = new Map();
  let events: AuditEvent[] = [];
  let integrations = new Map<number, { before: Integration | undefined; after: Integration }>();
  let steps = 0;
  let bytes = 0;

  return {
    /** Adds a step; false if it needs another transaction. */
    add(step: Step): boolean {
      const added = withStep(writes, step);
      if (!added) return false;
      const changed = new Map(integrations);
      if (step.integration) {
        const { before, after } = step.integration;
        changed.set(after.id, { before, ...changed.get(after.id), after });
      }
      const { bytes: size = 0 } = step;
      const actions = added.size + changed.size + events.length + step.events.length;
      const isTooLarge = actions > ACTIONS_MAX || bytes + size > BYTES_MAX;
      if (steps > 0 && isTooLarge) return false;
      writes = added;
      integrations = changed;
      events = [...events, ...step.events];
      bytes += size;
      steps++;
      return true;
    },
    /** The chunk; an integration that several steps change has one write. */
    close(): Chunk {
      const owners = [...integrations.values()].map(({ before, after }) =>
        before
          ? integrationChanged(before, after)
          : claim(entityKey('INTEGRATION', after.id), { ...after }, 'retry'),
      );
      const created = [...integrations.values()].filter(({ before }) => !before).length;
      return { writes: [...owners, ...writes.values()], events, steps, created };
    },
    /** The integrations as the transaction leaves them. */
    committed(): Integration[] {
      return [...integrations.values()].map(({ before, after }) =>
        before ? revised(before, after) : after,
      );
    },
  };
}

function withStep(writes: Writes, step: Step): Writes | undefined {
  const all = new Map(writes);
  for (const write of step.writes) {
    const name = `${write.key.pk} ${write.key.sk}`;
    const earlier = all.get(name);
    const together = earlier ? merged(earlier, write) : write;
    if (!together) return undefined;
    all.set(name, together);
  }
  return all;
}
