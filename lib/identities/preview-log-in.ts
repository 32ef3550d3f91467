import * as v from 'valibot';
import type { Table } from '../table/table.ts';
import { type Claims, subject } from '../tokens/assertion.ts';
import { identityGuardKey, loginGuardKey } from '../users/user-items.ts';
import { findUser, guardKeyOf } from '../users/user-table.ts';
import { hasSecondFactor, newLogin, rolesBy, verifiedAddress } from './id-token.ts';
import { type Issuer, requireIssuer } from './issuer.ts';

interface Tried {
  readonly issuer: string;
  readonly claims: Claims;
  /** In place of the claim with the groups. */
  readonly groups?: readonly string[] | undefined;
}

/**
 * What a log-in with these claims would do now, so that settings can be tried before anybody
 * depends on them. The state of the account is not considered: whether it is deactivated, requires
 * a second factor or is the last administrator. Fails with invalid for an unknown issuer, and with
 * invalid-grant as a log-in would for groups that the token does not contain.
 */
export async function previewLogIn(
  table: Table,
  issuers: readonly Issuer[],
  { issuer: iss, claims: stated, groups }: Tried,
) {
  const issuer = requireIssuer(issuers, iss);
  const claims = { ...stated, ...(groups && { [issuer.groupsClaim]: groups }) };
  const { sub } = claims as Claims;
  const roles = rolesBy(claims, issuer);
  const guard = v.is(subject, sub) ? await table.get(identityGuardKey(iss, sub)) : undefined;
  const user = guard && (await findUser(table, guard.id as number));
  const login = newLogin(claims, issuer);
  const address = verifiedAddress(claims);
  const isTaken = address !== undefined && !!(await table.get(guardKeyOf(address)));
  const isMapped = issuer.creates === 'mapped' && !!roles?.length && v.is(subject, sub);
  return {
    roles: roles ?? null,
    account: user?.login ?? null,
    created: !user && isMapped && login !== undefined && !(await table.get(loginGuardKey(login))),
    login: login ?? null,
    email: address === undefined || isTaken ? null : address,
    secondFactor: hasSecondFactor(claims, issuer),
  };
}
