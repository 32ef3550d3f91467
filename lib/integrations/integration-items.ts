import * as v from 'valibot';
import { count, type ItemDeclaration, id, text, whole } from '../table/item-kind.ts';
import { isEntity, type Key } from '../table/keys.ts';

const identity = v.object({ issuer: text, subject: text, audience: text });

export const integrationItem: ItemDeclaration = {
  pk: 'INTEGRATION',
  sk: '<id>',
  name: 'integration',
  attributes: () =>
    v.object({
      id,
      name: text,
      shortName: text,
      integrationType: text,
      active: v.boolean(),
      managedBy: v.optional(text),
      module: v.optional(
        v.object({
          needsRestart: v.boolean(),
          needsRestartSince: v.optional(count),
          changes: count,
        }),
      ),
      parameterCount: whole,
      parametersEver: whole,
      parameterBytes: v.optional(count),
      version: text,
      revision: count,
      moduleRevision: count,
      credentials: v.optional(
        v.array(v.object({ clientId: text, expires: text, identity: v.optional(identity) })),
      ),
      report: v.optional(
        v.object({
          running: whole,
          failed: v.optional(whole),
          audited: v.optional(v.object({ since: count, entries: count })),
        }),
      ),
      seen: v.optional(text),
    }),
  personal: ['credentials'],
  matches: isEntity,
  onForget: 'rename',
  onRestore: 'change',
};

export const credentialKey = (clientId: string): Key => ({
  pk: `CREDENTIAL#${clientId}`,
  sk: 'CREDENTIAL',
});
/**
 * The hash of the secret or the identity, apart from the integration: many functions may change
 * the integration, and none of them can make a credential.
 */
export const credentialItem: ItemDeclaration = {
  pk: 'CREDENTIAL#<client id>',
  sk: 'CREDENTIAL',
  name: 'credential of a module',
  attributes: () => v.object({ hash: text, expires: count }),
  onForget: 'keep',
  onRestore: 'change',
};

/** The id is the id of the integration * 1,000,000 + its own number. */
export const parameterItem: ItemDeclaration = {
  pk: 'CONF',
  sk: '<id>',
  name: 'parameter',
  attributes: () =>
    v.object({
      id,
      confName: text,
      version: text,
      bytes: v.optional(count),
      secret: v.optional(v.literal(true)),
      secretVersion: v.optional(v.object({ name: text, version: count })),
    }),
  matches: isEntity,
  onForget: 'keep',
  onRestore: 'keep',
};
