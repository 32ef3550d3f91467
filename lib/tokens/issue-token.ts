import type { Table } from '../table/table.ts';
import type { IssuedToken } from '../users/token-validity.ts';
import type { User } from '../users/user.ts';
import { openSigner, type Signer } from './signing-keys.ts';
import { ALGORITHM, AUDIENCE, issuer, TOKEN_TYPE } from './token.ts';

/** A token as it is to be issued. */
type TokenToIssue = Pick<IssuedToken, 'jti' | 'expires'> & {
  /** ISO 8601, UTC. */
  readonly startedAt: string;
};

/** Opens the issuer of tokens under the signing key of the stack. It fails as `Signer` does. */
export function openIssuer(table: Table) {
  const signer = openSigner(table);
  return async (user: User, token: TokenToIssue) => issueToken(await signer(), user, token);
}

/** Issues an access token of the user. It states the current roles for other services. */
export async function issueToken(
  signer: Signer,
  user: User,
  { jti, startedAt, expires }: TokenToIssue,
): Promise<string> {
  const header = { alg: ALGORITHM, typ: TOKEN_TYPE, kid: signer.kid };
  const claims = {
    iss: issuer(),
    aud: AUDIENCE,
    sub: String(user.id),
    iat: Math.floor(Date.parse(startedAt) / 1000),
    exp: expires,
    jti,
    // OpenID Connect Core 1.0, section 5.1.
    preferred_username: user.login,
    roles: user.authorities,
    accountStamp: user.accountStamp,
    passwordChanges: user.passwordChanges,
    sessionEndings: user.sessionEndings ?? 0,
  };
  const input = `${encode(header)}.${encode(claims)}`;
  return `${input}.${(await signer.sign(input)).toString('base64url')}`;
}

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
