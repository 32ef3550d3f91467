import * as v from 'valibot';
import { count, type ItemDeclaration, text } from '../table/item-kind.ts';
import { idText, type Key } from '../table/keys.ts';

export const sessionsPartition = (userId: number): string => `SESSION#${idText(userId)}`;
export const sessionKey = (userId: number, series: string): Key => ({
  pk: sessionsPartition(userId),
  sk: series,
});
/** The series begins with the time. */
export const sessionItem: ItemDeclaration = {
  pk: 'SESSION#<user id>',
  sk: '<series>',
  name: 'session',
  attributes: () =>
    v.object({
      jti: text,
      startedAt: text,
      ipAddress: text,
      userAgent: text,
      remembered: v.boolean(),
      secondFactor: v.boolean(),
      passwordChanges: count,
      sessionEndings: count,
      expires: count,
    }),
  personal: ['startedAt', 'ipAddress', 'userAgent', 'remembered', 'expires'],
  onForget: 'delete',
  onRestore: 'delete',
};
