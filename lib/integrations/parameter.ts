import { type FieldUse, viewOf } from '../contract/entity-fields.ts';
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
 * The fields that clients see, in response order; the view and the list filters are derived from
 * them. A field of DecryptedParameter that is neither here nor `version` does not compile. Nothing
 * filters by confValue: values are secrets, and filtering or sorting by them would leak them.
 */
export const PARAMETER_FIELDS = {
  id: { filter: 'number' },
  integration: {},
  confName: { filter: 'text' },
  confValue: {},
  confDescription: { filter: 'text' },
} as const satisfies Record<Exclude<keyof DecryptedParameter, 'version'>, FieldUse>;

/**
 * The response body for a parameter. It includes the secret value, so only integrators may receive
 * it.
 */
export const parameterView = (parameter: DecryptedParameter) => ({
  ...viewOf(parameter, PARAMETER_FIELDS),
  integration: {
    id: parameter.integration.id,
    name: parameter.integration.name,
    module: moduleView(parameter.integration),
  },
});
