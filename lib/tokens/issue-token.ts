import { randomUUID } from 'node:crypto';
import type { Table } from '../table/table.ts';
import type { Session } from '../users/session-item.ts';
import type { User } from '../users/user.ts';
import { openSigner, type Signer } from './signing-keys.ts';
import {
  ALGORITHM,
  AUDIENCE,
  issuer,
  MODULE_AUDIENCE,
  MODULE_TOKEN_SECONDS,
  MODULE_TOKEN_TYPE,
  TOKEN_TYPE,
} from './token.ts';

/** Opens the issuer of people's tokens. It fails as `Signer` does. */
export function openIssuer(table: Table) {
  const signer = openSigner(table);
  return async (user: User, session: Session) => issueToken(await signer(), user, session);
}

/** Issues the access token of a session. It states the current roles for other services. */
async function issueToken(
  signer: Signer,
  user: User,
  { jti, startedAt, expires }: Session,
): Promise<string> {
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
  };
  return signed(signer, TOKEN_TYPE, claims);
}

/** Issues an access token of the module with this client id. `now` is in milliseconds. */
export function issueModuleToken(
  signer: Signer,
  integrationId: number,
  clientId: string,
  now: number,
): Promise<string> {
  const iat = Math.floor(now / 1000);
  return signed(signer, MODULE_TOKEN_TYPE, {
    iss: issuer(),
    aud: MODULE_AUDIENCE,
    sub: clientId,
    client_id: clientId,
    iat,
    exp: iat + MODULE_TOKEN_SECONDS,
    jti: randomUUID(),
    integration: integrationId,
  });
}

async function signed(signer: Signer, typ: string, claims: object): Promise<string> {
  const header = { alg: ALGORITHM, typ, kid: signer.kid };
  const input = `${encode(header)}.${encode(claims)}`;
  return `${input}.${(await signer.sign(input)).toString('base64url')}`;
}

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
