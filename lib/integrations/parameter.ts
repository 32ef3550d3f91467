import type { Version } from '../table/version.ts';
import type { Integration } from './integration.ts';
import { moduleView } from './integration.ts';

/** A parameter with its decrypted value and its integration. */
export interface DecryptedParameter {
  readonly id: number;
  readonly integration: Integration;
  readonly confName: string;
  readonly confValue: string;
  readonly confDescription: string | undefined;
  readonly version: Version;
}

/**
 * The response body for a parameter. It includes the secret value, so only integrators may receive
 * it.
 */
export function parameterView({
  id,
  integration,
  confName,
  confValue,
  confDescription,
}: DecryptedParameter) {
  return {
    id,
    integration: { id: integration.id, name: integration.name, module: moduleView(integration) },
    confName,
    confValue,
    confDescription: confDescription ?? null,
  };
}
