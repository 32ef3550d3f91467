import { type FieldUse, viewOf } from '../contract/entity-fields.ts';
import type { Integration } from '../integrations/integration.ts';

/** What a module does, seen from what is wanted of it. */
export const PROGRESS = ['unseen', 'failed', 'behind', 'current'] as const;
type Progress = (typeof PROGRESS)[number];

/**
 * What is wanted of a module, what it runs, whether that changes all the time, and when it was seen
 * last. `now` is in milliseconds since 1970.
 */
export function moduleStateOf(integration: Integration, now: number) {
  const { report: { running, failed, reason } = {}, seen, moduleRevision: wanted } = integration;
  const progress = progressOf(integration);
  const flapping = isFlapping(integration, now);
  return { progress, wanted, running, failed, reason, lastSeen: seen, flapping };
}

/** Its fields, in response order, and how lists filter by them. */
export const MODULE_STATE_FIELDS = {
  progress: { filter: { oneOf: PROGRESS } },
  wanted: { filter: 'number' },
  running: { filter: 'number' },
  failed: { filter: 'number' },
  reason: { filter: 'text' },
  lastSeen: { filter: 'date' },
  flapping: { filter: 'boolean' },
} as const satisfies Record<keyof ReturnType<typeof moduleStateOf>, FieldUse>;

export const moduleStateView = (integration: Integration) =>
  viewOf(moduleStateOf(integration, Date.now()), MODULE_STATE_FIELDS);

function progressOf({ report, seen, moduleRevision: wanted }: Integration): Progress {
  if (!seen) return 'unseen';
  if (report?.failed === wanted) return 'failed';
  return report?.running === wanted ? 'current' : 'behind';
}

/**
 * Whether reports of a module were too many for the audit trail in the last 24 hours, as when two
 * processes use one credential.
 */
const isFlapping = ({ report }: Integration, now: number): boolean =>
  now - (report?.audited?.lastLeftOut ?? 0) < DAY_MS;

const DAY_MS = 86_400_000;
/** `seen` is rounded down to the hour. */
const HOUR_MS = 3_600_000;
/** How long before a credential expires it should be exchanged: at most a third of its life. */
const noticeMs = (lifeMs: number): number => Math.min(30 * DAY_MS, lifeMs / 3);

/**
 * Whether a module needs attention: it failed, is behind or flaps, was not seen for a day, or is
 * about to lose its last credential. One that was never seen may not exist yet.
 */
export function needsAttention(integration: Integration, now: number): boolean {
  const { active, seen, credentials } = integration;
  if (!active || !seen) return false;
  const hasLasting = credentials?.some(
    ({ createdDate, expires }) =>
      Date.parse(expires) - now > noticeMs(Date.parse(expires) - Date.parse(createdDate)),
  );
  return (
    progressOf(integration) !== 'current' ||
    isFlapping(integration, now) ||
    now - Date.parse(seen) > DAY_MS + HOUR_MS ||
    !hasLasting
  );
}
