import { Failure } from '../contract/failure.ts';
import type { Integration, ModuleIdentity, StoredCredential } from '../integrations/integration.ts';
import { credentialKey } from '../integrations/integration-items.ts';
import {
  auditEventForIntegration,
  findIntegration,
  integrationChangedUnseen,
} from '../integrations/integration-table.ts';
import type { Table } from '../table/table.ts';
import { put, remove } from '../table/write.ts';
import { expiryOf, hashOfSecret } from '../tokens/secret.ts';
import type { AuthorizedCaller } from '../users/caller.ts';
import {
  activeCredentials,
  CREDENTIALS_MAX,
  credentialUseKey,
  hashOfIdentity,
  newClientId,
  newClientSecret,
} from './credential.ts';
import type { NewCredential } from './credential-contracts.ts';
import type { ModuleIssuer } from './module-issuer.ts';

/** A credential lives for a year unless its creator wants less: whoever runs a module replaces it. */
const LIFE_DAYS_MAX = 365;

/** A new credential, with its secret unless it has an identity. The secret is stored nowhere. */
interface CreatedCredential {
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly expires: string;
}

/**
 * Creates a credential of the module of an integration. Those that have expired are removed. Fails
 * with not-found, too-many-credentials, forbidden, and with invalid for an unknown issuer, and for
 * a time that has passed or lies further ahead than LIFE_DAYS_MAX.
 */
export function createCredential(
  table: Table,
  caller: AuthorizedCaller,
  integrationId: number,
  { expires, identity: wanted }: NewCredential,
  issuers: readonly ModuleIssuer[],
): Promise<CreatedCredential> {
  const clientId = newClientId(integrationId);
  const identity = wanted && withAudience(wanted, issuers);
  const clientSecret = identity ? undefined : newClientSecret();
  return caller.change({
    load: () => findIntegration(table, integrationId),
    decide({ loaded: before, callerUser, now }) {
      if (!before) throw new Failure('not-found');
      const active = activeCredentials(before, now);
      if (active.length >= CREDENTIALS_MAX) throw new Failure('too-many-credentials');
      const credential: StoredCredential = {
        clientId,
        createdDate: new Date(now).toISOString(),
        createdBy: callerUser.login,
        expires: new Date(expiryOf(expires, LIFE_DAYS_MAX, now)).toISOString(),
        ...(identity && { identity }),
      };
      const after: Integration = { ...before, credentials: [...active, credential] };
      return {
        writes: [
          integrationChangedUnseen(before, after),
          put(credentialKey(clientId), {
            hash: identity ? hashOfIdentity(identity) : hashOfSecret(clientSecret as string),
            expires: Math.ceil(Date.parse(credential.expires) / 1000),
          }),
        ],
        result: { clientId, ...(clientSecret && { clientSecret }), expires: credential.expires },
        event: auditEventForIntegration('credential.created', before, [
          { field: 'credentials', added: [clientId] },
        ]),
      };
    },
  });
}

/** The identity with an audience. Fails with invalid for an issuer that is not in the settings. */
function withAudience(
  { issuer, subject, audience }: NonNullable<NewCredential['identity']>,
  issuers: readonly ModuleIssuer[],
): ModuleIdentity {
  const known = issuers.find((each) => each.issuer === issuer);
  if (!known) {
    const reason = 'an issuer in the setting moduleIssuers';
    throw new Failure('invalid', {
      fieldErrors: [{ field: 'identity.issuer', message: 'Pattern', reason }],
    });
  }
  return { issuer, subject, audience: audience ?? known.audience };
}

/** The credentials of a module that have not expired, as clients see them. Fails with not-found. */
export async function listCredentials(
  table: Table,
  caller: AuthorizedCaller,
  integrationId: number,
) {
  const integration = await findIntegration(table, integrationId);
  if (!integration) throw new Failure('not-found');
  const active = activeCredentials(integration, Date.now());
  // The integration can be large: an unauthorized caller causes no further reads.
  await caller.requireAuthorized();
  const uses = await table.getAll(active.map(({ clientId }) => credentialUseKey(clientId)));
  return active.map(({ clientId, createdDate, createdBy, expires, identity }, index) => ({
    clientId,
    createdDate,
    createdBy,
    expires,
    lastUsed: (uses[index]?.lastUsed as string | undefined) ?? null,
    ...(identity && { identity }),
  }));
}

/** Deletes a credential. Fails with not-found, forbidden. */
export function deleteCredential(
  table: Table,
  caller: AuthorizedCaller,
  integrationId: number,
  clientId: string,
): Promise<void> {
  return caller.change({
    load: () => findIntegration(table, integrationId),
    decide({ loaded: before }) {
      if (!before?.credentials?.some((each) => each.clientId === clientId))
        throw new Failure('not-found');
      const others = before.credentials.filter((each) => each.clientId !== clientId);
      const after: Integration = { ...before, credentials: others };
      return {
        writes: [integrationChangedUnseen(before, after), remove(credentialKey(clientId))],
        result: undefined,
        event: auditEventForIntegration('credential.deleted', before, [
          { field: 'credentials', removed: [clientId] },
        ]),
      };
    },
  });
}
