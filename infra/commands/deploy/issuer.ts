import * as v from 'valibot';
import { type IssuerKey, usableKeys } from '../../../lib/tokens/issuer-keys.ts';
import { ALGORITHMS, issuers } from '../../settings/issuers.ts';
import { isHttpUrl } from '../../settings/setting.ts';
import { print } from '../command-line.ts';
import { defineCommand, WrongArguments } from '../define-command.ts';

const TIMEOUT_MS = 10_000;

/** The part of a provider's metadata that settings need (OpenID Connect Discovery 1.0, 3). */
const metadata = v.object({
  issuer: v.string(),
  authorization_endpoint: v.string(),
  token_endpoint: v.string(),
  jwks_uri: v.string(),
  code_challenge_methods_supported: v.optional(v.array(v.string())),
  id_token_signing_alg_values_supported: v.array(v.string()),
});

async function read(url: string, redirect: RequestInit['redirect'] = 'follow'): Promise<unknown> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const response = await fetch(url, { redirect, signal }).catch((error) => {
    const { message } = error.cause ?? error;
    throw new Error(`${url} cannot be reached: ${message}`);
  });
  if (!response.ok) throw new Error(`${url} responds with ${response.status}.`);
  return response.json().catch(() => {
    throw new Error(`${url} is not JSON.`);
  });
}

async function readKeys(url: string): Promise<IssuerKey[]> {
  // The service follows no redirect to the keys.
  const document = await read(url, 'error');
  try {
    return usableKeys(document);
  } catch {
    throw new Error(`${url} has no key that Gatehouse can use.`);
  }
}

export const command = defineCommand({
  usage: 'npm run admin -- issuer URL [--client-id ID]',
  help: `Reads what an OpenID provider publishes about itself, and prints it as a setting. URL is
the issuer, such as https://login.example.com/realms/company. Changes nothing.

Options:
  --client-id ID  the id under which the provider knows the console; default gatehouse`,
  options: { 'client-id': { type: 'string' } },
  positionals: ['URL'],
  statuses: {
    printed: [0, 'the setting is printed'],
    failed: [1, 'the provider could not be read, or cannot be used'],
  },
  seeAlso: 'docs/single-sign-on.md has the steps.',
  async run({ positionals: [url = ''], values: { 'client-id': clientId = 'gatehouse' } }) {
    if (!isHttpUrl(url)) throw new WrongArguments(`${url} is not the URL of a provider.`);
    const base = url.replace(/\/$/, '').replace(/\/\.well-known\/openid-configuration$/, '');
    const { success, output } = v.safeParse(
      metadata,
      await read(`${base}/.well-known/openid-configuration`),
    );
    if (!success) throw new Error(`The metadata of ${url} lack what OpenID Connect requires.`);
    // OpenID Connect Discovery 1.0, 4.3; Entra ID states a pattern where no tenant is named.
    if (output.issuer.replace(/\/$/, '') !== base)
      throw new Error(`${url} states another issuer, ${output.issuer}: give its URL.`);
    const methods = output.code_challenge_methods_supported;
    if (methods && !methods.includes('S256'))
      throw new Error(`${url} does not support PKCE with S256, which the console uses.`);
    const keys = await readKeys(output.jwks_uri);
    const stated = output.id_token_signing_alg_values_supported;
    const algorithms = stated.filter((name) => ALGORITHMS.some((known) => known === name));
    if (algorithms.length === 0)
      throw new Error(
        `${url} signs with ${stated.join(', ')} only, which Gatehouse cannot verify.`,
      );
    const setting = {
      issuer: output.issuer,
      name: 'Company account',
      clientId,
      authorizationEndpoint: output.authorization_endpoint,
      tokenEndpoint: output.token_endpoint,
      keys: output.jwks_uri,
      ...(algorithms.join() !== 'RS256' && { algorithms }),
      groupsClaim: 'groups',
      roles: { ROLE_ADMIN: ['the group of administrators'] },
      creates: 'nobody',
    };
    const { issues: [rejected] = [] } = v.safeParse(issuers, [setting]);
    if (rejected) throw new Error(`The settings reject ${rejected.input}: ${rejected.message}.`);
    print(`"issuers": [${JSON.stringify(setting, null, 2)}]

${keys.length} of its keys can be used. Replace the name and the groups.`);
    return 'printed';
  },
});
