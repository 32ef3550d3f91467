import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';
import { print } from '../commands/command-line.ts';
import { defineCommand } from '../commands/define-command.ts';

/*
 * An OpenID provider on this machine, to rehearse single sign-on. Whoever names themselves at its
 * log-in page is that person, whatever the password. Their group is the word before the hyphen, in
 * the plural: `admin-ada` is in `admins`.
 */

const CLIENT_ID = 'gatehouse';

/** Starts a provider on a port of 127.0.0.1, which knows one public client. */
export async function startProvider(port: number, redirectUris: readonly string[]) {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT_ID,
        redirect_uris: [...redirectUris],
        // The browser has no secret (RFC 9700, 2.1.1): it proves itself by PKCE.
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code'],
        response_types: ['code'],
      },
    ],
    jwks: { keys: [newKey()] },
    ttl: { AccessToken: 600, Grant: 3600, IdToken: 600, Interaction: 600, Session: 3600 },
    clientBasedCORS: () => true,
    cookies: { keys: [randomBytes(32).toString('hex')] },
    // The claims of the scopes are in the ID token, where Gatehouse looks for them.
    conformIdTokenClaims: false,
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['preferred_username', 'given_name', 'family_name', 'groups', 'amr'],
    },
    findAccount: (_, id) => ({ accountId: id, claims: async () => claimsOf(id) }),
  });
  server.on('request', provider.callback());
  return {
    issuer,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const newKey = () => ({
  ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }),
  kid: randomUUID(),
  use: 'sig',
  alg: 'RS256',
});

const claimsOf = (id: string) => ({
  sub: id,
  preferred_username: id,
  given_name: id,
  email: `${id}@example.com`,
  email_verified: true,
  groups: [id.replace(/-.*/, 's')],
  amr: ['pwd', 'mfa'],
});

/** The setting for a provider of this file. */
export const issuerSetting = (issuer: string) => ({
  issuer,
  name: 'Local provider',
  clientId: CLIENT_ID,
  authorizationEndpoint: `${issuer}/auth`,
  tokenEndpoint: `${issuer}/token`,
  keys: `${issuer}/jwks`,
  roles: { ROLE_ADMIN: ['admins'], ROLE_USER: ['users'], ROLE_ANALYST: ['analysts'] },
  creates: 'mapped',
});

/** `npm run provider` */
export const command = defineCommand({
  usage: 'npm run provider',
  help: `Runs an OpenID provider on http://127.0.0.1:9000 until Ctrl-C, to rehearse single sign-on
with the console of npm start. Log in as admin-ada, user-ben or analyst-cem, with any password: they
are in the groups admins, users and analysts.`,
  options: {},
  statuses: { stopped: [0, 'it was stopped'], failed: [1, 'the port is in use'] },
  seeAlso: 'docs/single-sign-on.md has the steps.',
  async run() {
    // The listener of every command ends the process with `failed`.
    process.removeAllListeners('SIGINT');
    // It stays: npm forwards the signal of the terminal, so a second one follows.
    const interrupted = new Promise((resolve) => process.on('SIGINT', resolve));
    const { issuer, stop } = await startProvider(9000, [
      'http://127.0.0.1:3000/console/sign-in',
      'http://localhost:3000/console/sign-in',
    ]);
    print(`The provider runs on ${issuer}. In environments/dev.json, it is:

"issuers": [${JSON.stringify(issuerSetting(issuer), null, 2)}]`);
    await interrupted;
    stop();
    return 'stopped';
  },
});
