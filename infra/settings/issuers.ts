import * as v from 'valibot';
import { ROLES } from '../../lib/contract/contract.ts';
import type { Issuer } from '../../lib/identities/issuer.ts';
import type { ModuleIssuer } from '../../lib/modules/module-issuer.ts';
import { distinct, matching, setting, unrepeated } from './setting.ts';

/* The OpenID providers with which people log in. */

export const url = (what: string) =>
  v.pipe(
    v.string(),
    v.url(`must be the URL of ${what}`),
    v.check((text) => !/[?#]/.test(text), 'must be a URL without ? and #'),
    v.maxLength(300),
  );

const claim = matching(/^[\w:./-]{1,100}$/, 'must be the name of a claim');

/** Algorithms with a public key that aws-jwt-verify knows. */
export const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'EdDSA'] as const;

export const algorithms = v.optional(
  setting(
    'The algorithms with which the provider signs.',
    distinct('algorithm', v.picklist(ALGORITHMS)),
    { example: ['ES256'] },
  ),
  ['RS256'],
);

const groups = distinct('group', v.pipe(v.string(), v.minLength(1), v.maxLength(200)));

const issuer = v.strictObject({
  issuer: setting(
    'The URL of the provider, exactly as its tokens state it in `iss`.',
    url('a provider'),
    { example: 'https://login.example.com/realms/company' },
  ),
  name: setting(
    'What people know it as: the console offers to log in with it.',
    v.pipe(v.string(), v.minLength(1), v.maxLength(50)),
    { example: 'Company account' },
  ),
  clientId: setting(
    'The id under which the provider knows the console and other clients, in `aud` of its tokens.',
    v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
    { example: 'gatehouse' },
  ),
  authorizationEndpoint: setting('Where browsers log in.', url('an endpoint'), {
    example: 'https://login.example.com/realms/company/protocol/openid-connect/auth',
  }),
  tokenEndpoint: setting('Where browsers exchange the code.', url('an endpoint'), {
    example: 'https://login.example.com/realms/company/protocol/openid-connect/token',
  }),
  keys: setting('Where the provider publishes its keys (`jwks_uri`).', url('a JWK Set'), {
    example: 'https://login.example.com/realms/company/protocol/openid-connect/certs',
  }),
  algorithms,
  loginClaim: v.optional(
    setting('The claim that a new account has as its login.', claim, { example: 'upn' }),
    'preferred_username',
  ),
  groupsClaim: v.optional(
    setting('The claim with the groups of a person.', claim, { example: 'cognito:groups' }),
    'groups',
  ),
  roles: v.optional(
    setting(
      'The groups that grant each role: at each log-in, a person has the roles of the groups and ' +
        'no others. Without it, log-ins change no roles.',
      v.strictObject(
        Object.fromEntries(ROLES.map((role) => [role, v.optional(groups)])) as Record<
          (typeof ROLES)[number],
          v.OptionalSchema<typeof groups, undefined>
        >,
      ),
      { example: { ROLE_ADMIN: ['security-admins'], ROLE_ANALYST: ['soc'] } },
    ),
  ),
  creates: v.optional(
    setting(
      'Whose account a log-in creates: `nobody`, or `mapped` for everybody whose groups grant a ' +
        'role.',
      v.picklist(['nobody', 'mapped']),
      { example: 'mapped' },
    ),
    'nobody',
  ),
  secondFactor: v.optional(
    setting(
      'Whether a log-in counts as one with a second factor: if `amr` has `mfa` (RFC 8176), ' +
        '`always` because the provider requires one for this client, or `never`.',
      v.picklist(['amr', 'always', 'never']),
      { example: 'always' },
    ),
    'amr',
  ),
  requiredAcr: v.optional(
    setting(
      'The values of `acr` of which a token must have one.',
      distinct('value', v.pipe(v.string(), v.minLength(1), v.maxLength(200))),
      { example: ['urn:example:gold'] },
    ),
  ),
} satisfies Record<keyof Issuer, v.GenericSchema>);

/**
 * The issuers as variables of a function. Without `ISSUERS`, `POST /api/oauth2/token` issues no
 * tokens of people.
 */
export const issuerVariables = ({
  issuers,
  moduleIssuers,
}: {
  readonly issuers: readonly Issuer[];
  readonly moduleIssuers: readonly ModuleIssuer[];
}): Record<string, string> => ({
  ...(issuers.length > 0 && { ISSUERS: JSON.stringify(issuers) }),
  ...(moduleIssuers.length > 0 && { MODULE_ISSUERS: JSON.stringify(moduleIssuers) }),
});

export const issuers = v.optional(
  setting(
    'The OpenID providers with which people [log in](single-sign-on.md). None unless this is set.',
    v.pipe(
      v.array(issuer),
      unrepeated('issuer', (each) => each.issuer),
      v.check(
        (list) => list.every(({ roles, creates }) => creates === 'nobody' || roles !== undefined),
        'creates: mapped requires roles',
      ),
    ),
  ),
  [],
);
