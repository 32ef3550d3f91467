import { Failure } from '../contract/failure.ts';
import type { Source } from '../contract/source.ts';
import { recentValues } from '../runtime/execution-environment.ts';
import { ignoreUnavailable } from '../table/change.ts';
import type { Key } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import { set } from '../table/write.ts';
import type { LoginThrottle } from '../throttle/login-throttle.ts';
import { issueModuleToken } from '../tokens/issue-token.ts';
import { hourOf } from '../tokens/secret.ts';
import { openModuleSigner } from '../tokens/signing-keys.ts';
import { MODULE_TOKEN_SECONDS } from '../tokens/token.ts';
import {
  type ConfirmedCredential,
  confirmedCredential,
  credentialUseKey,
  integrationOfClient,
  isSecret,
  isSecretOf,
  keysOfCredential,
} from './credential.ts';
import type { ClientCredentials } from './credential-contracts.ts';

export interface ExchangeServices {
  readonly table: Table;
  readonly throttle: LoginThrottle;
  readonly issue: Issue;
}

/** Issues a token of the module of an integration with this credential. */
type Issue = (
  credential: ConfirmedCredential,
  now: number,
) => Promise<Pick<ExchangedCredential, 'token' | 'expiresInSeconds'>>;

/** How old a token may be that is given out again, and how many are remembered. */
const AGE_MS_MAX = 5 * 60_000;
const TOKENS_MAX = 100;

/**
 * Opens what the exchange of credentials needs. A token is given out again for some minutes: each
 * one costs a signature of KMS, and a module may ask for one before each poll.
 */
export function openExchange(table: Table, throttle: LoginThrottle): ExchangeServices {
  const signer = openModuleSigner();
  const issued = recentValues<{ readonly token: string; readonly at: number }>(
    TOKENS_MAX,
    AGE_MS_MAX,
  );
  return {
    table,
    throttle,
    async issue({ clientId, expires, integration }, now) {
      let given = issued.get(clientId);
      if (!given) {
        const token = await issueModuleToken(await signer(), integration.id, clientId, now);
        given = { token, at: now };
        issued.set(clientId, given);
      }
      const age = Math.ceil((now - given.at) / 1000);
      // The token ends with its credential.
      const credentialSeconds = Math.floor((Date.parse(expires) - now) / 1000);
      const expiresInSeconds = Math.min(MODULE_TOKEN_SECONDS - age, credentialSeconds);
      return { token: given.token, expiresInSeconds };
    },
  };
}

/** A token of a module. */
export interface ExchangedCredential {
  readonly token: string;
  readonly expiresInSeconds: number;
  readonly clientId: string;
}

/**
 * Exchanges the credential of a module for a token. Fails with malformed if the client
 * authenticates itself in two ways, with invalid-client, with too-many-attempts instead
 * once a source has sent too many that were rejected, and with unavailable. A valid credential
 * is accepted from any source.
 */
export async function exchangeCredential(
  services: ExchangeServices,
  source: Source,
  authorization: string | undefined,
  request: ClientCredentials,
): Promise<ExchangedCredential> {
  const { clientId, secret } = credentialsOf(authorization, request);
  const { items, count } = await services.throttle.begin(
    'MODULES',
    source,
    keysOfExchange(clientId),
  );
  const [, , used] = items;
  const now = Date.now();
  const credential = confirmedCredential(items, clientId, now);
  if (!credential || !isSecret(secret) || !isSecretOf(credential, secret)) {
    await count();
    throw new Failure('invalid-client');
  }
  return issueFor(services, credential, used, now);
}

/**
 * The keys of the items that confirm a credential, and of its last use. An unknown client id reads
 * keys that no item has, so that every rejection takes equally long.
 */
export function keysOfExchange(clientId: string): Key[] {
  const integrationId = integrationOfClient(clientId);
  const known = integrationId === undefined ? '' : clientId;
  return [...keysOfCredential(integrationId ?? 0, known), credentialUseKey(known)];
}

/** Issues a token with a credential that was accepted, and stores when that was. */
export async function issueFor(
  { table, issue }: ExchangeServices,
  credential: ConfirmedCredential,
  used: Item | undefined,
  now: number,
): Promise<ExchangedCredential> {
  await ignoreUnavailable(recordUse(table, credential, used, now));
  return { ...(await issue(credential, now)), clientId: credential.clientId };
}

/** The client id and the secret, in the form or by the Basic scheme (RFC 6749, 2.3.1). */
function credentialsOf(
  authorization: string | undefined,
  { client_id: id, client_secret: inForm }: ClientCredentials,
): { clientId: string; secret: string } {
  if (!authorization?.match(/^Basic\b/i)) {
    if (id === undefined || inForm === undefined) throw new Failure('invalid-client');
    return { clientId: id, secret: inForm };
  }
  const decoded = Buffer.from(authorization.slice('Basic'.length), 'base64').toString();
  const colon = decoded.indexOf(':');
  const clientId = formDecoded(decoded.slice(0, colon));
  const secret = formDecoded(decoded.slice(colon + 1));
  if (inForm !== undefined || (id !== undefined && id !== clientId)) throw new Failure('malformed');
  return { clientId, secret };
}

/** Keeps a `+`: it would be a space, which no client id or secret has. Fails with invalid-client. */
function formDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Failure('invalid-client');
  }
}

/**
 * Stores the hour in which a credential was used last; not more often. Of concurrent uses, any may
 * be the last one.
 */
async function recordUse(
  table: Table,
  { clientId, expires }: ConfirmedCredential,
  used: Item | undefined,
  now: number,
): Promise<void> {
  const lastUsed = hourOf(now);
  if (used?.lastUsed === lastUsed) return;
  const attributes = { lastUsed, expires: Math.ceil(Date.parse(expires) / 1000) };
  await table.update(set(credentialUseKey(clientId), attributes));
}
