import * as v from 'valibot';
import type { Contract } from '../contract/contract.ts';

/** GET /.well-known/jwks.json: the public keys as a JWK Set (RFC 7517). */
export const PublishKeys = {
  tag: 'Tokens',
  summary: 'Get the public keys that verify tokens',
  access: 'public',
  headers: ['Cache-Control'],
  response: v.strictObject({
    keys: v.array(
      v.strictObject({
        kty: v.literal('EC'),
        crv: v.literal('P-256'),
        x: v.string(),
        y: v.string(),
        kid: v.string(),
        alg: v.literal('ES256'),
        use: v.literal('sig'),
      }),
    ),
  }),
} satisfies Contract;
