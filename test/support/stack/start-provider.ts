import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import {
  idToken,
  issuerAt,
  makeProviderKey,
  nonceOf,
  type Provider,
  type TestProvider,
} from '../instance/provider.ts';

/**
 * Starts two issuers with one key. The first one logs browsers in, as the person or with the error
 * that their cookie `answer` states. Other tests sign the tokens of both.
 */
export async function startProvider(): Promise<TestProvider & { stop(): void }> {
  const { key, published } = makeProviderKey(randomUUID());
  const server = createServer(async (request, response) => {
    const { pathname, searchParams: asked } = new URL(request.url ?? '', 'http://provider');
    if (pathname === '/company/authorize')
      return response.writeHead(302, { Location: answerTo(asked, request.headers.cookie) }).end();
    const isToken = pathname === '/company/token';
    const body = isToken ? tokenFor({ issuer, key }, await text(request)) : { keys: [published] };
    response.setHeader('Content-Type', 'application/json');
    response.setHeader('Access-Control-Allow-Origin', request.headers.origin ?? '*');
    return response.writeHead(body ? 200 : 400).end(JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer = issuerAt(`${host}/company`);
  return {
    issuer,
    moduleIssuer: {
      issuer: `${host}/cluster`,
      audience: 'https://gatehouse.example.com',
      keys: `${host}/cluster/keys`,
      algorithms: ['RS256'],
      ageMinutesMaximum: 10,
    },
    key,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Where the browser goes after it was asked to log in: the code says what the token will. */
function answerTo(asked: URLSearchParams, cookie = ''): string {
  const [, encoded = 'e30'] = /answer=([\w-]+)/.exec(cookie) ?? [];
  const answer = Buffer.from(encoded, 'base64url').toString();
  const { error } = JSON.parse(answer);
  const code = Buffer.from(JSON.stringify([answer, ...asked])).toString('base64url');
  const query = new URLSearchParams({ state: asked.get('state') ?? '' });
  query.set(error ? 'error' : 'code', error ?? code);
  return `${asked.get('redirect_uri')}?${query}`;
}

/** RFC 6749, 4.1.3 and RFC 7636, 4.6; undefined for a refusal. */
function tokenFor(provider: Provider, body: string) {
  const sent = new URLSearchParams(body);
  const [answer, ...pairs] = JSON.parse(
    Buffer.from(sent.get('code') ?? '', 'base64url').toString(),
  );
  const asked = new URLSearchParams(pairs);
  const verifier = sent.get('code_verifier') ?? '';
  const isGranted =
    sent.get('grant_type') === 'authorization_code' &&
    ['client_id', 'redirect_uri'].every((name) => sent.get(name) === asked.get(name)) &&
    sent.get('client_id') === provider.issuer.clientId &&
    asked.get('response_type') === 'code' &&
    asked.get('code_challenge_method') === 'S256' &&
    asked.get('code_challenge') === nonceOf(verifier) &&
    /^[\w-]{43}$/.test(verifier) &&
    asked.get('scope') === 'openid profile email';
  const claims = { nonce: asked.get('nonce'), ...JSON.parse(answer) };
  return isGranted ? { id_token: idToken(provider, claims) } : undefined;
}
