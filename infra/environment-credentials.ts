import { requireEnv } from '../lib/runtime/env.ts';

/**
 * Takes the place of the SDK's chain of credential providers in the bundles: Lambda gives a function its credentials in the
 * environment. The rest of the chain (profiles, sign-on, instance metadata) was a third of each bundle.
 */
export const defaultProvider = () => async () => ({
  accessKeyId: requireEnv('AWS_ACCESS_KEY_ID'),
  secretAccessKey: requireEnv('AWS_SECRET_ACCESS_KEY'),
  sessionToken: requireEnv('AWS_SESSION_TOKEN'),
});
