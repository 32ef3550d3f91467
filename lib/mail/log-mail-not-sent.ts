import { logError } from '../runtime/log.ts';

/** Logs and counts a mail that was not sent. The context has no address. */
export function logMailNotSent(
  what: 'noticeNotSent' | 'invitationNotSent' | 'resetNotSent',
  error: unknown,
  context: { readonly userId?: number } = {},
): void {
  logError(what, error, { ...context, mailsNotSent: 1 }, { field: 'mailsNotSent', unit: 'Count', dimensions: [[]] });
}
