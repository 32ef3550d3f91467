/**
 * The routes that need no token. Listed apart from the contracts, so that opening one by mistake
 * fails a test.
 */
export const PUBLIC_ROUTES: readonly string[] = [
  'POST /api/authenticate',
  'GET /.well-known/jwks.json',
  'GET /api/health',
  'GET /management/info',
  'GET /api/openapi.json',
  'POST /api/account/reset-password/init',
  'POST /api/account/reset-password/finish',
];
