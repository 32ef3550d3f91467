import { requireEnv } from '../runtime/env.ts';

/** The `typ` and `alg` header parameters of access tokens (RFC 9068, RFC 7518). */
export const TOKEN_TYPE = 'at+jwt';
export const ALGORITHM = 'ES256';
/** The `aud` claim. */
export const AUDIENCE = 'gatehouse';
/** The type of a module's token; endpoints for users reject it. */
export const MODULE_TOKEN_TYPE = 'module+jwt';
export const MODULE_AUDIENCE = 'gatehouse-modules';
export const MODULE_TOKEN_SECONDS = 15 * 60;

/** The `iss` claim, which differs between environments. */
export const issuer = (): string => requireEnv('TOKEN_ISSUER');

/** The lifetime of a token in seconds: by default, and if the login requests `rememberMe`. */
export const tokenLifetimeSeconds = () => ({
  usual: Number(requireEnv('TOKEN_SECONDS')),
  remembered: Number(requireEnv('REMEMBERED_TOKEN_SECONDS')),
});
