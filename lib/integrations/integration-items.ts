import * as v from 'valibot';
import { count, type ItemDeclaration, id, text, whole } from '../table/item-kind.ts';
import { isEntity } from '../table/keys.ts';

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
      revisionsApart: v.optional(count),
      credentials: v.optional(v.array(v.object({ clientId: text, hash: text, expires: text }))),
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
    }),
  matches: isEntity,
  onForget: 'keep',
  onRestore: 'keep',
};
