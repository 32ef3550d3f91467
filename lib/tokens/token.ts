import { requireEnv } from '../runtime/env.ts';

/** What a token says of itself beyond its claims (RFC 9068). */
export const TOKEN_TYPE = 'at+jwt';
export const ALGORITHM = 'ES256';
/** For whom tokens are. */
export const AUDIENCE = 'gatehouse';

/** Who issues the tokens of this environment. */
export const issuer = (): string => requireEnv('TOKEN_ISSUER');

/** How long tokens live, in seconds: as usual, and for who asks to be remembered. */
export const tokenLife = () => ({
  usual: Number(requireEnv('TOKEN_SECONDS')),
  remembered: Number(requireEnv('REMEMBERED_TOKEN_SECONDS')),
});
