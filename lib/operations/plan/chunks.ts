import type { AuditEvent } from '../../audit/audit-entry.ts';
import type { Integration } from '../../integrations/integration.ts';
import { integrationChanged } from '../../integrations/integration-table.ts';
import { totalKey } from '../../table/item-kind.ts';
import { entityKey, type Key, KINDS } from '../../table/keys.ts';
import { claim, type Write } from '../../table/write.ts';
import { rosterKey } from '../../users/user-items.ts';
import type { Step } from './planned.ts';

/** The actions of a transaction, without the two that confirm the caller. */
const ACTIONS_MAX = 98;
/** Of the parameters in a transaction, as of one integration (integration.ts). */
const BYTES_MAX = 192 * 1024;

/** What is committed in one transaction. */
export interface Chunk {
  readonly writes: readonly Write[];
  readonly events: readonly AuditEvent[];
  /** How many steps it has. */
  readonly steps: number;
}

const MERGED: readonly Key[] = [rosterKey, ...KINDS.map(totalKey)];
const isMerged = ({ key }: Write): boolean =>
  MERGED.some(({ pk, sk }) => pk === key.pk && sk === key.sk);

/**
 * One write for two of the roster or of a total, on which a transaction can have only one action.
 * Undefined if they cannot be merged: somebody becomes an administrator while somebody else ceases.
 */
function merged(one: Write, other: Write): Write | undefined {
  if (one.update !== other.update) return undefined;
  const values = Object.keys(one.values ?? {}).map((name) => {
    const [first, second] = [one.values?.[name], other.values?.[name]];
    const sum =
      first instanceof Set
        ? new Set([...first, ...(second as Set<unknown>)])
        : (first as number) + (second as number);
    // Each creation or deletion counts as one change of the total, and each administrator who
    // leaves must leave another one behind.
    return [name, sum];
  });
  return { ...one, values: Object.fromEntries(values) };
}

/** Collects steps as long as they fit into one transaction. */
export function openChunk() {
  let writes: Write[] = [];
  let events: AuditEvent[] = [];
  let integrations = new Map<number, { before: Integration | undefined; after: Integration }>();
  let steps = 0;
  let bytes = 0;

  return {
    /** Adds a step; false if it needs another transaction. */
    add(step: Step): boolean {
      const added = withStep(writes, step);
      const changed = new Map(integrations);
      if (step.integration) {
        const { before, after } = step.integration;
        changed.set(after.id, { before, ...changed.get(after.id), after });
      }
      const size = bytesIn(step);
      const actions = (added?.length ?? 0) + changed.size + events.length + step.events.length;
      const isTooLarge = actions > ACTIONS_MAX || bytes + size > BYTES_MAX;
      if (!added || (steps > 0 && isTooLarge)) return false;
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
      return { writes: [...owners, ...writes], events, steps };
    },
    /** The integrations as the transaction leaves them. */
    committed(): Integration[] {
      return [...integrations.values()].map(({ before, after }) =>
        before
          ? {
              ...after,
              revision: before.revision + 1,
              moduleRevision: before.moduleRevision + 1,
            }
          : after,
      );
    },
  };
}

function withStep(writes: readonly Write[], step: Step): Write[] | undefined {
  const all = [...writes];
  for (const write of step.writes) {
    const at = isMerged(write)
      ? all.findIndex(({ key }) => key.pk === write.key.pk && key.sk === write.key.sk)
      : -1;
    const together = at < 0 ? write : merged(all[at] as Write, write);
    if (!together) return undefined;
    if (at < 0) all.push(together);
    else all[at] = together;
  }
  return all;
}

const bytesIn = ({ writes }: Step): number =>
  writes.reduce((sum, { attributes, values }) => {
    const parts = Object.values({ ...attributes, ...values });
    return sum + parts.reduce<number>((size, part) => size + lengthOf(part), 0);
  }, 0);

const lengthOf = (part: unknown): number =>
  typeof part === 'string' || part instanceof Uint8Array ? part.length : 0;
