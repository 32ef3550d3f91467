import { randomUUID } from 'node:crypto';
import type { User } from '../users/user.ts';
import type { Signer } from './signing-keys.ts';
import { ALGORITHM, AUDIENCE, issuer, TOKEN_TYPE, tokenLifetimeSeconds } from './token.ts';

/**
 * Issues an access token with the current roles of the user. `remember` selects the longer
 * lifetime.
 */
export async function issueToken(signer: Signer, user: User, remember: boolean): Promise<string> {
  const lifetime = tokenLifetimeSeconds();
  const issuedAt = Math.floor(Date.now() / 1000);
  const header = { alg: ALGORITHM, typ: TOKEN_TYPE, kid: signer.kid };
  const claims = {
    iss: issuer(),
    aud: AUDIENCE,
    sub: String(user.id),
    iat: issuedAt,
    exp: issuedAt + (remember ? lifetime.remembered : lifetime.usual),
    jti: randomUUID(),
    // OpenID Connect Core 1.0, section 5.1.
    preferred_username: user.login,
    roles: user.authorities,
    accountStamp: user.accountStamp,
    passwordChanges: user.passwordChanges,
  };
  const input = `${encode(header)}.${encode(claims)}`;
  return `${input}.${(await signer.sign(input)).toString('base64url')}`;
}

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
