import { requireEnv } from '../../../lib/runtime/env.ts';

/**
 * Replaces the SDK's credential provider chain in the bundles: Lambda passes credentials in
 * environment variables. The rest of the chain (profiles, single sign-on, instance metadata) was a
 * third of each bundle.
 */
export const defaultProvider = () => async () => ({
  accessKeyId: requireEnv('AWS_ACCESS_KEY_ID'),
  secretAccessKey: requireEnv('AWS_SECRET_ACCESS_KEY'),
  sessionToken: requireEnv('AWS_SESSION_TOKEN'),
});
