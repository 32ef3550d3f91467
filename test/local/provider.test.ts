import * as v from 'valibot';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { issuerSetting, startProvider } from '../../infra/local/provider.ts';
import { issuers } from '../../infra/settings/issuers.ts';
import { issuerKeysKey } from '../../lib/tokens/issuer-keys.ts';
import { runCommand } from '../support/commands/run-command.ts';
import { startGatehouse } from '../support/instance/gatehouse.ts';
import type { Gatehouse } from '../support/instance/launch.ts';
import { JWT_BEARER, newCodeVerifier, nonceOf } from '../support/instance/provider.ts';
import { assemblyWith } from '../support/stack/stack.ts';

/* A log-in at a real OpenID provider, as a browser makes it: redirects, cookies and forms. */

const REDIRECT = 'http://127.0.0.1:3000/console/sign-in';

let provider: Awaited<ReturnType<typeof startProvider>>;
let gatehouse: Gatehouse;
beforeAll(async () => {
  provider = await startProvider(0, [REDIRECT]);
  const changes = { issuers: v.parse(issuers, [issuerSetting(provider.issuer)]) };
  gatehouse = await startGatehouse({ assembly: assemblyWith('dev', changes) });
});
afterAll(async () => {
  await gatehouse.stop();
  provider.stop();
});

it('npm run admin -- issuer prints the setting, and rejects a URL of another issuer', async () => {
  const { port } = new URL(provider.issuer);
  const url = `http://localhost:${port}`;

  const printed = await runCommand('issuer', [provider.issuer], {});
  const other = await runCommand('issuer', [url], {});

  const { name: _, roles: __, ...setting } = issuerSetting(provider.issuer);
  const [, json = ''] = /"issuers": (\[.*\])/s.exec(printed.stdout) ?? [];
  expect(v.parse(issuers, JSON.parse(json))).toMatchObject([{ ...setting, creates: 'nobody' }]);
  expect([other.code, other.stderr]).toEqual([
    1,
    `${url} states another issuer, ${provider.issuer}: give its URL.\n`,
  ]);
});

it('logs in whom the provider has logged in', async () => {
  const keys = () => gatehouse.table.get(issuerKeysKey(provider.issuer));
  await expect.poll(keys).toBeDefined();
  const codeVerifier = newCodeVerifier();
  const idToken = await logInAtProvider('admin-ada', codeVerifier);

  const form = {
    grant_type: JWT_BEARER,
    assertion: idToken,
    code_verifier: codeVerifier,
  };
  const { status, body } = await gatehouse.call('POST', '/api/oauth2/token', { body: form });

  expect(status).toBe(200);
  const account = await gatehouse.call('GET', '/api/account', { token: body.access_token });
  expect(account.body).toMatchObject({
    login: 'admin-ada',
    email: 'admin-ada@example.com',
    authorities: ['ROLE_ADMIN'],
  });
});

/** Authorization code flow with PKCE (OpenID Connect Core 1.0, 3.1). Returns the ID token. */
async function logInAtProvider(login: string, codeVerifier: string): Promise<string> {
  const challenge = nonceOf(codeVerifier);
  const query = new URLSearchParams({
    client_id: 'gatehouse',
    response_type: 'code',
    scope: 'openid profile email',
    redirect_uri: REDIRECT,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    nonce: challenge,
    state: 'x',
  });
  const browser = openBrowser();
  let page = await browser(`${provider.issuer}/auth?${query}`);
  // The page of the log-in, then the page that asks for consent.
  for (const form of [`prompt=login&login=${login}&password=any`, 'prompt=consent']) {
    const [, action = ''] = /action="([^"]+)"/.exec(page.text) ?? [];
    page = await browser(action, new URLSearchParams(form));
  }
  const code = new URL(page.url).searchParams.get('code') as string;
  const response = await fetch(`${provider.issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: 'gatehouse',
      code,
      redirect_uri: REDIRECT,
      code_verifier: codeVerifier,
    }),
  });
  return ((await response.json()) as { id_token: string }).id_token;
}

/** Requests with cookies, which follow redirects up to the one that leaves the provider. */
function openBrowser() {
  const cookies = new Map<string, string>();
  return async (url: string, form?: URLSearchParams) => {
    let [next, body] = [url, form];
    for (;;) {
      if (next.startsWith(REDIRECT)) return { url: next, text: '' };
      const response = await fetch(next, {
        method: body ? 'POST' : 'GET',
        redirect: 'manual',
        headers: { Cookie: [...cookies].map((cookie) => cookie.join('=')).join('; ') },
        ...(body && { body }),
      });
      for (const cookie of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
        cookies.set(name, value);
      }
      const location = response.headers.get('location');
      if (!location) return { url: next, text: await response.text() };
      [next, body] = [new URL(location, next).href, undefined];
    }
  };
}
