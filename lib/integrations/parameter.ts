import type { Version } from '../table/version.ts';
import type { Integration } from './integration.ts';
import { moduleView } from './integration.ts';

/** A parameter in the clear, with the integration that it belongs to. */
export interface OpenParameter {
  readonly id: number;
  readonly integration: Integration;
  readonly confName: string;
  readonly confValue: string;
  readonly confDescription: string | undefined;
  readonly version: Version;
}

/** What the holder of a role that integrates may see of a parameter: all of it. */
export function parameterView({ id, integration, confName, confValue, confDescription }: OpenParameter) {
  return {
    id,
    integration: { id: integration.id, name: integration.name, module: moduleView(integration) },
    confName,
    confValue,
    confDescription: confDescription ?? null,
  };
}
