import { auditItem } from '../audit/audit-entry.ts';
import {
  credentialItem,
  integrationItem,
  parameterItem,
} from '../integrations/integration-items.ts';
import { mailCountItem } from '../mail/mail-limit.ts';
import { mailItem, resetMailItem } from '../mail/outbox.ts';
import { credentialUseItem } from '../modules/credential.ts';
import { formatItem } from '../table/format.ts';
import {
  type ItemDeclaration,
  type ItemKind,
  itemKind,
  sequenceItem,
  totalItem,
} from '../table/item-kind.ts';
import type { Key } from '../table/keys.ts';
import { readCountItem } from '../table/read-budget.ts';
import { attemptsItem, rejectionItem, sourceItem } from '../throttle/attempt-items.ts';
import { tokenUseItem } from '../tokens/api-token.ts';
import { assertionItem } from '../tokens/assertion.ts';
import { issuerKeysItem } from '../tokens/issuer-keys.ts';
import { notBeforeItem, publicKeyItem } from '../tokens/token.ts';
import { changeCountItem } from '../users/account-limits.ts';
import { armingItem } from '../users/emergency-account.ts';
import { apiTokenItem, sessionItem } from '../users/session-item.ts';
import * as users from '../users/user-items.ts';
import { importedIntegrationItem, importedUserItem } from './import-marker.ts';
import { overviewItem } from './overview/count-overview.ts';
import { planSetItem } from './plan/plan-set.ts';

/**
 * Every kind of item. Permissions, the verification, the deletion of a person's data, the adoption
 * of a restored table and the table in docs/adding-an-endpoint.md follow this list.
 */
const DECLARATIONS = {
  user: users.userItem,
  login: users.loginItem,
  email: users.emailItem,
  identity: users.identityItem,
  administrators: users.rosterItem,
  arming: armingItem,
  integration: integrationItem,
  parameter: parameterItem,
  credential: credentialItem,
  sequence: sequenceItem,
  total: totalItem,
  format: formatItem,
  overview: overviewItem,
  planSet: planSetItem,
  publicKey: publicKeyItem,
  notBefore: notBeforeItem,
  resetKey: users.resetKeyItem,
  pendingEmail: users.pendingEmailItem,
  reads: readCountItem,
  session: sessionItem,
  apiToken: apiTokenItem,
  tokenUse: tokenUseItem,
  changes: changeCountItem,
  mail: mailItem,
  resetMail: resetMailItem,
  mailCount: mailCountItem,
  attempts: attemptsItem,
  rejection: rejectionItem,
  source: sourceItem,
  credentialUse: credentialUseItem,
  issuerKeys: issuerKeysItem,
  assertion: assertionItem,
  importedUser: importedUserItem,
  importedIntegration: importedIntegrationItem,
  audit: auditItem,
} as const satisfies Readonly<Record<string, ItemDeclaration>>;

const mapped = <T>(of: (name: keyof typeof DECLARATIONS) => T) =>
  Object.fromEntries(
    (Object.keys(DECLARATIONS) as (keyof typeof DECLARATIONS)[]).map((name) => [name, of(name)]),
  ) as Readonly<Record<keyof typeof DECLARATIONS, T>>;

/** The kinds by the names that permissions use. */
export const ITEMS = mapped((name) => itemKind(DECLARATIONS[name]));

export const ITEM_KINDS: readonly ItemKind[] = Object.values(ITEMS);

/** The partition keys by what they hold: whole, or up to their `#`. */
export const PARTITION = mapped((name) => ITEMS[name].partition);

/** The prefixes of mails to be sent. */
export const MAIL_PARTITIONS = [PARTITION.mail, PARTITION.resetMail];

/** The kind of the item with this key; undefined if this version knows none. */
export const kindOf = (key: Key): ItemKind | undefined => ITEM_KINDS.find(({ owns }) => owns(key));
