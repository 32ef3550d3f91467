import type { LoginThrottle } from '../accounts/login-throttle.ts';
import type { Source } from '../accounts/source.ts';
import { Failure } from '../contract/failure.ts';
import type { Integration } from '../integrations/integration.ts';
import { integrationOf } from '../integrations/integration-table.ts';
import { ignoreUnavailable } from '../table/change.ts';
import { entityKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { EXISTS, set } from '../table/write.ts';
import { issueModuleToken } from '../tokens/issue-token.ts';
import type { Signer } from '../tokens/signing-keys.ts';
import {
  activeCredential,
  hourOf,
  integrationOfClient,
  isSecret,
  isSecretOf,
} from './credential.ts';
import type { TokenRequest } from './token-contracts.ts';

interface Services {
  readonly table: Table;
  readonly throttle: LoginThrottle;
  readonly signer: () => Promise<Signer>;
}

/** A token of a module. */
interface ExchangedCredential {
  readonly token: string;
  readonly clientId: string;
}

/**
 * Exchanges the credential of a module for a token. Fails with unsupported-grant, with malformed if
 * the client authenticates itself in two ways, with invalid-client, with too-many-attempts instead
 * once a source has sent too many that were rejected, and with unavailable. A right credential is
 * accepted from any source.
 */
export async function exchangeCredential(
  { table, throttle, signer }: Services,
  source: Source,
  authorization: string | undefined,
  request: TokenRequest,
): Promise<ExchangedCredential> {
  if (request.grant_type !== 'client_credentials') throw new Failure('unsupported-grant');
  const { clientId, secret } = credentialsOf(authorization, request);
  const integrationId = integrationOfClient(clientId);
  // An id that no integration has is read instead of none, so that all rejections cost the same.
  const { items, count } = await throttle.beginExchange(source, [
    entityKey('INTEGRATION', integrationId ?? 0),
  ]);
  const [item] = items;
  const integration = item && integrationOf(item);
  const now = Date.now();
  const credential = integration && activeCredential(integration, clientId, now);
  if (!credential || !isSecret(secret) || !isSecretOf(credential, secret)) {
    await count();
    throw new Failure('invalid-client');
  }
  await ignoreUnavailable(noteUse(table, integration, clientId, now));
  return { token: await issueModuleToken(await signer(), integration.id, clientId, now), clientId };
}

/** The client id and the secret, in the form or by the Basic scheme (RFC 6749, 2.3.1). */
function credentialsOf(
  authorization: string | undefined,
  { client_id: id, client_secret: inForm }: TokenRequest,
): { clientId: string; secret: string } {
  const [, encoded] = /^Basic +([A-Za-z0-9+/=]{1,400})$/i.exec(authorization ?? '') ?? [];
  if (encoded === undefined) {
    if (id === undefined || inForm === undefined) throw new Failure('invalid-client');
    return { clientId: id, secret: inForm };
  }
  const [user = '', password = ''] = Buffer.from(encoded, 'base64').toString().split(':');
  const [clientId, secret] = [formDecoded(user), formDecoded(password)];
  if (inForm !== undefined || (id !== undefined && id !== clientId)) throw new Failure('malformed');
  return { clientId, secret };
}

const formDecoded = (text: string): string => new URLSearchParams(`x=${text}`).get('x') ?? '';

/** Stores the hour in which a credential was used last; not more often. */
async function noteUse(
  table: Table,
  { id, credentials = [], credentialUse = {} }: Integration,
  clientId: string,
  now: number,
): Promise<void> {
  const hour = hourOf(now);
  if (credentialUse[clientId] === hour) return;
  const kept = credentials.flatMap((credential) => {
    const used = credentialUse[credential.clientId];
    return used ? [[credential.clientId, used] as const] : [];
  });
  const use = { ...Object.fromEntries(kept), [clientId]: hour };
  await table.update(set(entityKey('INTEGRATION', id), { credentialUse: use }, EXISTS));
}
