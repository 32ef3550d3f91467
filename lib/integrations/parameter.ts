import { type FieldUse, viewOf } from '../contract/entity-fields.ts';
import { Failure } from '../contract/failure.ts';
import { BLANK } from '../contract/fields.ts';
import type { Version } from '../table/write.ts';
import type { Integration } from './integration.ts';
import { moduleView } from './integration.ts';

/** Stands for a secret in files, which do not have it. */
export interface SecretVersion {
  readonly name: string;
  readonly version: number;
}

/** A parameter with its value, or MASK in place of a secret that was read, and its integration. */
export interface DecryptedParameter {
  readonly id: number;
  readonly integration: Integration;
  readonly confName: string;
  readonly confValue: string;
  readonly confDescription: string | undefined;
  readonly secret?: true | undefined;
  readonly secretVersion?: SecretVersion | undefined;
  readonly version: Version;
}

/** What people read instead of a secret; a change that sends it keeps the secret. */
export const MASK = '********';

/**
 * The fields that clients see, in response order; the view and the list filters are derived from
 * them. A field of DecryptedParameter that is neither here nor among the excluded ones does not
 * compile. Nothing filters by confValue: values are secrets, and filtering or sorting by them would
 * leak them.
 */
export const PARAMETER_FIELDS = {
  id: { filter: 'number' },
  integration: {},
  confName: { filter: 'text' },
  confValue: {},
  confDescription: { filter: 'text' },
} as const satisfies Record<
  Exclude<keyof DecryptedParameter, 'version' | 'secret' | 'secretVersion'>,
  FieldUse
>;

/**
 * The response body for a parameter. It includes the value, so only integrators may receive it.
 * `secret` is stated only where it is true: clients that do not know it see what they always saw.
 */
export const parameterView = (parameter: DecryptedParameter) => ({
  ...viewOf(parameter, PARAMETER_FIELDS),
  integration: {
    id: parameter.integration.id,
    name: parameter.integration.name,
    module: moduleView(parameter.integration),
  },
  ...(parameter.secret && { confValue: MASK, secret: true }),
  secretVersion: parameter.secretVersion,
});

/** Asterisks, also full-width ones, and blanks. */
const ASTERISKS = new RegExp(`^(?:[*\uff0a]|${BLANK.source})*$`, 'u');

/**
 * Whether a value is the mask, or, where it would be a secret, something that was typed into the
 * mask or is left of it: it contains the mask, consists of asterisks and blanks, or has all
 * asterisks of the mask but one at its two ends, since one keystroke can replace one.
 */
export const isMasked = (confValue: string, isSecret: boolean): boolean =>
  confValue === MASK ||
  (isSecret &&
    (confValue.includes(MASK) ||
      ASTERISKS.test(confValue) ||
      confValue.length - confValue.replace(/^\*+|\*+$/g, '').length >= MASK.length - 1));

/** Fails with invalid for the mask, or what is left of it, where a value is needed. */
export function requireNewValue(confValue: string, isSecret: boolean): void {
  if (!isMasked(confValue, isSecret)) return;
  const reason = isSecret
    ? 'a new value, without the mask or its asterisks around it, not of asterisks and blanks alone'
    : 'a new value: the mask is none';
  throw new Failure('invalid', {
    fieldErrors: [{ field: 'confValue', message: 'Pattern', reason }],
  });
}
