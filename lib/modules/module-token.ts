import { openModuleKeys } from '../tokens/signing-keys.ts';
import { MODULE_AUDIENCE, MODULE_TOKEN_SECONDS, MODULE_TOKEN_TYPE } from '../tokens/token.ts';
import type { KeyedTokenKind } from '../tokens/verify-token.ts';
import { integrationOfClient } from './credential.ts';

/** A module as stated in its token. Its credential may have been deleted since. */
export interface ModuleCaller {
  readonly clientId: string;
  readonly integrationId: number;
}

/** The tokens of modules. */
export const moduleToken = (): KeyedTokenKind<ModuleCaller> => ({
  readKeys: openModuleKeys(),
  type: MODULE_TOKEN_TYPE,
  audience: MODULE_AUDIENCE,
  secondsMax: MODULE_TOKEN_SECONDS,
  isComplete: ({ sub, client_id, integration }) =>
    typeof sub === 'string' &&
    client_id === sub &&
    integration !== undefined &&
    integrationOfClient(sub) === integration,
  callerOf: ({ sub, integration }) => ({
    clientId: sub as string,
    integrationId: integration as number,
  }),
});
