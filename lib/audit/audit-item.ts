import * as v from 'valibot';
import { count, type ItemDeclaration, text } from '../table/item-kind.ts';
import type { Key } from '../table/keys.ts';

const PARTITION = 'AUDIT#';
export const auditPartition = (month: string): string => `${PARTITION}${month}`;
export const auditKey = (time: string, entryId: string): Key => ({
  pk: auditPartition(time.slice(0, 7)),
  sk: `${time}#${entryId}`,
});
/**
 * Permanent entries have their own partition: finding them among the monthly ones would mean
 * reading every month.
 */
export const PERMANENT_AUDIT_PARTITION = 'AUDIT#PERMANENT';
export const permanentAuditKey = (time: string, entryId: string): Key => ({
  pk: PERMANENT_AUDIT_PARTITION,
  sk: `${time}#${entryId}`,
});
export const auditItem: ItemDeclaration = {
  pk: ['AUDIT#<month>', PERMANENT_AUDIT_PARTITION],
  sk: '<time>#<entry id>',
  name: 'audit entry',
  attributes: () =>
    v.object({
      time: text,
      actor: text,
      actorId: count,
      action: text,
      target: text,
      targetName: text,
      integrationName: v.optional(text),
      changes: v.optional(v.array(v.object({ field: text }))),
      session: v.optional(text),
      source: v.optional(text),
      count: v.optional(count),
      expires: v.optional(count),
    }),
  personal: [
    'time',
    'actor',
    'actorId',
    'action',
    'target',
    'targetName',
    'integrationName',
    'fields',
    'changes',
    'session',
    'source',
  ],
  matches: ({ pk, sk }) =>
    pk === PERMANENT_AUDIT_PARTITION || sk.startsWith(pk.slice(PARTITION.length)),
  onForget: 'rename',
  onRestore: 'keep',
};
