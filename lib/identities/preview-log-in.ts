import { Failure } from '../contract/failure.ts';
import type { Table } from '../table/table.ts';
import { identityGuardKey, loginGuardKey } from '../users/user-items.ts';
import { isLogin } from '../users/user-schema.ts';
import { findUser, isReservedLogin } from '../users/user-table.ts';
import type { Claims } from './assertion.ts';
import { hasSecondFactor, rolesBy, verifiedAddress } from './id-token.ts';
import type { Issuer } from './issuer.ts';

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
  const issuer = issuers.find((known) => known.issuer === iss);
  if (!issuer)
    throw new Failure('invalid', { fieldErrors: [{ field: 'issuer', message: 'Pattern' }] });
  const claims = { ...stated, ...(groups && { [issuer.groupsClaim]: groups }) };
  const { sub, [issuer.loginClaim]: login } = claims as Claims;
  const roles = rolesBy(claims, issuer);
  const guard =
    typeof sub === 'string' && /^[\x20-\x7e]{1,255}$/.test(sub)
      ? await table.get(identityGuardKey(iss, sub))
      : undefined;
  const user = guard && (await findUser(table, guard.id as number));
  const newLogin = typeof login === 'string' && isLogin(login) ? login : null;
  const isMapped = issuer.creates === 'mapped' && !!roles?.length;
  return {
    roles: roles ?? null,
    account: user?.login ?? null,
    created: !user && isMapped && newLogin !== null && (await isFree(table, newLogin)),
    login: newLogin,
    email: verifiedAddress(claims) ?? null,
    secondFactor: hasSecondFactor(claims, issuer),
  };
}

/** Whether a new account can have the login. */
const isFree = async (table: Table, login: string): Promise<boolean> =>
  !isReservedLogin(login) && !(await table.get(loginGuardKey(login)));
