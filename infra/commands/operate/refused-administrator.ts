import type { Refused } from '../../../lib/operations/administrators/recover-administrator.ts';

/** Explains why a command changes nothing about an account. */
export const refusalOf = (refused: Refused, login: string, tableName: string): Error =>
  new Error(`${reasonOf(refused, login, tableName)} Nothing was changed.`);

function reasonOf(refused: Refused, login: string, tableName: string): string {
  if (refused.outcome === 'unknown-login') return `${tableName} has no account ${login}.`;
  if (refused.outcome === 'no-factor') return `${login} has no second factor.`;
  const { activated, authorities } = refused.user;
  const state = activated ? 'activated' : 'deactivated';
  const roles = authorities.length > 0 ? `the roles ${authorities.join(', ')}` : 'no roles';
  return `${login} is not an activated administrator: the account is ${state} and has ${roles}.`;
}
