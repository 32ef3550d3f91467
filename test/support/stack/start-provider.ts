import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Provider } from '../instance/provider.ts';

/** Starts an identity provider that only publishes its key; tests sign its tokens. */
export async function startProvider(): Promise<Provider & { stop(): void }> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const kid = randomUUID();
  const published = { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig' };
  const server = createServer((_, response) => {
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ keys: [published] }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/company`;
  return {
    issuer: {
      issuer: url,
      name: 'Company account',
      clientId: 'gatehouse',
      authorizationEndpoint: `${url}/authorize`,
      tokenEndpoint: `${url}/token`,
      keys: `${url}/keys`,
      algorithms: ['RS256'],
      loginClaim: 'preferred_username',
      groupsClaim: 'groups',
      roles: { ROLE_ADMIN: ['admins'], ROLE_USER: ['users'], ROLE_ANALYST: ['analysts'] },
      creates: 'mapped',
      secondFactor: 'amr',
    },
    key: { ...privateKey.export({ format: 'jwk' }), kid },
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
