import * as v from 'valibot';
import type { ModuleIssuer } from '../../lib/modules/module-issuer.ts';
import { algorithms, url } from './issuers.ts';
import { setting, unrepeated } from './setting.ts';

/* The platforms on which modules run. */

const moduleIssuer = v.strictObject({
  issuer: setting(
    'The URL of the platform, exactly as its tokens state it in `iss`.',
    url('a platform'),
    { example: 'https://token.actions.githubusercontent.com' },
  ),
  audience: setting(
    'What tokens for this service state in `aud`, unless a credential names something else.',
    v.pipe(v.string(), v.minLength(1), v.maxLength(300)),
    { example: 'https://gatehouse.example.com' },
  ),
  keys: setting('Where the platform publishes its keys (`jwks_uri`).', url('a JWK Set'), {
    example: 'https://token.actions.githubusercontent.com/.well-known/jwks',
  }),
  algorithms,
  ageMinutesMaximum: v.optional(
    setting(
      'How many minutes ago a token may have been issued. Kubernetes gives out one for some ' +
        'minutes; all other platforms issue one for each request.',
      v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(60)),
      { example: 10 },
    ),
    5,
  ),
} satisfies Record<keyof ModuleIssuer, v.GenericSchema>);

export const moduleIssuers = v.optional(
  setting(
    'The platforms with whose tokens [modules](modules.md#modules-without-a-secret) authenticate ' +
      'themselves. None unless this is set.',
    v.pipe(
      v.array(moduleIssuer),
      unrepeated('issuer', (each) => each.issuer),
    ),
  ),
  [],
);
