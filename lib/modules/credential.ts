import { timingSafeEqual } from 'node:crypto';
import * as v from 'valibot';
import { moduleName } from '../audit/audit-entry.ts';
import { idFromText } from '../contract/fields.ts';
import type { Integration, ModuleIdentity, StoredCredential } from '../integrations/integration.ts';
import { credentialKey } from '../integrations/integration-items.ts';
import { integrationOf } from '../integrations/integration-table.ts';
import { count, type ItemDeclaration, text } from '../table/item-kind.ts';
import { entityKey, type Key } from '../table/keys.ts';
import type { Item } from '../table/table.ts';
import { hasChecksum, hashOfSecret, newSecret, randomDigits } from '../tokens/secret.ts';

/* The credentials of modules. */

const PREFIX = 'ghm_';
const SECRET = /^ghm_[0-9A-Za-z]{49}$/;
const CLIENT_ID = /^module-(\d{1,16})-[0-9A-Za-z]{12}$/;

/** One beside the present one, so that it can be replaced without a gap. */
export const CREDENTIALS_MAX = 2;

export const newClientSecret = (): string => newSecret(PREFIX);

/** Whether a text has the form of a secret and its checksum is right. */
export const isSecret = (text: string): boolean => SECRET.test(text) && hasChecksum(text, PREFIX);

/** A new client id of the module of an integration. */
export const newClientId = (integrationId: number): string =>
  moduleName(integrationId, randomDigits(9, 12).slice(-12));

/** The id of the integration whose module has this client id; undefined if no module can. */
export function integrationOfClient(clientId: string): number | undefined {
  return idFromText(CLIENT_ID.exec(clientId)?.[1] ?? '');
}

/** The keys of the items that confirm a credential. */
export const keysOfCredential = (integrationId: number, clientId: string): [Key, Key] => [
  entityKey('INTEGRATION', integrationId),
  credentialKey(clientId),
];

/** A credential that has not expired, by both of its items. */
export interface ConfirmedCredential extends StoredCredential {
  /** SHA-256 of the secret or the identity. */
  readonly hash: string;
  readonly integration: Integration;
}

/**
 * The credential if the integration lists it, it has an item of its own and neither has expired;
 * otherwise undefined.
 */
export function confirmedCredential(
  [integrationItem, item]: readonly (Item | undefined)[],
  clientId: string,
  now: number,
): ConfirmedCredential | undefined {
  if (!integrationItem || !item) return undefined;
  const integration = integrationOf(integrationItem);
  const listed = activeCredentials(integration, now).find((each) => each.clientId === clientId);
  // Only the creation of a credential writes this item, so its expiry counts as well.
  const isConfirmed = now / 1000 < (item.expires as number);
  return listed && isConfirmed ? { ...listed, hash: item.hash as string, integration } : undefined;
}

/** The credentials that have not expired. `now` is in milliseconds since 1970. */
export const activeCredentials = (
  { credentials = [] }: Pick<Integration, 'credentials'>,
  now: number,
): StoredCredential[] => credentials.filter(({ expires }) => Date.parse(expires) > now);

/** Whether this is the secret of a credential. */
export const isSecretOf = ({ hash }: ConfirmedCredential, secret: string): boolean =>
  timingSafeEqual(Buffer.from(hash), Buffer.from(hashOfSecret(secret)));

/** How an identity is stored where only the creation of a credential can write. */
export const hashOfIdentity = ({ issuer, subject, audience }: ModuleIdentity): string =>
  hashOfSecret(JSON.stringify([issuer, subject, audience]));

/** The identity of a credential without a secret, as it was created. */
export const identityOf = ({ identity, hash }: ConfirmedCredential): ModuleIdentity | undefined =>
  identity && hashOfIdentity(identity) === hash ? identity : undefined;

export const credentialUseKey = (clientId: string): Key => ({
  pk: `CREDENTIAL-USE#${clientId}`,
  sk: 'USE',
});
export const credentialUseItem: ItemDeclaration = {
  pk: 'CREDENTIAL-USE#<client id>',
  sk: 'USE',
  name: 'last use of a credential of a module',
  attributes: () => v.object({ lastUsed: text, expires: count }),
  onForget: 'keep',
  onRestore: 'keep',
};
