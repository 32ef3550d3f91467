import * as v from 'valibot';
import type { Contract } from '../contract/contract.ts';
import { count, responseId, responseTime } from '../contract/fields.ts';
import { listQuery } from '../contract/list-query.ts';
import { AUDITED_ACTIONS } from './audit-entry.ts';

const value = v.optional(v.union([v.string(), v.number(), v.boolean()]));
const values = v.optional(v.array(v.string()));
export const change = v.strictObject({
  field: v.string(),
  from: value,
  to: value,
  added: values,
  removed: values,
});

const POSITION = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z)#[\da-f-]{1,36}$/;

/**
 * Parses the position of an entry in the trail, which is its sort key; undefined if there is no
 * such time.
 */
export function positionOf(text: string): string | undefined {
  const instant = new Date(POSITION.exec(text)?.[1] ?? Number.NaN);
  return !Number.isNaN(instant.getTime()) && text.startsWith(instant.toISOString())
    ? text
    : undefined;
}

export const auditEntryResponse = v.strictObject({
  id: v.pipe(v.string(), v.uuid()),
  time: responseTime,
  actor: v.string(),
  actorId: count,
  action: v.picklist(AUDITED_ACTIONS),
  target: v.string(),
  targetName: v.string(),
  integrationId: v.nullable(responseId),
  integrationName: v.nullable(v.string()),
  fields: v.array(v.string()),
  changes: v.array(change),
  session: v.nullable(v.string()),
  source: v.nullable(v.string()),
  count: v.nullable(count),
});

/** GET /api/audits: who changed what, when and from where; newest entries first by default. */
export const ListAudits = {
  tag: 'Audit trail',
  summary: 'List the audit trail, newest entries first',
  access: { anyRole: ['ROLE_ADMIN'] },
  scope: 'read',
  entityName: 'audit',
  query: listQuery(
    {
      time: 'date',
      actor: 'text',
      actorId: 'number',
      action: { oneOf: AUDITED_ACTIONS },
      target: 'text',
      targetName: 'text',
      integrationId: 'number',
      integrationName: 'text',
      session: 'text',
      source: 'text',
      added: 'text',
      removed: 'text',
    },
    { sortable: ['time'], others: ['id', 'fields', 'changes', 'count'], positionOf },
  ),
  headers: ['Link'],
  response: v.array(auditEntryResponse),
  failures: ['read-budget-spent', 'audit-list-too-long', 'page-too-large'],
} satisfies Contract;
