import { type FieldUse, viewOf } from '../contract/entity-fields.ts';
import { type Integration, wantedOf } from '../integrations/integration.ts';

/** What a module does, seen from what is wanted of it. */
export const PROGRESS = ['unseen', 'failed', 'behind', 'current'] as const;
type Progress = (typeof PROGRESS)[number];

/** What is wanted of a module, what it runs, and when it was seen last. */
export function moduleStateOf(integration: Integration) {
  const { report: { running, failed, reason } = {}, seen } = integration;
  const progress = progressOf(integration);
  return { progress, wanted: wantedOf(integration), running, failed, reason, lastSeen: seen };
}

/** Its fields, in response order, and how lists filter by them. */
export const MODULE_STATE_FIELDS = {
  progress: { filter: { oneOf: PROGRESS } },
  wanted: { filter: 'number' },
  running: { filter: 'number' },
  failed: { filter: 'number' },
  reason: { filter: 'text' },
  lastSeen: { filter: 'date' },
} as const satisfies Record<keyof ReturnType<typeof moduleStateOf>, FieldUse>;

export const moduleStateView = (integration: Integration) =>
  viewOf(moduleStateOf(integration), MODULE_STATE_FIELDS);

function progressOf(integration: Integration): Progress {
  const { report, seen } = integration;
  const wanted = wantedOf(integration);
  if (!seen) return 'unseen';
  if (report?.failed === wanted) return 'failed';
  return report?.running === wanted ? 'current' : 'behind';
}

const DAY_MS = 86_400_000;
/** `seen` is rounded down to the hour. */
const HOUR_MS = 3_600_000;
/** How long before a credential expires it should be exchanged: at most a third of its life. */
const noticeMs = (lifeMs: number): number => Math.min(30 * DAY_MS, lifeMs / 3);

/**
 * Whether a module needs attention: it failed or is behind, was not seen for a day, or
 * is about to lose its last credential. One that was never seen may not exist yet.
 */
export function needsAttention(integration: Integration, now: number): boolean {
  const { active, seen, credentials = [] } = integration;
  if (!active || !seen) return false;
  const lasting = credentials.filter(
    ({ createdDate, expires }) =>
      Date.parse(expires) - now > noticeMs(Date.parse(expires) - Date.parse(createdDate)),
  );
  return (
    progressOf(integration) !== 'current' ||
    now - Date.parse(seen) > DAY_MS + HOUR_MS ||
    lasting.length === 0
  );
}
